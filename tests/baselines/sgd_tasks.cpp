#include "incontext/baselines/sgd_tasks.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "baselines/gauss_hermite.hpp"
#include "incontext/baselines/descent_layers.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

namespace incontext::testing::sgd_tasks_test {

using namespace baselines;

namespace {

/// One context of one task with a query, from as many independent N(0, 1).
struct Episode {
  Eigen::VectorXd features, query;
  double label;

  template <class Draw>
  Episode(const SgdSetting<double>& at, Draw&& draw) {
    const auto normals = [&](std::int64_t count) {
      return Eigen::VectorXd::NullaryExpr(count, [&](Eigen::Index) { return draw(); }).eval();
    };
    const Eigen::VectorXd task = std::sqrt(at.task.task_variance) * normals(at.dimension);
    const double noise = std::sqrt(at.task.noise_variance);
    features = Eigen::VectorXd::Zero(at.dimension);
    for (std::int64_t i = 0; i < at.context_length; ++i) {
      const Eigen::VectorXd x = normals(at.dimension);
      features += (x.dot(task) + noise * draw()) * x / static_cast<double>(at.context_length);
    }
    query = normals(at.dimension);
    label = query.dot(task) + noise * draw();
  }

  double error(const Eigen::MatrixXd& layer) const { return label - query.dot(layer * features); }
};

/// What SGD does, over and over; and the squared errors of some of its layers on episodes that it has not seen.
struct Training {
  std::vector<SampleMean> errors;
  SampleMean tail;

