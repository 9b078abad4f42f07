#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "examples/verify/evidence.hpp"
#include "examples/verify/questions.hpp"
#include "examples/verify/rules.hpp"

/// The decision: one family of all judged rows and comparisons, and from it what becomes of each claim.
namespace incontext::examples::verify {

/// The probability that an edition in which every theory is right rejects one of its rows (Holm).
inline constexpr double family_error = 0.01;

/// A row with what the family makes of it.
struct JudgedRow {
  double z = 0;           ///< beyond the tolerance, in standard errors
  double p_value = 1;     ///< of |z|, by Student's t
  bool rejected = false;  ///< by Holm's test; of a control: at the family's first step; of an exact row: it fails
  double resolution = 0;  ///< the least relative deviation that is rejected in 99 of 100 runs; NaN where theory is 0
};

/// All rows of an edition, judged as one family.
struct Family {
  std::size_t members = 0;      ///< the judged rows of all runs, rows of a claim or not
  std::size_t comparisons = 0;  ///< of the claims' questions about orders and trends
  double bound = 0;             ///< on |z|, of the first step, of a row with many trials
  std::vector<JudgedRow> rows = {};

  std::size_t size() const { return members + comparisons; }
};

/// Judges rows; so many further comparisons are made beside them.
Family judge(const std::vector<Row>& rows, std::size_t comparisons = 0);

/// What became of a group of rows of a claim.
struct Finding {
  State state = State::undecided;
  bool exact = false;                  ///< computed numbers alone decide
  bool alone = false;                  ///< drawn numbers without errors decide, and need another seed
  std::vector<std::size_t> rows = {};  ///< indices
  std::size_t judged = 0;              ///< rows or comparisons that simulations judge
  std::size_t computed = 0;            ///< and those of computed numbers
  std::size_t rejected = 0;
  double largest_z = 0;
  double least_p = 1;
  double resolution = std::numeric_limits<double>::quiet_NaN();  ///< of the best row; NaN if none has one
  double coarsest = std::numeric_limits<double>::quiet_NaN();    ///< of the worst row
  std::string text = {};                                         ///< its numbers, for a reader
  std::string missing = {};                                      ///< why there is nothing to judge
  std::optional<State> again = {};                               ///< with another seed
};

/// What became of a claim, and why.
struct Decision {
  Outcome outcome = Outcome::not_tried;
  std::string reason = {};
  std::vector<Finding> findings = {};  ///< of the claim's groups, in their order
  bool is_incomplete = false;          ///< it is not tried because a row is missing, which the claim expects

  /// Whether the rules ask for another seed of a group's rows: the paper's are rejected by simulation, or a drawn number
  /// has no error.
  bool needs_another_seed(const Claim& claim, std::size_t group) const;
  bool needs_another_seed(const Claim& claim) const;  ///< of any group's
};

/// The questions of a claim that are comparisons.
std::size_t count_comparisons(const std::vector<Claim>& claims, const std::vector<Row>& rows);

Decision decide(const Claim& claim, const std::vector<Row>& rows, const Family& family);

/// The decision with what another seed's findings add to it.
Decision decide_again(const Claim& claim, Decision decision, const Decision& another);

}  // namespace incontext::examples::verify
