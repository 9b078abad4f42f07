#pragma once

#include <cstdint>
#include <string>

#include "examples/fading/simulator.hpp"
#include "examples/support/table.hpp"

namespace incontext::examples {
struct Verdict;
}  // namespace incontext::examples

/// Negative controls: laws that hold for infinitely long rows only, compared with simulations at finite length. The
/// simulation must reject them, or it could not distinguish a right theory from a wrong one.
namespace incontext::examples::fading {

class Controls {
 public:
  Controls();

  /// Adds the value of a limit beside the exact value and the simulation.
  void add(const std::string& limit, std::int64_t length, std::string where, double claimed, double exact,
           const statistics::Estimate& estimate);

  /// The controls that the simulation should have rejected and did not.
  std::int64_t failures() const { return failures_; }
  bool empty() const { return table_.rows.empty(); }
  const Table& table() const { return table_; }

  /// Turns the verdict into a disagreement if a control failed.
  void join(Verdict& verdict) const;

 private:
  Table table_;
  std::int64_t failures_ = 0;
};

}  // namespace incontext::examples::fading
