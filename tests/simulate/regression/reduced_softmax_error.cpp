#include "incontext/simulate/regression/reduced_softmax_error.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/statistics/agreement.hpp"
#include "models.hpp"
#include "regression/softmax_attention.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace reduced_softmax_test {

// Compares the reduced trial with the exact error, the literal trial and attention written out, |z| <= 5 with fixed
// seeds.

namespace {

using namespace incontext;
using Softmax = scoring::Softmax<double>;
using SSMax = scoring::SSMax<double>;
using SSA = scoring::SSA<double>;
using simulate::reduced_softmax_error;

const std::vector<double> temperatures{0.1, 0.7, 1.5, 4.0};

/// Neither isotropic nor symmetric, with a mean of the tasks.
regression::LinearTask<double> centered_task() {
  return testing::general_task().with_input_mean(regression::Vector<double>::Zero(3));
}

regression::Attention<double> label_attention() {
  auto attention = testing::general_attention();
  attention.input_value.setZero();
  return attention;
}

const regression::IsotropicTask<double> law{4, 1.5, 0.25, 0.1};
const regression::IsotropicAttention<double> scale{0.8, 0.9};

const auto isotropic_task = [] { return regression::LinearTask<double>::isotropic(law); };

regression::Attention<double> isotropic_attention() {
  auto attention = testing::plain_attention(4);
  attention.key_query *= scale.key_query_scale;
  attention.label_value = scale.label_value;
  return attention;
}

template <class Map>
double isotropic_error(const Map& map, std::int64_t context_length) {
  return regression::softmax_error_isotropic(scale, law, context_length, map).value;
}

/// The z of the difference between two independent estimates.
double difference_z(double a, double a_error, double b, double b_error) {
  return (a - b) / std::hypot(a_error, b_error);
}

/// The prediction of the readout from one row of standard scores times s.
template <class T, class Exponent>
std::pair<double, double> streamed(Exponent exponent, double s, const std::vector<double>& row) {
  const simulate::SoftmaxMomentsReadout<T, Exponent> readout{&exponent, 1};
  std::vector<T> memory(static_cast<std::size_t>(readout.rows()));
  const simulate::LaneArray<T, 1> state{memory.data(), 1};
  readout.start(state);
  const Lanes<T, 1> deviation(static_cast<T>(s));
  for (std::size_t first = 0; first < row.size(); first += 16) {
    Lanes<T, 1> tile[16];
    const int tokens = static_cast<int>(std::min<std::size_t>(16, row.size() - first));
    for (int i = 0; i < tokens; ++i) tile[i] = static_cast<T>(row[first + static_cast<std::size_t>(i)]);
    readout.add(state, deviation, tile, tokens);
  }
  const auto moments = readout.moments(state, 0);
  return {moments.ipr[0], moments.mean_normal[0]};
}

/// The same from the weights of the whole row.
template <class Map>
std::pair<double, double> at_once(const Map& map, double s, const std::vector<double>& row) {
  std::vector<double> scores, p(row.size());
  for (const double g : row) scores.push_back(s * g);
  scoring::weights(map, scores, p);
  double ipr = 0, mean = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    ipr += p[i] * p[i];
    mean += p[i] * row[i];
  }
  return {ipr, mean};
}

std::vector<double> standard_row(std::size_t size) {
  std::mt19937_64 engine(17);
  std::normal_distribution<double> normal;
  std::vector<double> row(size);
  for (double& g : row) g = normal(engine);
  return row;
}

bool close(std::pair<double, double> a, std::pair<double, double> b, double tolerance) {
  return std::abs(a.first / b.first - 1) <= tolerance && std::abs(a.second - b.second) <= tolerance;
}

}  // namespace

TEST_CASE("reduced softmax: a streamed row has the moments of the row at once") {
  const auto length = static_cast<std::size_t>(GENERATE(2, 16, 37, 1000));
  const double s = GENERATE(1e-3, 1.0, 30.0);
  const auto row = standard_row(length);
  const auto n = static_cast<std::ptrdiff_t>(length);
  for (const SSMax map : {SSMax{0.5}, SSMax{-0.3}, SSMax{0.1, 0.2}, SSMax{0.0}}) {
    const double factor = map.inverse_temperature(n);
    CAPTURE(length, s, factor);
    const auto expected = at_once(map, s, row);
    CHECK(close(streamed<double>(simulate::LinearScoreExponent<double>{factor}, s, row), expected, 1e-12));
    CHECK(close(streamed<float>(simulate::LinearScoreExponent<float>{static_cast<float>(factor)}, s, row), expected,
                3e-5));
  }
  for (const SSA map : {SSA{1.0, 1.5, 1.0}, SSA{0.5, 4.0, 0.25}, SSA{1e-3, 1000.0, 1.0}}) {
    CAPTURE(length, s, map.base, map.exponent);
    const auto expected = at_once(map, s, row);
    const simulate::SignedLogarithmScoreExponent<double> exponent{map.base / map.temperature, map.exponent};
    CHECK(close(streamed<double>(exponent, s, row), expected, 1e-12));
    // Power: another exponent.
    CHECK_FALSE(close(streamed<double>(exponent, s, row),
                      at_once(SSA{map.base, 1.1 * map.exponent, map.temperature}, s, row), 1e-12));
  }
}

