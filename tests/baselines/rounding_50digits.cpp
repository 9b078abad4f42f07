#include <Eigen/Core>
#include <cstdint>
#include <vector>

#include "incontext/baselines/descent_layers.hpp"
#include "incontext/baselines/diagonal_sgd.hpp"
#include "incontext/baselines/flow_course.hpp"
#include "incontext/baselines/pool_averages.hpp"
#include "incontext/baselines/sgd_tasks.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"
#include "support/relative.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace baselines;

TEST_CASE("the error of rates rounds as the spectrum does") {
  const WishartSpectrum<double> rounded(9, 6);
  const WishartSpectrum<Real50> exact(9, 6);
  const auto value = descent_risk<double>(rounded, {0.25, 0.125}, {0.25, 0.5, 0.875});
  const auto reference = descent_risk<Real50>(exact, {0.25, 0.125}, {0.25, 0.5, 0.875});
  CHECK(relative(value, static_cast<double>(reference)) < 1e-14);
}

TEST_CASE("the limit keeps its digits") {
  for (const std::int64_t tasks : {1, 10, 100, 1'000'000}) {
    for (const std::int64_t examples : {1, 100, 1'000'000}) {
      const auto rounded = pool_limit<double>(100, tasks, examples, {0.25, 0.5});
      const auto exact = pool_limit<Real50>(100, tasks, examples, {Real50(0.25), Real50(0.5)});
      CAPTURE(tasks, examples);
      CHECK(relative(rounded.seen, static_cast<double>(exact.seen)) < 1e-14);
      CHECK(relative(rounded.fresh, static_cast<double>(exact.fresh)) < 1e-12);
    }
  }
}

TEST_CASE("the recursion of entries keeps its digits") {
  const std::vector<double> inputs = {2.0, 0.5, 1e-3}, tasks = {0.25, 4.0, 1.0};
  const DiagonalSgd<double> rounded({.input_variances = Eigen::Map<const Eigen::VectorXd>(inputs.data(), 3),
                                     .task_variances = Eigen::Map<const Eigen::VectorXd>(tasks.data(), 3),
                                     .noise_variance = 0.2,
                                     .context_length = 6});
  DiagonalSgdSetting<Real50> wide{.input_variances = numerics::Vector<Real50>(3),
                                  .task_variances = numerics::Vector<Real50>(3),
                                  .noise_variance = Real50(0.2),
                                  .context_length = 6};
  for (const int i : {0, 1, 2}) {
    wide.input_variances(i) = Real50(inputs[static_cast<std::size_t>(i)]);
    wide.task_variances(i) = Real50(tasks[static_cast<std::size_t>(i)]);
  }
  const DiagonalSgd<Real50> exact(wide);
  const double rate = 0.5 * rounded.largest_stable_rate();
  Worst worst;
  for (const std::int64_t steps : {1, 10, 200}) {
    const auto wanted = exact.after(steps, Real50(rate));
    const auto found = rounded.after(steps, rate);
    for (const int i : {0, 1, 2}) {
      for (const int j : {0, 1, 2}) {
        worst.add(relative(found.squares(i, j), static_cast<double>(wanted.squares(i, j))), i, " ", j, " ", steps);
      }
    }
  }
  CHECK(worst <= 1e-13);
  CHECK(relative(rounded.floor(), static_cast<double>(exact.floor())) < 1e-15);
}

TEST_CASE("powers of a step are the steps one after the other, at 50 digits") {
  const SgdSetting<Real50> wide{.dimension = 5, .context_length = 8, .task = {Real50(0.25), Real50(0.2)}, .batch = 3};
  const OnePassSgd<Real50> exact(wide);
  const OnePassSgd<double> rounded({.dimension = 5, .context_length = 8, .task = {0.25, 0.2}, .batch = 3});
  Worst of_steps, of_rounding;
  for (const double share : {1e-9, 0.01, 0.5, 0.99}) {
    const double rate = share * rounded.largest_stable_rate();
    SgdState<Real50> state = exact.start();
    std::int64_t steps = 0;
    for (const std::int64_t next : {1, 2, 3, 10, 77, 500}) {
      for (; steps < next; ++steps) state = exact.step(state, Real50(rate));
      const SgdState<Real50> power = exact.after(steps, Real50(rate));
      of_steps.add(static_cast<double>(abs(power.square / state.square - 1)) * 1e45, "steps ", steps, " share ", share);
    }
    for (const std::int64_t many : {1, 77, 100'000, 1'000'000'000}) {
      const auto wanted = exact.after(many, Real50(rate));
      const auto found = rounded.after(many, rate);
      of_rounding.add(relative(found.square, static_cast<double>(wanted.square)), "steps ", many, " share ", share);
      const auto tail = static_cast<double>(exact.tail_average_risk(many, (many + 1) / 2, Real50(rate)));
      of_rounding.add(relative(rounded.tail_average_risk(many, (many + 1) / 2, rate), tail), "tail ", many);
    }
  }
  CHECK(of_steps <= 1);
  CHECK(of_rounding <= 200 * 2.3e-16);
}

TEST_CASE("the mean of the last layers is the mean of layers that are kept, at 50 digits") {
  // E |mean of Delta|^2 by all pairs: E tr Delta_s^T Delta_t = (1 - gamma b)^(t - s) D_s
  const OnePassSgd<Real50> sgd({.dimension = 3, .context_length = 4, .task = {Real50(0.5), Real50(1)}});
  const Real50 rate = Real50(0.3) * sgd.largest_stable_rate();
  const Real50 curvature = (sgd.risk(sgd.start()) - sgd.floor()) / sgd.start().square;
  const int steps = 12, tail = 7;
  Real50 sum = 0;
  for (int s = steps - tail + 1; s <= steps; ++s) {
    Real50 power = 1;
    for (int t = s; t <= steps; ++t) {
      sum += (s == t ? 1 : 2) * power * sgd.after(s, rate).square;
      power *= 1 - rate * curvature;
    }
  }
  const Real50 expected = sgd.floor() + curvature * sum / (tail * tail);
  CHECK(abs(sgd.tail_average_risk(steps, tail, rate) / expected - 1) < Real50("1e-45"));
}

TEST_CASE("the course keeps its digits") {
  Worst worst;
  for (const double start : {1e-9, 1e-3, 2.0}) {
    const FlowCourse<double> rounded({.dimension = 6, .context_length = 10, .task = {0.25, 0.125}, .start = start});
    const FlowCourse<Real50> exact(
        {.dimension = 6, .context_length = 10, .task = {Real50(0.25), Real50(0.125)}, .start = Real50(start)});
    for (const double time : {0.0, 1.0, 10.0, 60.0}) {
      const double scale = 2.3e-16 * (1 + rounded.growth_rate() * time);
      worst.add(relative(rounded.gain(time), static_cast<double>(exact.gain(Real50(time)))) / scale, "gain ", time);
      const double excess = static_cast<double>(exact.risk(Real50(time)));
      worst.add(relative(rounded.risk(time), excess) / scale, "risk ", time);
    }
  }
  CHECK(worst <= 16);
}

}  // namespace incontext::testing
