#pragma once

#include <optional>
#include <string>
#include <vector>

#include "examples/verify/claim.hpp"

/// From rows to a verdict. docs/claims.md states these rules; nothing else decides about a claim.
namespace incontext::examples::verify {

enum class Outcome {
  confirmed,
  confirmed_in_ours,
  in_a_regime,
  contradicted,
  contradicted_in_ours,
  seen_trained,
  seen_untrained,
  seen_built,
  not_reproduced,
  by_definition,
  shown_by_print,
  undecided_by_print,
  differs_in_print,
  undecided,
  not_tried,
  out_of_reach,
};
inline constexpr std::pair<Outcome, const char*> outcome_words[] = {
    {Outcome::confirmed, "confirmed"},
    {Outcome::confirmed_in_ours, "confirmed in our setting"},
    {Outcome::in_a_regime, "holds in a regime"},
    {Outcome::contradicted, "contradicted"},
    {Outcome::contradicted_in_ours, "contradicted in our setting"},
    {Outcome::seen_trained, "seen in a small trained model"},
    {Outcome::seen_untrained, "seen in an untrained layer"},
    {Outcome::seen_built, "seen in a model built by hand"},
    {Outcome::not_reproduced, "not reproduced in a small model"},
    {Outcome::by_definition, "by definition"},
    {Outcome::shown_by_print, "shown by its own numbers"},
    {Outcome::undecided_by_print, "undecided by its own numbers"},
    {Outcome::differs_in_print, "two printed numbers differ"},
    {Outcome::undecided, "undecided"},
    {Outcome::not_tried, "not tried"},
    {Outcome::out_of_reach, "out of reach"}};

inline std::string word_of(Outcome outcome) { return word_in(outcome_words, outcome); }

/// When a verdict is given, as the table of docs/claims.md says it.
std::string meaning_of(Outcome outcome);

/// What became of a group of rows.
enum class State { holds, rejected, undecided };

/// A group of rows, as the rules see it.
struct Seen {
  Role role = Role::paper;
  State state = State::holds;
  bool exact = false;               ///< computed numbers alone decide: another seed changes nothing
  bool alone = false;               ///< drawn numbers without errors decide: another seed must say the same
  std::string regime = {};          ///< a named one; empty: the claim's setting
  std::string says = {};            ///< groups that say the same in different regimes are one sentence
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