namespace {

/// The value of one trial in double, from the normals that a trial in single precision draws.
double exact_value(const regression::LinearTask<double>& task, const regression::Attention<double>& attention,
                   std::int64_t context_length, const Softmax& map, std::uint64_t seed, std::uint64_t trial) {
  const auto normals_of = [&](random::RegressionStream stream, std::int64_t count) {
    std::vector<double> drawn;
    for (std::uint32_t block = 0; static_cast<std::int64_t>(drawn.size()) < count; ++block) {
      float four[random::normals_per_block<float>][1];
      random::normals(random::LaneStream<1>({seed, trial}, stream), block, four);
      for (const auto& one : four) drawn.push_back(static_cast<double>(one[0]));
    }
    drawn.resize(static_cast<std::size_t>(count));
    return drawn;
  };
  const auto g = normals_of(random::RegressionStream::query, task.dimension());
  const regression::Vector<double> query = simulate::detail::plain_cholesky(task.input_covariance()) *
                                           Eigen::Map<const regression::Vector<double>>(g.data(), task.dimension());
  const regression::Vector<double> key = attention.key_query * query, spread = task.input_covariance() * key;
  const double s = std::sqrt(key.dot(spread));
  const auto [ipr, mean] = at_once(map, s, normals_of(random::RegressionStream::inputs, context_length));
  const regression::Vector<double> u = spread / s;
  const regression::Matrix<double> moment = task.task_covariance() + task.task_mean() * task.task_mean().transpose();
  const double v = attention.label_value, along = u.dot(moment * u);
  const regression::Vector<double> residual = v * mean * u - query;
  return task.noise_variance() + residual.dot(moment * residual) +
         v * v * ipr * (task.noise_variance() + (moment * task.input_covariance()).trace() - along);
}

}  // namespace

TEST_CASE("reduced softmax: an estimate's rounding bounds what single precision has done to it") {
  constexpr std::int64_t trials = 512, length = 40;
  const auto attention = label_attention();
  testing::Worst largest_share;
  for (const auto& task :
       {centered_task(), centered_task().with_noise_variance(1e7), centered_task().with_input_covariance_scaled(1e-7),
        centered_task().with_task_covariance_scaled(1e6).with_noise_variance(0),
        centered_task().with_input_covariance_scaled(100)}) {
    std::vector<Softmax> maps;
    for (const double temperature : {0.02, 1.0, 8e5}) maps.push_back(Softmax{temperature});
    const auto run = reduced_softmax_error<float>(attention, task, length, maps, {.seed = 19, .trials = trials});
    for (std::size_t i = 0; i < maps.size(); ++i) {
      double exact = 0;
      for (std::uint64_t trial = 0; trial < trials; ++trial) {
        exact += exact_value(task, attention, length, maps[i], 19, trial) / trials;
      }
      const auto& estimate = run.estimates[i];
      CAPTURE(maps[i].temperature, task.noise_variance(), estimate.mean, exact, estimate.rounding);
      CHECK(std::abs(estimate.mean - exact) <= estimate.rounding);
      CHECK(statistics::agree(exact + 3 * estimate.rounding + 6 * estimate.standard_error, estimate).verdict(5) ==
            statistics::Verdict::disagrees);
      largest_share.add(std::abs(estimate.mean - exact) / estimate.rounding, "i ", i);
    }
  }
  CHECK(largest_share > 0.005);  // the bound is not far too large
}

TEST_CASE("reduced softmax: errors that barely depend on the draws are not judged, and wrong theories are rejected") {
  // only the noise is left, and single precision rounds the mean by more than its standard error
  const auto at = regression::IsotropicTask<double>{4, 1e-7, 0.25, 0.1};
  const auto task = regression::LinearTask<double>::isotropic(at);
  const auto estimate =
      reduced_softmax_error<float>(isotropic_attention(), task, 50, Softmax{1.0}, {.seed = 4, .trials = 4096});
  const auto exact = regression::softmax_error_isotropic(scale, at, 50, Softmax{1.0});
  CHECK(statistics::agree(exact, estimate).verdict(4) == statistics::Verdict::not_judged);
  CHECK(statistics::agree(1.001 * exact.value, estimate).verdict(4) == statistics::Verdict::disagrees);
}

