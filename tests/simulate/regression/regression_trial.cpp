#include "incontext/simulate/regression/regression_trial.hpp"

#include <Eigen/Cholesky>
#include <cmath>
#include <string>
#include <vector>

#include "incontext/simulate/engine/systems.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/statistics/agreement.hpp"
#include "simulate/regression/models.hpp"
#include "simulate/stream_normals.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/worst.hpp"

namespace regression_trial_test {

// Compares one trial at a time with the paper's matrix form on the same normals, which are read one by one from the
// streams.

namespace {

using namespace incontext;
using random::RegressionStream;
template <class T>
using Memory = std::vector<T>;
using Matrix = regression::Matrix<double>;
using Vector = regression::Vector<double>;

constexpr std::uint64_t seed = 2024;
using testing::gaussian;
using testing::normal;
const std::vector<double> temperatures{0.4, 1.0, 2.5};

enum class Map { approximate, linear, softmax, asinh };

/// The paper's E + V E a(E^T K^T Q E / temperature), last row, last column, by whole matrices without simplification.
double matrix_form(const Matrix& tokens, const regression::Attention<double>& attention, Map map, double temperature,
                   regression::QueryToken query) {
  const Eigen::Index d = tokens.rows() - 1;
  Matrix merged = Matrix::Zero(d + 1, d + 1);
  merged.topLeftCorner(d, d) = attention.key_query;
  Matrix value = Matrix::Zero(d + 1, d + 1);
  value.bottomLeftCorner(1, d) = attention.input_value.transpose();
  value(d, d) = attention.label_value;
  const Vector raw = tokens.transpose() * merged * tokens.col(tokens.cols() - 1);
  const Vector column = map == Map::asinh ? Vector(raw.array().asinh() / temperature) : Vector(raw / temperature);
  const Eigen::Index n = query == regression::QueryToken::included ? tokens.cols() : tokens.cols() - 1;
  const Vector scores = column.head(n);
  Vector weights(n);
  switch (map) {
    case Map::approximate:
      weights = (1.0 + (scores.array() - scores.mean())) / static_cast<double>(n);
      break;
    case Map::linear:
      weights = scores / static_cast<double>(n);
      break;
    case Map::softmax:
    case Map::asinh:
      weights = (scores.array() - scores.maxCoeff()).exp();
      weights /= weights.sum();
      break;
  }
  const Vector attended = value * tokens.leftCols(n) * weights;
  return tokens(d, tokens.cols() - 1) + attended(d);
}

template <class T, class Readout>
struct Fixture {
  const regression::LinearTask<double>& task;
  const regression::Attention<double>& attention;
  std::int64_t context_length;
  regression::QueryToken query;
  std::vector<T> inverse_temperatures;
  simulate::RegressionModelStorage<T, Memory> storage;

  Fixture(const regression::LinearTask<double>& law, const regression::Attention<double>& layer, std::int64_t length,
          regression::QueryToken token)
      : task(law), attention(layer), context_length(length), query(token), storage(layer, law, length) {
    for (const double temperature : temperatures) inverse_temperatures.push_back(static_cast<T>(1 / temperature));
  }

  template <int W>
  std::vector<T> run(std::uint64_t first_trial, Readout readout) const {
    readout.grid = {inverse_temperatures.data(), static_cast<int>(inverse_temperatures.size())};
    const simulate::RegressionErrorTrial<T, simulate::GaussianTokens<T>, Readout> trial{
        storage.model(), {}, readout, query};
    std::vector<T> scratch(static_cast<std::size_t>(trial.scratch_rows() * W));
    std::vector<T> values(static_cast<std::size_t>(trial.outputs() * W));
    trial.template run<W>({seed, first_trial}, {scratch.data(), W}, {values.data(), W});
    return values;
  }

