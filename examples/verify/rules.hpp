#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/verify/claim.hpp"

/// From rows to a verdict. docs/claims.md states these rules; nothing else decides about a claim.
namespace incontext::examples::verify {

enum class Outcome {
  confirmed,
  in_a_regime,
  contradicted,
  seen_in_small,
  not_reproduced,
  by_definition,
  undecided,
  not_tried,
  out_of_reach,
};
inline constexpr Outcome all_outcomes[] = {Outcome::confirmed,     Outcome::in_a_regime,    Outcome::contradicted,
                                           Outcome::seen_in_small, Outcome::not_reproduced, Outcome::by_definition,
                                           Outcome::undecided,     Outcome::not_tried,      Outcome::out_of_reach};

/// The word of options and reports.
std::string word_of(Outcome outcome);

/// What became of a group of rows.
enum class State { holds, rejected, undecided };

/// A group of rows, as the rules see it.
struct Seen {
  Role role = Role::paper;
  State state = State::holds;
  bool exact = false;               ///< computed numbers alone decide: another seed changes nothing
  bool alone = false;               ///< drawn numbers without errors decide: another seed must say the same
  std::string regime = {};          ///< a named one; empty: the claim's setting
  std::string says = {};            ///< for the reason
  std::optional<State> again = {};  ///< with another seed
};

struct Ruling {
  Outcome outcome = Outcome::undecided;
  std::string reason = {};
};

/// The verdict on a claim whose groups all have rows. `setting_is_ours`: the claim's setting is not the paper's, or the
/// paper's is not known.
Ruling rule(Scale scale, bool setting_is_ours, const std::vector<Seen>& given);

}  // namespace incontext::examples::verify
