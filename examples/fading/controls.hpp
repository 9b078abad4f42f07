#pragma once

#include <cstdint>
#include <string>

#include "examples/fading/simulator.hpp"
#include "examples/support/table.hpp"

namespace incontext::examples {
struct Verdict;
}  // namespace incontext::examples

/// What holds for infinitely long rows only, on trial at finite length: there the simulation must reject it, or it
/// could not tell right from wrong.
namespace incontext::examples::fading {

class Controls {
 public:
  Controls();

  /// A limit's value beside the exact one and the simulation.
  void add(const std::string& limit, std::int64_t length, std::string where, double claimed, double exact,
           const statistics::Estimate& estimate);

  /// Controls that the simulation should have rejected, and did not.
  std::int64_t failures() const { return failures_; }
  bool empty() const { return table_.rows.empty(); }
  const Table& table() const { return table_; }

  /// Makes a disagreement of a verdict where a control failed.
  void join(Verdict& verdict) const;

 private:
  Table table_;
  std::int64_t failures_ = 0;
};

}  // namespace incontext::examples::fading