  Training(const SgdSetting<double>& at, double rate, const std::vector<int>& seen, int tail_length, int runs) {
    std::mt19937_64 engine(2210);
    std::normal_distribution<double> normal;
    const auto draw = [&] { return normal(engine); };
    const auto tested = [&](const Eigen::MatrixXd& layer) {
      double sum = 0;
      for (int k = 0; k < 10; ++k) sum += std::pow(Episode(at, draw).error(layer), 2);
      return sum / 10;
    };
    errors.resize(seen.size());
    for (int run = 0; run < runs; ++run) {
      Eigen::MatrixXd layer = Eigen::MatrixXd::Zero(at.dimension, at.dimension), sum = layer;
      for (int step = 1; step <= seen.back(); ++step) {
        Eigen::MatrixXd gradient = Eigen::MatrixXd::Zero(at.dimension, at.dimension);
        for (int b = 0; b < at.batch; ++b) {
          const Episode one(at, draw);
          gradient += one.error(layer) * one.query * one.features.transpose();
        }
        layer += rate / static_cast<double>(at.batch) * gradient;
        if (step > seen.back() - tail_length) sum += layer;
        for (std::size_t k = 0; k < seen.size(); ++k) {
          if (step == seen[k]) errors[k].add(tested(layer));
        }
      }
      tail.add(tested(sum / tail_length));
    }
  }
};

const SgdSetting<double> setting{.dimension = 5, .context_length = 8, .task = {0.25, 0.2}};

}  // namespace

TEST_CASE("one step from any layer changes the two means as exact cubature of the definition does") {
  for (const std::int64_t length : {1, 2}) {
    const SgdSetting<double> at{.dimension = 2, .context_length = length, .task = {0.3, 0.7}};
    const OnePassSgd<double> sgd(at);
    Eigen::Matrix2d layer;
    layer << 0.3, -0.2, 0.5, 0.1;
    const double rate = 0.07, best = sgd.best_gain();
    const Eigen::Matrix2d off = layer - best * Eigen::Matrix2d::Identity();
    // Per variable: the task to degree 4, inputs 8, noise 4, the query 4, its noise 2.
    std::vector<int> points = {3, 3};
    for (int i = 0; i < length; ++i) points.insert(points.end(), {5, 5, 3});
    points.insert(points.end(), {3, 3, 2});
    long double trace = 0, square = 0, risk = 0;
    each_node(points, [&](double weight, const std::vector<double>& values) {
      std::size_t next = 0;
      const Episode one(at, [&] { return values[next++]; });
      const double error = one.error(layer);
      const Eigen::Matrix2d moved = off + rate * error * one.query * one.features.transpose();
      trace += weight * moved.trace();
      square += weight * moved.squaredNorm();
      risk += weight * error * error;
    });
    const SgdState<double> before{off.trace(), off.squaredNorm()}, after = sgd.step(before, rate);
    CAPTURE(length);
    const auto is_exact = [](double value, long double sum) {
      return relative(value, static_cast<double>(sum)) < 1e-13;
    };
    CHECK(is_exact(after.trace, trace));
    CHECK(is_exact(after.square, square));
    CHECK(is_exact(sgd.risk(before), risk));
    CHECK_FALSE(is_exact(sgd.step(before, 1.001 * rate).square, square));
  }
}

TEST_CASE("SGD run on drawn tasks has this error, and not that of the mean gradient", "[statistics]") {
  // 8 comparisons at |z| <= 5
  for (const std::int64_t batch : {1, 4}) {
    SgdSetting<double> at = setting;
    at.batch = batch;
    const OnePassSgd<double> sgd(at);
    at.batch = 1'000'000'000;
    const OnePassSgd<double> noiseless(at);
    at.batch = batch;
    const double rate = 0.4 * sgd.largest_stable_rate();
    const std::vector<int> seen = {1, 5, 20, 60};
    const Training run(at, rate, seen, 1, batch == 1 ? 4'000 : 1'500);
    for (std::size_t k = 0; k < seen.size(); ++k) {
      CAPTURE(batch, seen[k], run.errors[k].mean());
      CHECK(std::abs(run.errors[k].z(sgd.risk(sgd.after(seen[k], rate)))) <= 5);
    }
    CHECK_FALSE(std::abs(run.errors[3].z(noiseless.risk(noiseless.after(60, rate)))) <= 5);
  }
}

TEST_CASE("the mean of the last layers of drawn training has this error, far below the last one's", "[statistics]") {
  // 1 comparison at |z| <= 5; the rate is so high that the last layer is mostly noise
  const SgdSetting<double> at{.dimension = 2, .context_length = 6, .task = {0.1, 0.5}};
  const OnePassSgd<double> sgd(at);
  const double rate = 0.7 * sgd.largest_stable_rate();
  const Training run(at, rate, {80}, 50, 4'000);
  CAPTURE(run.tail.mean(), run.tail.standard_error());
  CHECK(std::abs(run.tail.z(sgd.tail_average_risk(80, 50, rate))) <= 5);
  CHECK_FALSE(std::abs(run.tail.z(sgd.risk(sgd.after(80, rate)))) <= 5);
}

TEST_CASE("the best layer is one layer of descent, and zeros are the answer 0") {
  for (const std::int64_t length : {1, 8, 300}) {
    const OnePassSgd<double> sgd({.dimension = 5, .context_length = length, .task = {0.25, 0.2}});
    const WishartSpectrum<double> spectrum(length, 5);
    const auto layer = optimal_layers<double>(spectrum, {0.25, 0.2}, 1);
    CHECK(relative(sgd.floor(), layer.risk) < 1e-13);
    CHECK(relative(sgd.best_gain(), layer.learning_rates[0]) < 1e-13);
    CHECK(relative(sgd.risk(sgd.start()), 1.25) < 1e-14);
    CHECK(sgd.risk(sgd.after(0, 0.01)) == sgd.risk(sgd.start()));
    // of a layer that is a/b of length 8, tested on other lengths: one step of descent at that rate
    const OnePassSgd<double> trained(setting);
    const double gain = trained.best_gain();
    CHECK(relative(trained.risk({0, 0}, length), descent_risk<double>(spectrum, {0.25, 0.2}, {gain})) < 1e-13);
    CHECK(relative(trained.risk(trained.start(), length), 1.25) < 1e-13);
  }
}

TEST_CASE("below the largest stable rate the error is bounded, and above it is not") {
  for (const std::int64_t batch : {1, 16, 1'000'000}) {
    SgdSetting<double> at = setting;
    at.batch = batch;
    const OnePassSgd<double> sgd(at);
    const double most = sgd.largest_stable_rate();
    const auto after = [&](double share, std::int64_t steps) { return sgd.risk(sgd.after(steps, share * most)); };
    CAPTURE(batch, most);
    CHECK(relative(after(0.999, 2'000'000), after(0.999, 1'000'000)) < 1e-9);
    CHECK(after(1.001, 2'000'000) > 1e9 * after(1.001, 1'000));
    CHECK(after(1.5, 1'000'000'000) == INFINITY);
    CHECK(most < 2 / (0.2 * (1 + 6.0 / 8) + 0.25 / 8));  // that of the mean gradient
  }
}

TEST_CASE("the best constant rate and the greedy ones: no rate that is tried is better") {
  for (const double noise : {0.0, 0.25, 40.0}) {
    const OnePassSgd<double> sgd({.dimension = 5, .context_length = 8, .task = {noise, 0.2}});
    const double most = sgd.largest_stable_rate();
    SgdState<double> greedy = sgd.start();
    for (int t = 1; t <= 3000; ++t) {
      const double rate = sgd.greedy_rate(greedy);
      const SgdState<double> next = sgd.step(greedy, rate);
      if (t < 20) {
        for (const double factor : {0.9, 0.999, 1.001, 1.1})
          CHECK(sgd.step(greedy, factor * rate).square > next.square);
      }
      CHECK(next.square < greedy.square);
      greedy = next;
      if (t != 1 && t != 10 && t != 100 && t != 3000) continue;
      const auto best = best_constant_rate(sgd, t);
      CAPTURE(noise, t, best.learning_rate, best.risk);
      CHECK(relative(sgd.risk(sgd.after(t, best.learning_rate)), best.risk) < 1e-15);
      for (double share = 1e-6; share < 1; share *= 1.05) {
        CHECK(sgd.risk(sgd.after(t, share * most)) >= best.risk * (1 - 1e-14));
      }
      if (t == 1 && noise < 1) CHECK(relative(best.learning_rate, rate) < 1e-6);
      // greedy steps are the better ones in the end, but without noise not at first
      if (t == 3000 && noise < 1) CHECK(greedy.square < 0.9 * sgd.after(t, best.learning_rate).square);
      if (t == 100) CHECK((sgd.risk(greedy) < best.risk) == (noise > 0));
    }
  }
}

TEST_CASE("tasks to 10% of the floor are 12 to 21 squared dimensions at l = 2 d, and one fewer does not suffice") {
  for (const std::int64_t d : {5, 20, 40}) {
    const auto size = static_cast<double>(d);
    const OnePassSgd<double> sgd({.dimension = d, .context_length = 2 * d, .task = {0.1, 1 / size}});
    const std::int64_t tasks = tasks_needed(sgd, 0.1);
    CAPTURE(d, tasks);
    CHECK(tasks == (d == 5 ? 509 : d == 20 ? 5478 : 20474));
    SgdState<double> state = sgd.start();
    for (std::int64_t t = 0; t + 1 < tasks; ++t) state = sgd.step(state, sgd.greedy_rate(state));
    CHECK(sgd.risk(state) > 1.1 * sgd.floor());
    CHECK(sgd.risk(sgd.step(state, sgd.greedy_rate(state))) <= 1.1 * sgd.floor());
  }
  // batches of d and of d^2 tasks
  for (const auto& [batch, tasks] : {std::pair{20, 5500}, std::pair{400, 6000}}) {
    const OnePassSgd<double> batched({.dimension = 20, .context_length = 40, .task = {0.1, 0.05}, .batch = batch});
    CHECK(tasks_needed(batched, 0.1) == tasks);
  }
  const OnePassSgd<double> sgd(setting);
  CHECK(tasks_needed(sgd, 0.9) == 0);
  SgdSetting<double> batched = setting;
  batched.batch = 10;
  CHECK(tasks_needed(OnePassSgd<double>(batched), 0.1) % 10 == 0);
}

TEST_CASE("bad settings of SGD are refused by name") {
  const auto refused = [](auto change, std::string_view name) {
    SgdSetting<double> bad = setting;
    change(bad);
    return names(message_of([&] { OnePassSgd<double>{bad}; }), name);
  };
  CHECK(refused([](auto& s) { s.dimension = 0; }, "dimension"));
  CHECK(refused([](auto& s) { s.context_length = 0; }, "context_length"));
  CHECK(refused([](auto& s) { s.batch = 0; }, "batch"));
  CHECK(refused([](auto& s) { s.task.noise_variance = -1; }, "noise_variance"));
  CHECK(refused([](auto& s) { s.task.task_variance = 0; }, "task_variance"));
  const OnePassSgd<double> sgd(setting);
  CHECK(refuses<std::invalid_argument>([&] { sgd.after(-1, 0.1); }, {"steps", "-1"}));
  CHECK(refuses<std::domain_error>([&] { sgd.after(1, NAN); }, {"rate", "nan"}));
  CHECK(refuses<std::domain_error>([&] { sgd.step(sgd.start(), INFINITY); }, {"rate"}));
  CHECK(refuses<std::invalid_argument>([&] { sgd.tail_average_risk(5, 6, 0.1); }, {"steps"}));
  CHECK(refuses<std::invalid_argument>([&] { sgd.tail_average_risk(5, 0, 0.1); }, {"tail"}));
  CHECK(refuses<std::invalid_argument>([&] { sgd.risk(sgd.start(), 0); }, {"test_length"}));
  CHECK(refuses<std::invalid_argument>([&] { best_constant_rate(sgd, 0); }, {"steps"}));
  CHECK(refuses<std::domain_error>([&] { tasks_needed(sgd, 0.0); }, {"share"}));
}

}  // namespace incontext::testing::sgd_tasks_test
