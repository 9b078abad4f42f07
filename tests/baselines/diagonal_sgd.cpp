#include "incontext/baselines/diagonal_sgd.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "baselines/gauss_hermite.hpp"
#include "incontext/baselines/sgd_tasks.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

namespace incontext::testing::diagonal_sgd_test {

using namespace baselines;

namespace {

DiagonalSgdSetting<double> setting_of(std::vector<double> inputs, std::vector<double> tasks, std::int64_t length) {
  const auto size = static_cast<Eigen::Index>(inputs.size());
  return {.input_variances = Eigen::Map<Eigen::VectorXd>(inputs.data(), size),
          .task_variances = Eigen::Map<Eigen::VectorXd>(tasks.data(), size),
          .noise_variance = 0.2,
          .context_length = length};
}

/// One context of one task with a query, from as many independent N(0, 1).
struct Episode {
  Eigen::VectorXd features, query;
  double label;

  template <class Draw>
  Episode(const DiagonalSgdSetting<double>& at, Draw&& draw) {
    const Eigen::VectorXd inputs = at.input_variances.cwiseSqrt(), tasks = at.task_variances.cwiseSqrt();
    const auto normals = [&](const Eigen::VectorXd& deviations) {
      return Eigen::VectorXd::NullaryExpr(deviations.size(), [&](Eigen::Index i) { return deviations(i) * draw(); })
          .eval();
    };
    const Eigen::VectorXd task = normals(tasks);
    const double noise = std::sqrt(at.noise_variance);
    features = Eigen::VectorXd::Zero(task.size());
    for (std::int64_t i = 0; i < at.context_length; ++i) {
      const Eigen::VectorXd x = normals(inputs);
      features += (x.dot(task) + noise * draw()) * x / static_cast<double>(at.context_length);
    }
    query = normals(inputs);
    label = query.dot(task) + noise * draw();
  }

