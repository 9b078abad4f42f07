#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>

#include "incontext/baselines/task_pool.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"
#include "support/relative.hpp"
#include "support/worst.hpp"

namespace incontext::testing::task_pool_50digits_test {

using namespace baselines;

TEST_CASE("the errors of a pool round as its numbers do, at 50 digits") {
  std::mt19937_64 engine(25);
  std::normal_distribution<double> normal;
  Worst worst;
  for (const Eigen::Index count : {2, 9}) {
    const Eigen::MatrixXd tasks = Eigen::MatrixXd::NullaryExpr(
        count, 4, [&](Eigen::Index, Eigen::Index) { return std::sqrt(0.5) * normal(engine); });
    const numerics::Matrix<Real50> wide = tasks.cast<Real50>();
    const TaskPool<double> rounded(tasks, {0.25, 0.5});
    for (const std::int64_t examples : {1, 10, 100'000}) {
      const auto found = rounded.errors(examples);
      const auto moments = pool_moments<Real50>(wide, Real50(0.25), examples);
      const numerics::Matrix<Real50> layer = best_layer(moments);
      const numerics::Matrix<Real50> unit = numerics::Matrix<Real50>::Identity(4, 4);
      const auto fresh = normal_task_moments<Real50>(Real50(0.5) * unit, unit, Real50(0.25), examples);
      worst.add(relative(found.seen, static_cast<double>(layer_error(layer, moments))), "seen ", count, " ", examples);
      worst.add(relative(found.fresh, static_cast<double>(layer_error(layer, fresh))), "fresh ", count, " ", examples);
      const auto exact = TaskPool<Real50>(wide, {Real50(0.25), Real50(0.5)}).errors(examples);
      CHECK(abs(exact.fresh / layer_error(layer, fresh) - 1) < Real50("1e-42"));
      CHECK(abs(exact.seen / layer_error(layer, moments) - 1) < Real50("1e-42"));
    }
  }
  CHECK(worst <= 1e-11);
}

}  // namespace incontext::testing::task_pool_50digits_test