TEST_CASE("reduced softmax: rows of 1e5 lose nothing to single precision") {
  const auto row = standard_row(100000);
  const double factor = GENERATE(0.1, 1.0, 3.0);
  CHECK(close(streamed<float>(simulate::LinearScoreExponent<float>{static_cast<float>(factor)}, 1.0, row),
              at_once(SSMax{0.0, factor}, 1.0, row), 3e-6));
}

TEMPLATE_TEST_CASE("reduced softmax: it agrees with the exact error at every temperature, and only with it", "", float,
                   double) {
  const std::int64_t l = GENERATE(2, 10, 40);
  const auto task = centered_task();
  const auto attention = label_attention();
  const auto simulation = reduced_softmax_error<TestType>(
      attention, task, l, simulate::at_temperatures<Softmax>(temperatures), {.seed = 41, .trials = 1 << 17});
  const auto exact = [&](std::int64_t length, const regression::LinearTask<double>& of, double factor) {
    return [&, length, factor](std::size_t i) {
      return factor * regression::softmax_error(attention, of, length, Softmax{temperatures[i]}).value;
    };
  };
  CHECK(testing::largest_z(simulation.estimates, exact(l, task, 1.0)) <= 5);
  // Power: a tenth more examples, two percent, tasks without their mean, and approximate softmax.
  CHECK(testing::largest_z(simulation.estimates, exact(l + std::max<std::int64_t>(1, l / 10), task, 1.0)) > 5);
  CHECK(testing::largest_z(simulation.estimates, exact(l, task, 1.02)) > 5);
  CHECK(testing::largest_z(simulation.estimates,
                           exact(l, task.with_task_mean(regression::Vector<double>::Zero(3)), 1.0)) > 5);
  const auto approximate = regression::generalization_error(attention, task, l);
  CHECK(testing::largest_z(simulation.estimates, [&](std::size_t i) { return approximate(temperatures[i]); }) > 5);
}

TEST_CASE("reduced softmax: it has the mean of the literal trial, with a fraction of its standard deviation") {
  const std::int64_t l = GENERATE(3, 25);
  const auto task = centered_task();
  const auto attention = label_attention();
  const auto maps = simulate::at_temperatures<Softmax>(temperatures);
  const auto literal = simulate::regression_error(attention, task, l, maps, {.seed = 42, .trials = 1 << 18});
  const auto reduced = reduced_softmax_error(attention, task, l, maps, {.seed = 43, .trials = 1 << 18});
  const auto other = reduced_softmax_error(attention, task, l + 1, maps, {.seed = 43, .trials = 1 << 18});
  double largest_of_other = 0;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const auto& a = literal.estimates[i];
    const auto& b = reduced.estimates[i];
    const auto& c = other.estimates[i];
    CAPTURE(l, temperatures[i], a.mean, b.mean);
    CHECK(std::abs(difference_z(a.mean, a.standard_error, b.mean, b.standard_error)) <= 5);
    CHECK(b.standard_error < 0.7 * a.standard_error);
    largest_of_other =
        std::max(largest_of_other, std::abs(difference_z(a.mean, a.standard_error, c.mean, c.standard_error)));
  }
  if (l == 3) CHECK(largest_of_other > 5);
}

TEST_CASE("reduced softmax: SSA and SSMax agree with the isotropic error and with attention written out") {
  const std::int64_t l = 20;
  const auto judge = [&](const auto& maps, const auto& wrong) {
    const auto simulation = reduced_softmax_error<double>(isotropic_attention(), isotropic_task(), l, maps,
                                                          {.seed = 44, .trials = 1 << 18});
    CHECK(testing::largest_z(simulation.estimates, [&](std::size_t i) { return isotropic_error(maps[i], l); }) <= 5);
    CHECK(testing::largest_z(simulation.estimates, [&](std::size_t i) { return isotropic_error(wrong[i], l); }) > 5);
    const testing::LiteralAttention written{isotropic_attention(), isotropic_task()};
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const auto by_hand = written.error(maps[i], l, 20000, 45 + i);
      const auto& estimate = simulation.estimates[i];
      CAPTURE(i, by_hand.mean(), estimate.mean);
      CHECK(std::abs(difference_z(by_hand.mean(), by_hand.standard_error(), estimate.mean, estimate.standard_error)) <=
            5);
    }
  };
  judge(std::vector<SSA>{{1.0, 1.5, 1.0}, {0.5, 4.0, 2.0}}, std::vector<SSA>{{1.1, 1.5, 1.0}, {0.5, 4.4, 2.0}});
  judge(std::vector<SSMax>{{0.3}, {-0.1}, {0.1, 0.2}}, std::vector<SSMax>{{0.33}, {-0.11}, {0.1, 0.25}});
}

