#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "examples/support/table.hpp"

// Boost's distributions, which these need, are slow to compile.
namespace incontext::statistics {
struct Agreement;
struct Estimate;
}  // namespace incontext::statistics

/// Theory beside simulation: the four cells of a row, and one verdict over all rows of a run.
namespace incontext::examples {

struct Verdict;

/// The chance that a run whose every theory value is right is called a disagreement.
inline constexpr double false_alarm_rate = 1e-3;

/// theory | simulation | ± error | z
std::vector<Column> comparison_columns();

/// Collects every comparison of a run. The bound on |z| depends on how many there are, so the verdict comes last.
class Judgement {
 public:
  Judgement();
  ~Judgement();

  /// The four cells of a comparison, which counts towards the verdict.
  std::vector<Cell> judged(double theory, const statistics::Estimate& estimate);

  /// The same cells where the theory is not exact: no z, and no part in the verdict.
  static std::vector<Cell> unjudged(double theory, const statistics::Estimate& estimate);

  std::size_t size() const;

  /// The line every table carries; call it once all comparisons are in.
  std::string note() const;

  Verdict verdict() const;

 private:
  double bound() const;

  std::vector<statistics::Agreement> family_;
};

}  // namespace incontext::examples
