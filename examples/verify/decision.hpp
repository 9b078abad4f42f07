#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "examples/verify/evidence.hpp"
#include "examples/verify/questions.hpp"
#include "examples/verify/rules.hpp"

/// The decision: each claim's judged rows and comparisons are a family of their own, and from it comes what becomes of
/// it.
namespace incontext::examples::verify {

/// The probability that a claim of which every row is right has one of them rejected (Holm). About a hundred claims
/// have simulated rows, so that one run of the whole ledger in a hundred rejects a right row. A constant: a claim has
/// the same verdict alone and beside others.
inline constexpr double claim_error = 1e-4;

/// A row with what its family makes of it.
struct JudgedRow {
  double z = 0;           ///< beyond the tolerance, in standard errors
  double p_value = 1;     ///< of |z|, by Student's t
  bool rejected = false;  ///< by Holm's test; of a control: at the family's first step; of an exact row: it fails
  double resolution = 0;  ///< the least relative deviation that is rejected in 99 of 100 runs; NaN where theory is 0
};

/// The rows of a claim, or those of no claim, judged as one family.
struct Family {
  std::size_t members = 0;                     ///< the judged rows
  std::size_t comparisons = 0;                 ///< of the claim's questions about orders and trends
  double bound = 0;                            ///< on |z|, of the first step, of a row with many trials
  std::map<std::size_t, JudgedRow> rows = {};  ///< by their indices

  std::size_t size() const { return members + comparisons; }
};

/// Judges the rows of these indices; so many further comparisons are made beside them.
Family judge(const std::vector<Row>& rows, const std::set<std::size_t>& indices, std::size_t comparisons = 0);

/// The family of a claim.
Family family_of(const Claim& claim, const std::vector<Row>& rows);

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
  Family family = {};
  bool is_incomplete = false;  ///< it is not tried because a row is missing, which the claim expects

  /// Whether the rules ask for another seed of a group's rows: the paper's are rejected by simulation, or a drawn
  /// number has no error.
  bool needs_another_seed(const Claim& claim, std::size_t group) const;
  bool needs_another_seed(const Claim& claim) const;  ///< of any group's
};

/// What became of a group of rows, of a claim with this family.
Finding find(const RowGroup& group, const std::vector<Row>& rows, const Family& family);

/// The verdict that a claim's findings give.
Ruling rule_on(const Claim& claim, const std::vector<Finding>& findings);

Decision decide(const Claim& claim, const std::vector<Row>& rows);

/// The decision with what another seed's findings add to it.
Decision decide_again(const Claim& claim, Decision decision, const Decision& another);

}  // namespace incontext::examples::verify