  double by_matrices(std::uint64_t trial, Map map, double temperature, std::uint64_t run_seed = seed) const {
    const Eigen::Index d = task.dimension();
    const Vector w = gaussian<T>(run_seed, trial, RegressionStream::task, 0, task.task_mean(), task.task_covariance());
    Matrix tokens = Matrix::Zero(d + 1, context_length + 1);
    const double noise = std::sqrt(task.noise_variance());
    for (Eigen::Index j = 0; j < context_length; ++j) {
      tokens.col(j).head(d) =
          gaussian<T>(run_seed, trial, RegressionStream::inputs, j * d, task.input_mean(), task.input_covariance());
      tokens(d, j) = w.dot(tokens.col(j).head(d)) + noise * normal<T>(run_seed, trial, RegressionStream::noise, j);
    }
    const Vector query_input =
        gaussian<T>(run_seed, trial, RegressionStream::query, 0, task.input_mean(), task.input_covariance());
    tokens.col(context_length).head(d) = query_input;
    const double label = w.dot(query_input) + noise * normal<T>(run_seed, trial, RegressionStream::query_noise, 0);
    const double error = matrix_form(tokens, attention, map, temperature, query) - label;
    return error * error;
  }
};

/// The largest deviation of a trial from the matrix form, and the relative deviation of the means, over 256 trials.
template <class T, class Readout>
std::pair<double, double> deviations(const regression::LinearTask<double>& task,
                                     const regression::Attention<double>& attention, std::int64_t context_length,
                                     regression::QueryToken query, Map map, const Readout& readout) {
  const Fixture<T, Readout> fixture(task, attention, context_length, query);
  testing::Worst largest;
  testing::Worst worst_bias;
  for (std::size_t point = 0; point < temperatures.size(); ++point) {
    double difference_sum = 0;
    double error_sum = 0;
    for (std::uint64_t trial = 0; trial < 256; ++trial) {
      const double expected = fixture.by_matrices(trial, map, temperatures[point]);
      const double difference = static_cast<double>(fixture.template run<1>(trial, readout)[point]) - expected;
      difference_sum += difference;
      error_sum += expected;
      largest.add(std::abs(difference) / (1 + expected), "point ", point, ", trial ", trial);
    }
    worst_bias.add(std::abs(difference_sum) / error_sum, "point ", point);
  }
  return {largest, worst_bias};
}

template <class T>
void check_all(const regression::LinearTask<double>& task, const regression::Attention<double>& attention,
               std::int64_t context_length, double tolerance) {
  for (const auto query : {regression::QueryToken::excluded, regression::QueryToken::included}) {
    CAPTURE(context_length, task.dimension(), query == regression::QueryToken::included);
    const auto approximate = deviations<T>(task, attention, context_length, query, Map::approximate,
                                           simulate::ApproximateSoftmaxReadout<T>{});
    CHECK(approximate.first <= tolerance);
    const auto linear =
        deviations<T>(task, attention, context_length, query, Map::linear, simulate::LinearAttentionReadout<T>{});
    CHECK(linear.first <= tolerance);
    const auto softmax =
        deviations<T>(task, attention, context_length, query, Map::softmax, simulate::SoftmaxReadout<T>{});
    CHECK(softmax.first <= tolerance);
    if (sizeof(T) == 4) {
      CHECK(approximate.second <= 1e-6);
      CHECK(linear.second <= 1e-6);
      CHECK(softmax.second <= 1e-6);
    }
  }
}

}  // namespace

TEST_CASE("a literal trial in double is the matrix form of the model") {
  for (const std::int64_t context_length : {2, 3, 8, 13}) {
    check_all<double>(testing::general_task(), testing::general_attention(), context_length, 1e-12);
  }
  for (const std::int64_t dimension : {1, 2, 5}) {
    check_all<double>(testing::isotropic_task(dimension), testing::plain_attention(dimension), 7, 1e-12);
  }
}

TEST_CASE("a literal trial in float is the matrix form to single precision, with no bias to speak of") {
  for (const std::int64_t context_length : {2, 5, 41}) {
    check_all<float>(testing::general_task(), testing::general_attention(), context_length, 2e-5);
  }
}

TEST_CASE("the comparison with the matrix form sees a wrong map") {
  const auto wrong =
      deviations<double>(testing::general_task(), testing::general_attention(), 8, regression::QueryToken::excluded,
                         Map::softmax, simulate::ApproximateSoftmaxReadout<double>{});
  CHECK(wrong.first > 1e-3);
  const auto wrong_tokens = deviations<double>(
      testing::general_task(), testing::general_attention(), 8, regression::QueryToken::included, Map::approximate,
      simulate::ApproximateSoftmaxReadout<double>{{}, regression::Offset::removed});
  CHECK(wrong_tokens.first > 1e-3);
}

TEMPLATE_TEST_CASE("the number of lanes does not change a trial", "", float, double) {
  using T = TestType;
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  const auto check = [&](auto readout) {
    const Fixture<T, decltype(readout)> fixture(task, attention, 11, regression::QueryToken::included);
    const std::uint64_t first = std::uint64_t{1} << 32;
    const auto side_by_side = fixture.template run<64>(first, readout);
    for (std::uint64_t lane = 0; lane < 64; ++lane) {
      const auto alone = fixture.template run<1>(first + lane, readout);
      for (std::size_t point = 0; point < temperatures.size(); ++point) {
        CHECK(alone[point] == side_by_side[point * 64 + lane]);
      }
    }
  };
  check(simulate::ApproximateSoftmaxReadout<T>{});
  check(simulate::LinearAttentionReadout<T>{});
  check(simulate::SoftmaxReadout<T>{});
}

namespace {

/// A law and a layer at which single precision is tested, and the share of the bound that its error must reach at one
/// of the temperatures and seeds, so that a far too large bound fails.
struct RoundingCase {
  std::string name;
  regression::LinearTask<double> task;
  regression::Attention<double> attention;
  std::int64_t context_length;
  std::vector<double> temperatures;
  double least_share = 0.005;
};

std::vector<RoundingCase> rounding_cases() {
  const auto plain = [](std::int64_t d) { return testing::isotropic_task(d); };
  const auto shifted = [&](std::int64_t d, double length) {
    return plain(d).with_input_mean(Vector::Constant(d, length / std::sqrt(static_cast<double>(d))));
  };
  const auto layer = [](std::int64_t d) { return testing::plain_attention(d); };
  return {{"nothing special", testing::general_task(), testing::general_attention(), 12, {0.4, 1, 2.5}},
          {"one dimension", plain(1), layer(1), 5, {0.5, 2}},
          {"many dimensions", plain(30), layer(30), 40, {0.5, 2, 50}},
          {"a mean of 1e3", shifted(3, 1e3), layer(3), 20, {1, 1e3, 1e6}},
          {"a mean of 1e6", shifted(3, 1e6), layer(3), 20, {1, 1e6, 1e12}},
          {"a mean of 1e8", shifted(3, 1e8), layer(3), 20, {1, 1e8, 1e16}},
          {"noise of 1e7", plain(4).with_noise_variance(1e7), layer(4), 30, {0.5, 5, 8e5}},
          {"tiny inputs", plain(4).with_input_covariance_scaled(1e-7), layer(4), 30, {1e-7, 1}},
          {"no noise, long context", plain(2).with_noise_variance(0), layer(2), 2000, {1.5, 3}},
          {"cold", plain(5), layer(5), 20, {1e-6, 1e-3}, 1e-5}};
}

template <class Scoring>
void check_rounding(const RoundingCase& at, Map kind, const std::vector<Scoring>& maps) {
  constexpr std::int64_t trials = 256;
  const Fixture<float, simulate::SoftmaxReadout<float>> fixture(at.task, at.attention, at.context_length,
                                                                regression::QueryToken::excluded);
  testing::Worst largest_share;
  for (const std::uint64_t run_seed : {seed, seed + 1, seed + 2}) {
    const auto run = simulate::regression_error<float>(at.attention, at.task, at.context_length, maps,
                                                       {.seed = run_seed, .trials = trials});
    for (std::size_t point = 0; point < at.temperatures.size(); ++point) {
      CAPTURE(at.name, at.temperatures[point], static_cast<int>(kind), run_seed);
      double exact = 0;
      for (std::uint64_t trial = 0; trial < trials; ++trial) {
        exact += fixture.by_matrices(trial, kind, at.temperatures[point], run_seed) / trials;
      }
      const statistics::Estimate& estimate = run.estimates[point];
      if (estimate.non_finite > 0) continue;  // squares beyond single precision: not judged
      CAPTURE(exact, estimate.mean, estimate.rounding, estimate.standard_error);
      CHECK(std::abs(estimate.mean - exact) <= estimate.rounding);
      CHECK(agree(exact, estimate).verdict(0) != statistics::Verdict::disagrees);
      // a theory that is wrong by more than this is still rejected, whatever the standard error
      CHECK(agree(exact + 3 * estimate.rounding + 6 * estimate.standard_error, estimate).verdict(5) ==
            statistics::Verdict::disagrees);
      largest_share.add(std::abs(estimate.mean - exact) / estimate.rounding, "point ", point);
    }
  }
  CAPTURE(at.name, static_cast<int>(kind));
  // The bound takes asinh's slope at 0, where it is steepest, for all scores.
  CHECK(largest_share >= (kind == Map::asinh ? at.least_share / 2 : at.least_share));
}

}  // namespace

TEST_CASE("the rounding of a simulated error bounds its error in single precision, also under cancellation") {
  for (const RoundingCase& at : rounding_cases()) {
    using simulate::at_temperatures;
    check_rounding(at, Map::approximate, at_temperatures(at.temperatures, scoring::ApproximateSoftmax<double>{}));
    check_rounding(at, Map::linear, at_temperatures(at.temperatures, scoring::LinearAttention<double>{}));
    check_rounding(at, Map::softmax, at_temperatures(at.temperatures, scoring::Softmax<double>{}));
    std::vector<foreign::Asinh<double>> by_asinh;
    for (const double temperature : at.temperatures) by_asinh.emplace_back(1 / temperature);
    check_rounding(at, Map::asinh, by_asinh);
  }
}

TEST_CASE("ordinary estimates have a standard error far above their rounding, in single precision and in double") {
  const auto task = testing::isotropic_task(20);
  const auto attention = testing::plain_attention(20);
  const auto at = [&]<class T>(T) {
    return simulate::regression_error<T>(attention, task, 100, scoring::ApproximateSoftmax{2.0},
                                         {.seed = seed, .trials = 4096});
  };
  const statistics::Estimate single = at(float{}), full = at(double{});
  CHECK(single.rounding > 0);
  CHECK(single.rounding < 1e-3 * single.standard_error);
  CHECK(full.rounding > 0);
  CHECK(full.rounding < 1e-7 * single.rounding);
}

TEST_CASE("a single-precision trial of a very long context loses no digits to its sums") {
  const auto task = testing::isotropic_task(2);
  const auto attention = testing::plain_attention(2);
  const Fixture<float, simulate::ApproximateSoftmaxReadout<float>> fixture(task, attention, 200000,
                                                                           regression::QueryToken::excluded);
  const auto values = fixture.run<1>(3, {});
  for (std::size_t point = 0; point < temperatures.size(); ++point) {
    const double expected = fixture.by_matrices(3, Map::approximate, temperatures[point]);
    CHECK(std::abs(static_cast<double>(values[point]) - expected) <= 1e-5 * (1 + expected));
  }
}

}  // namespace regression_trial_test
