#pragma once

#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <string>

#include "examples/support/table.hpp"

namespace incontext::examples {

struct Verdict;

namespace classify {

/// Near misses: theories that are wrong by little, and that the run must reject where its simulation can tell.
class Controls {
 public:
  Controls();

  bool empty() const { return table_.rows.empty(); }
  const Table& table() const { return table_; }

  /// `what` names the wrong theory, `at` the row it stands for; `exact` is the right value, absent where there is none:
  /// with it, a control too near to be told apart is no failure.
  void add(const std::string& what, const std::string& at, double claimed, double exact,
           const statistics::Estimate& estimate);

  /// Makes a verdict a disagreement if a control that the run could tell was not rejected.
  void join(Verdict& verdict) const;

 private:
  Table table_;
  std::int64_t failures_ = 0;
};

}  // namespace classify
}  // namespace incontext::examples
