#pragma once

#include <incontext/numerics/quadrature.hpp>
#include <incontext/statistics/comparison.hpp>
#include <incontext/statistics/relations.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/table.hpp"

/// Theory beside simulation: the cells of a row, and one verdict over all rows of a run.
namespace incontext::examples {

struct Report;
struct Verdict;

/// The probability that a run in which every theory is right is called a disagreement.
inline constexpr double false_alarm_rate = 1e-3;

/// The least effective number of trials with which a mean's standard error is trusted; of a rare event, or of its
/// complement, the least expected number of times.
inline constexpr double fewest_effective_trials = 50;

using statistics::fewest_values;

/// The note of a table in which a theory may be a bound.
inline constexpr const char* bounds_note =
    "In rows with >= or <= the theory is a bound: a mean on the allowed side of it agrees, with z = 0.";

/// The relation of a sign: >= and <= are bounds, and any other is an equality.
statistics::Relation relation_of(const std::string& sign);

/// The columns theory | approximate | simulation | ± error | z | trials | values | tolerance | verdict | reason. The last
/// five are in CSV and JSON alone, and the first two where any row has them. `approximate` has values of unknown error,
/// which are not judged; `values` is the number of values whose scatter is the standard error, trials or batches of them,
/// and `tolerance` the deviation that the theory's own error and rounding explain.
std::vector<Column> comparison_columns();

/// The cells of a row that was not reached before the run was stopped: all absent, with the reason.
std::vector<Cell> unreached_comparison();

/// Collects every comparison of a run. The bound on |z| depends on how many there are, so the verdicts come last.
class Judgment {
 public:
  Judgment();
  ~Judgment();

  /// The cells of a row to be judged; `trials` if it differs from the estimate's count. A mean of two to four values,
  /// such as runs of training, is not judged.
  std::vector<Cell> judged(const statistics::Theory& theory, const statistics::Estimate& estimate,
                           std::optional<std::int64_t> trials = {});

  /// As judged, for a theory that is computed here. If its integral does not converge, this row is not judged, with what
  /// was reached and the reason, and no other row is lost.
  template <class Theory>
  std::vector<Cell> judged_by(const Theory& theory, const statistics::Estimate& estimate) {
    try {
      return judged(theory(), estimate);
    } catch (const numerics::QuadratureError& error) {
      return not_judged({error.result.value, error.result.error_estimate}, estimate, error.what());
    }
  }

  /// The cells of a row that claims no more than that the mean is within `tolerance` of a value. It agrees if it is,
  /// and is not judged if the simulation cannot tell a deviation as large as the tolerance.
  std::vector<Cell> judged_within(double value, double tolerance, const statistics::Estimate& estimate);

  /// As judged, for a theory that is a lower (>=) or an upper (<=) bound. A mean on the allowed side agrees, with z = 0;
  /// beyond it, z is the distance from `bound` in standard errors. `trials` counts what the estimate's values are means of.
  std::vector<Cell> judged_bound(const std::string& relation, double bound, const statistics::Estimate& estimate,
                                 std::int64_t trials);

  /// The cells of a row that was requested but cannot be judged, regardless of its numbers.
  std::vector<Cell> not_judged(const statistics::Theory& theory, const statistics::Estimate& estimate,
                               const std::string& reason);

  /// The cells of a row beside an exact value that the user did not ask to be judged, where it cannot be: it is
  /// shown with the reason, and does not make the run incomplete.
  std::vector<Cell> left_out(const statistics::Theory& theory, const statistics::Estimate& estimate,
                             const std::string& reason);

  /// As judged, if at least fewest_effective_trials trials contribute to the mean. With fewer, the standard error is not
  /// to be trusted, and the row is not judged, for this reason.
  std::vector<Cell> judged_if_enough(const statistics::Theory& theory, const statistics::Estimate& estimate,
                                     double effective_trials, const std::string& reason);

  /// The same; the reason is the number of trials that contribute.
  std::vector<Cell> judged_if_enough(const statistics::Theory& theory, const statistics::Estimate& estimate,
                                     double effective_trials);

  /// The cells of a row that is not to be judged: beside an approximation, or beside nothing.
  static std::vector<Cell> shown(std::optional<double> approximate, const statistics::Estimate& estimate);

  /// The number of rows to be judged.
  std::size_t size() const;

  /// Fills in the verdicts that were pending in the tables, names each row by the words before its comparison, and adds
  /// a note for the audit about the bound to the last table that has comparisons.
  void settle(std::vector<Table>& tables);

  /// Valid after settle: all agree, some disagree, or not all were judged.
  Verdict verdict() const;

 private:
  struct Entry;

  std::string note() const;
  std::string headline(std::size_t asked) const;
  std::vector<std::string> lines() const;
  double worst_resolution() const;
  std::vector<Cell> add(statistics::Comparison comparison, bool asked = true);

  std::vector<Entry> entries_;
  statistics::FamilyVerdict whole_;
};

/// The verdict of a report whose tables are complete; of a run that simulates nothing, that nothing is judged.
void judge(Report& report, Judgment& judgment);

}  // namespace incontext::examples
