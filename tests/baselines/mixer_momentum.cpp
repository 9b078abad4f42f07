#include "incontext/baselines/mixer_momentum.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "baselines/gauss_hermite.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::mixer_momentum_test {

using namespace baselines;

namespace {

using Task = MixerTask<double>;
using Mixers = SequenceMixers<double>;

Task two_axes(double persistence) {
  return {.input_variances = Eigen::Vector2d(1.5, 0.4),
          .task_variances = Eigen::Vector2d(0.3, 0.8),
          .noise_variance = 0.2,
          .persistence = persistence};
}

/// The squared error of the next answer after a sequence that is read as the rule is defined; `draw` gives normals.
template <class Draw>
double squared_error(const Task& at, double rate, double momentum, int examples, Draw&& draw) {
  const auto normals = [&] {
    Eigen::Vector2d z;
    for (double& one : z) one = draw();
    return z;
  };
  Eigen::Vector2d task = at.task_variances.cwiseSqrt().cwiseProduct(normals()), state(0, 0), move(0, 0);
  const double noise = std::sqrt(at.noise_variance), rho = at.persistence;
  for (int t = 0; t < examples; ++t) {
    const Eigen::Vector2d x = at.input_variances.cwiseSqrt().cwiseProduct(normals());
    move = momentum * move + rate * (task.dot(x) + noise * draw() - state.dot(x)) * x;
    state += move;
    task = rho * task + std::sqrt(1 - rho * rho) * at.task_variances.cwiseSqrt().cwiseProduct(normals());
  }
  return at.noise_variance + at.input_variances.dot((task - state).cwiseAbs2());
}

}  // namespace

TEST_CASE("two steps with momentum have the error that exact cubature of the definition has") {
  for (const double persistence : {1.0, 0.8}) {
    // per variable: the task and its drift to degree 2, keys 4, noise 2
    long double exact = 0;
    each_node({2, 2, 3, 3, 2, 2, 2, 3, 3, 2, 2, 2}, [&](double weight, const std::vector<double>& values) {
      std::size_t next = 0;
      exact += weight * squared_error(two_axes(persistence), 0.3, 0.6, 2, [&] { return values[next++]; });
    });
    const Mixers mixers(two_axes(persistence));
    CHECK(relative(momentum_risks(mixers, 0.3, 0.6, {2}).front(), static_cast<double>(exact)) < 1e-13);
    CHECK(relative(momentum_risks(mixers, 0.3, 0.5, {2}).front(), static_cast<double>(exact)) > 1e-3);
  }
}

TEST_CASE(
    "sequences that are read with momentum agree, and the delta rule of the rate that momentum amounts to does not") {
  std::mt19937_64 engine(64);
  std::normal_distribution<double> normal;
  const Task at = two_axes(0.98);
  SampleMean errors;
  for (int i = 0; i < 100000; ++i) errors.add(squared_error(at, 0.15, 0.7, 12, [&] { return normal(engine); }));
  const Mixers mixers(at);
  CHECK(std::abs(errors.z(momentum_risks(mixers, 0.15, 0.7, {12}).front())) < 3.5);
  CHECK(std::abs(errors.z(mixers.risks(mixer_of(MixerKind::delta_rule, 0.15 / 0.3), {12}).front())) > 10);
}

TEST_CASE("without momentum it is the delta rule; keys of one length and a drift included") {
  Task at = two_axes(0.9);
  at.keys = MixerKeys::normalized;
  const Mixers mixers(at);
  const std::vector<std::int64_t> lengths{40, 0, 1, 7};
  const auto rule = mixers.risks(mixer_of(MixerKind::delta_rule, 0.2), lengths);
  const auto found = momentum_risks(mixers, 0.2, 0.0, lengths);
  for (std::size_t i = 0; i < lengths.size(); ++i) CHECK(relative(found[i], rule[i]) < 1e-13);
  CHECK(momentum_risks(mixers, 3.0, 0.9, {100000}).front() == std::numeric_limits<double>::infinity());
}

TEST_CASE("rates, momenta and lengths that are none are refused by name") {
  const Mixers mixers(two_axes(1));
  CHECK(refuses([&] { momentum_risks(mixers, std::nan(""), 0.5, {3}); }, {"momentum_risks", "rate"}));
  CHECK(refuses([&] { momentum_risks(mixers, 0.1, 1.5, {3}); }, {"momentum is out of range", "value = 1.5"}));
  CHECK(refuses<std::invalid_argument>([&] { momentum_risks(mixers, 0.1, 0.5, {3, -1}); }, {"lengths[1]", "-1"}));
}

}  // namespace incontext::testing::mixer_momentum_test