  double error(const Eigen::MatrixXd& layer) const { return label - query.dot(layer * features); }
};

}  // namespace

TEST_CASE("one step from any layer changes the means of its entries as exact cubature of the definition does") {
  for (const std::int64_t length : {1, 2}) {
    const auto at = setting_of({2.0, 0.3}, {0.5, 1.1}, length);
    const DiagonalSgd<double> sgd(at);
    const Eigen::VectorXd scale = at.input_variances.cwiseSqrt();
    const auto scaled = [&](const Eigen::MatrixXd& layer) -> Eigen::Matrix2d {
      return scale.asDiagonal() * layer * scale.asDiagonal();
    };
    const Eigen::Matrix2d best = (-sgd.start().diagonal).asDiagonal();
    Eigen::Matrix2d layer;
    layer << 0.3, -0.2, 0.5, 0.1;
    const double rate = 0.07;
    // Per variable: the task to degree 4, inputs 8, noise 4, the query 4, its noise 2.
    std::vector<int> points = {3, 3};
    for (int i = 0; i < length; ++i) points.insert(points.end(), {5, 5, 3});
    points.insert(points.end(), {3, 3, 2});
    Eigen::Matrix<long double, 2, 2> mean, square;
    mean.setZero();
    square.setZero();
    long double risk = 0;
    each_node(points, [&](double weight, const std::vector<double>& values) {
      std::size_t next = 0;
      const Episode one(at, [&] { return values[next++]; });
      const double error = one.error(layer);
      const Eigen::Matrix2d off = scaled(layer + rate * error * one.query * one.features.transpose()) - best;
      mean += (weight * off).cast<long double>();
      square += (weight * off.cwiseAbs2()).cast<long double>();
      risk += weight * error * error;
    });
    const Eigen::Matrix2d off = scaled(layer) - best;
    const DiagonalSgdState<double> before{off.diagonal(), off.cwiseAbs2()}, after = sgd.step(before, rate);
    CAPTURE(length);
    for (const int i : {0, 1}) {
      CHECK(relative(after.diagonal(i), static_cast<double>(mean(i, i))) < 1e-12);
      for (const int j : {0, 1}) CHECK(relative(after.squares(i, j), static_cast<double>(square(i, j))) < 1e-12);
    }
    CHECK(relative(sgd.risk(before), static_cast<double>(risk)) < 1e-12);
    CHECK_FALSE(relative(sgd.step(before, 1.001 * rate).squares(0, 1), static_cast<double>(square(0, 1))) < 1e-12);
  }
}

TEST_CASE("SGD run on drawn tasks has this error, and not that of the mean variances", "[statistics]") {
  // 3 comparisons at |z| <= 5
  const auto at = setting_of({2.0, 1.0, 0.5, 0.25}, {0.5, 0.5, 0.5, 0.5}, 8);
  const DiagonalSgd<double> sgd(at);
  const OnePassSgd<double> equal({.dimension = 4, .context_length = 8, .task = {0.2, 0.5 * 3.75 / 4}});
  const double rate = 0.3 * sgd.largest_stable_rate();
  const std::vector<int> seen = {5, 20, 80};
  std::vector<SampleMean> errors(seen.size());
  std::mt19937_64 engine(2211);
  std::normal_distribution<double> normal;
  const auto draw = [&] { return normal(engine); };
  for (int run = 0; run < 6'000; ++run) {
    Eigen::MatrixXd layer = Eigen::MatrixXd::Zero(4, 4);
    for (int step = 1; step <= 80; ++step) {
      const Episode one(at, draw);
      layer += rate * one.error(layer) * one.query * one.features.transpose();
      for (std::size_t k = 0; k < seen.size(); ++k) {
        if (step != seen[k]) continue;
        double sum = 0;
        for (int query = 0; query < 10; ++query) sum += std::pow(Episode(at, draw).error(layer), 2);
        errors[k].add(sum / 10);
      }
    }
  }
  for (std::size_t k = 0; k < seen.size(); ++k) {
    CAPTURE(seen[k], errors[k].mean(), errors[k].standard_error());
    CHECK(std::abs(errors[k].z(sgd.risk(sgd.after(seen[k], rate)))) <= 5);
  }
  CHECK_FALSE(std::abs(errors[2].z(sgd.risk(sgd.after(40, rate)))) <= 5);
  CHECK_FALSE(std::abs(errors[2].z(equal.risk(equal.after(80, rate)))) <= 5);
}

TEST_CASE("equal variances have the two-number recursion") {
  Worst worst;
  for (const std::int64_t batch : {1, 5}) {
    for (const double variance : {1.0, 0.25}) {
      auto at = setting_of(std::vector<double>(6, variance), std::vector<double>(6, 0.7 / variance), 4);
      at.batch = batch;
      const DiagonalSgd<double> sgd(at);
      const OnePassSgd<double> equal({.dimension = 6, .context_length = 4, .task = {0.2, 0.7}, .batch = batch});
      // inputs of variance c: learning rates are over c^2
      const double most = equal.largest_stable_rate(), unit = variance * variance;
      worst.add(relative(sgd.largest_stable_rate() * unit, most) / 100, "stable rate");
      worst.add(relative(sgd.floor(), equal.floor()), "floor");
      for (const double share : {0.01, 0.6}) {
        const double rate = share * most / unit;
        for (const std::int64_t steps : {0, 1, 7, 300}) {
          const double excess = equal.risk(equal.after(steps, share * most)) - equal.floor();
          worst.add(relative(sgd.risk(sgd.after(steps, rate)) - sgd.floor(), excess), "steps ", steps);
        }
        worst.add(relative(sgd.tail_average_risk(50, 20, rate), equal.tail_average_risk(50, 20, share * most)), "tail");
      }
      worst.add(relative(sgd.greedy_rate(sgd.start()) * unit, equal.greedy_rate(equal.start())), "greedy");
      CHECK(tasks_needed(sgd, 0.2) == tasks_needed(equal, 0.2));
    }
  }
  CHECK(worst <= 1e-12);
}

TEST_CASE("below the largest stable rate of unequal variances the error is bounded, and above it is not") {
  for (const std::int64_t batch : {1, 8}) {
    auto at = setting_of({3.0, 1.0, 0.5}, {0.1, 0.5, 2.0}, 5);
    at.batch = batch;
    const DiagonalSgd<double> sgd(at);
    const double most = sgd.largest_stable_rate();
    const auto after = [&](double share, std::int64_t steps) { return sgd.risk(sgd.after(steps, share * most)); };
    CAPTURE(batch, most);
    CHECK(relative(after(0.97, 200'000), after(0.97, 100'000)) < 1e-9);
    CHECK(after(1.03, 40'000) > 1e9 * after(1.03, 1'000));
  }
}

TEST_CASE("the greedy rate is the best for the next step, and a tail average of one layer is that layer") {
  const DiagonalSgd<double> sgd(setting_of({3.0, 1.0, 0.2}, {0.1, 0.5, 2.0}, 5));
  DiagonalSgdState<double> state = sgd.start();
  for (int t = 0; t < 30; ++t) {
    const double rate = sgd.greedy_rate(state);
    const DiagonalSgdState<double> next = sgd.step(state, rate);
    for (const double factor : {0.9, 0.999, 1.001, 1.1})
      CHECK(sgd.risk(sgd.step(state, factor * rate)) > sgd.risk(next));
    state = next;
  }
  CHECK(relative(sgd.tail_average_risk(9, 1, 0.01), sgd.risk(sgd.after(9, 0.01))) < 1e-15);
}

TEST_CASE("bad settings of SGD with a diagonal covariance are refused by name") {
  const auto refused = [](auto change, std::string_view name) {
    auto bad = setting_of({1, 2}, {3, 4}, 5);
    change(bad);
    return names(message_of([&] { DiagonalSgd<double>{bad}; }), name);
  };
  CHECK(refused([](auto& s) { s.input_variances.resize(0); }, "input_variances.size()"));
  CHECK(refused([](auto& s) { s.task_variances.conservativeResize(1); }, "task_variances.size()"));
  CHECK(refused([](auto& s) { s.input_variances(1) = 0; }, "input_variances[1]"));
  CHECK(refused([](auto& s) { s.task_variances(0) = NAN; }, "task_variances[0]"));
  CHECK(refused([](auto& s) { s.noise_variance = -1; }, "noise_variance"));
  CHECK(refused([](auto& s) { s.context_length = 0; }, "context_length"));
  CHECK(refused([](auto& s) { s.batch = 0; }, "batch"));
  const DiagonalSgd<double> sgd(setting_of({1, 2}, {3, 4}, 5));
  CHECK(refuses<std::invalid_argument>([&] { sgd.after(-1, 0.1); }, {"steps", "-1"}));
  CHECK(refuses<std::domain_error>([&] { sgd.step(sgd.start(), NAN); }, {"rate"}));
  CHECK(refuses<std::domain_error>([&] { sgd.largest_stable_rate(0.0); }, {"precision"}));
  CHECK(refuses<std::invalid_argument>([&] { sgd.tail_average_risk(3, 4, 0.1); }, {"steps"}));
}

}  // namespace incontext::testing::diagonal_sgd_test
