#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "examples/verify/claim.hpp"
#include "examples/verify/evidence.hpp"

/// The decision: one family of all judged rows, and from it what becomes of each claim.
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
  std::size_t members = 0;  ///< the judged rows of all programs that ran, evidence of a claim or not
  double bound = 0;         ///< on |z|, of the first step, of a row with many trials
  std::vector<JudgedRow> rows = {};
};

Family judge(const std::vector<Row>& rows);

/// What became of a claim, and why.
struct Decision {
  Outcome outcome = Outcome::untested;
  std::string reason = {};
  std::vector<std::size_t> evidence = {}, paper_says = {}, controls = {};  ///< indices of rows
  std::size_t judged = 0;  ///< of the evidence: compared with a simulation
  std::size_t exact = 0;   ///< of the evidence: equalities of computed numbers
  std::size_t bounds = 0;  ///< of the evidence: inequalities of computed numbers
  std::size_t controls_rejected = 0;
  double resolution = std::numeric_limits<double>::quiet_NaN();  ///< of the best row; NaN if none has one
  double coarsest = std::numeric_limits<double>::quiet_NaN();    ///< of the worst row
  double largest_z = 0;

  std::size_t rows() const { return judged + exact + bounds; }
  bool as_expected(const Claim& claim) const { return outcome == claim.expected; }
};

Decision decide(const Claim& claim, const std::vector<Row>& rows, const Family& family);

}  // namespace incontext::examples::verify