TEST_CASE("reduced softmax: SSMax in rows of one length is softmax at that temperature, on the same draws") {
  const auto task = centered_task();
  const auto attention = label_attention();
  const simulate::Options options{.seed = 46, .trials = 3000};
  const double temperature = 1 / (0.4 * std::log(9.0));
  const auto softmax = reduced_softmax_error<double>(attention, task, 9, Softmax{temperature}, options);
  const auto ssmax = reduced_softmax_error<double>(attention, task, 9, SSMax{0.4}, options);
  CHECK(std::abs(softmax.mean / ssmax.mean - 1) < 1e-13);
}

TEST_CASE("reduced softmax: a grid runs on common random numbers, each point is what it would be alone") {
  const simulate::Options options{.seed = 47, .trials = 3000};
  const auto check = [&](const auto& maps) {
    const auto grid = reduced_softmax_error(label_attention(), centered_task(), 21, maps, options);
    for (std::size_t i = 0; i < maps.size(); ++i) {
      const auto alone = reduced_softmax_error(label_attention(), centered_task(), 21, maps[i], options);
      CHECK(alone.mean == grid.estimates[i].mean);
      CHECK(alone.standard_error == grid.estimates[i].standard_error);
    }
  };
  check(simulate::at_temperatures<Softmax>(temperatures));
  check(std::vector<SSA>{{1.0, 1.5, 1.0}, {0.5, 4.0, 2.0}});
}

TEST_CASE("reduced softmax: long contexts, one dimension, and attention that sees no scores") {
  const auto long_context =
      reduced_softmax_error(isotropic_attention(), isotropic_task(), 100000, Softmax{2.0}, {.seed = 48, .trials = 512});
  CHECK(statistics::agree(isotropic_error(Softmax{2.0}, 100000), long_context).within(5));

  const regression::IsotropicTask<double> line{1, 1.5, 0.25, 0.1};
  const auto on_line =
      reduced_softmax_error(testing::plain_attention(1), regression::LinearTask<double>::isotropic(line), 7,
                            Softmax{1.2}, {.seed = 49, .trials = 1 << 16});
  CHECK(statistics::agree(regression::softmax_error_isotropic<double>({1.0, 1.0}, line, 7, Softmax{1.2}).value, on_line)
            .within(5));

  auto blind = isotropic_attention();
  blind.key_query.setZero();
  const auto uniform =
      reduced_softmax_error<double>(blind, isotropic_task(), 7, Softmax{1.2}, {.seed = 50, .trials = 1 << 16});
  const double label_variance = law.noise_variance + law.input_variance * law.task_variance * 4;
  const double mean_of_labels = label_variance * (1 + scale.label_value * scale.label_value / 7);
  CHECK(statistics::agree(mean_of_labels, uniform).within(5));
  CHECK_FALSE(statistics::agree(1.02 * mean_of_labels, uniform).within(5));
}

TEST_CASE("reduced softmax: bad input is refused by name and value") {
  const auto message = [](auto call) { return testing::message_of(call); };
  const simulate::Options options{.trials = 10};
  const auto run = [&](const auto& map, std::int64_t context_length = 5) {
    return reduced_softmax_error(label_attention(), centered_task(), context_length, map, options);
  };
  CHECK(testing::names(message([&] { run(Softmax{0.0}); }), "reduced_softmax_error", "maps", "value = 0;"));
  CHECK_THROWS_AS(run(Softmax{-1.0}), std::invalid_argument);
  CHECK_THROWS_AS(run(Softmax{std::nan("")}), std::invalid_argument);
  CHECK_THROWS_AS(run(Softmax{1e-30}), std::domain_error);
  CHECK_THROWS_AS(run(SSA{-1.0}), std::invalid_argument);
  CHECK_THROWS_AS(run(SSMax{std::nan("")}), std::invalid_argument);
  CHECK_THROWS_AS(run(std::vector<Softmax>{}), std::invalid_argument);
  CHECK(testing::names(message([&] { run(Softmax{1.0}, 1); }), "context_length", "value = 1;"));
  CHECK(testing::names(
      message([&] { reduced_softmax_error(label_attention(), testing::general_task(), 5, Softmax{1.0}, options); }),
      "input_mean"));
  CHECK(testing::names(
      message([&] { reduced_softmax_error(testing::general_attention(), centered_task(), 5, Softmax{1.0}, options); }),
      "input_value"));
  CHECK_THROWS_AS(reduced_softmax_error(testing::plain_attention(4), centered_task(), 5, Softmax{1.0}, options),
                  std::invalid_argument);
  CHECK_THROWS_AS(reduced_softmax_error(label_attention(), centered_task(), 5, Softmax{1.0}, {.trials = 0}),
                  std::invalid_argument);
}

}  // namespace reduced_softmax_test
