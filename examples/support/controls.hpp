#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/table.hpp"

namespace incontext::statistics {
struct Estimate;
}  // namespace incontext::statistics

namespace incontext::examples {

struct Verdict;

/// Statements that are wrong where they are tried: a limit at finite length, a near miss. The simulation must reject
/// them, or it could not tell right from wrong.
class Controls {
 public:
  /// Limits of infinitely long rows at finite lengths: the keys are the limit, n, and the place.
  Controls();

  /// Statements of any kind, named by cells of these columns.
  explicit Controls(std::vector<Column> keys);

  /// A claimed value beside the exact one and the simulation.
  void add(std::vector<Cell> keys, double claimed, double exact, const statistics::Estimate& estimate);

  /// Controls that the simulation should have rejected, and did not.
  std::int64_t failures() const { return failures_; }
  bool empty() const { return table_.rows.empty(); }
  const Table& table() const { return table_; }

  /// Makes a disagreement of a verdict where a control failed.
  void join(Verdict& verdict) const;

 protected:
  /// With another table, whose last columns are those of every control. With fewer trials than these, none is a
  /// failure.
  Controls(Table table, std::int64_t fewest_trials);

 private:
  Table table_;
  std::int64_t fewest_trials_;
  std::int64_t failures_ = 0;
};

/// In how many rows of a table the simulation rejects the wrong theory whose z is in a column such as leading_order_z:
/// the table's negative control, in one sentence. Empty where that column is.
std::string rejections_note(const Table& table, const std::string& wrong_theory);

}  // namespace incontext::examples
