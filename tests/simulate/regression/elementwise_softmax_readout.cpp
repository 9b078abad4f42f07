#include "incontext/simulate/regression/elementwise_softmax_readout.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "incontext/scoring/softmax_of.hpp"
#include "incontext/simulate/regression/regression_trial.hpp"
#include "incontext/simulate/regression/score_exponent.hpp"
#include "simulate/regression/models.hpp"
#include "simulate/stream_normals.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/worst.hpp"

// One trial at a time against attention written with whole matrices, fed with the same normals: the weights come from
// the map's own `weights`, on the raw scores, whose mean over the inputs is not 0.
namespace elementwise_softmax_readout_test {

namespace {

using namespace incontext;
using random::RegressionStream;
using regression::QueryToken;
using Vector = regression::Vector<double>;
using Matrix = regression::Matrix<double>;
template <class T>
using Memory = std::vector<T>;

constexpr std::uint64_t seed = 2026;
constexpr std::int64_t context_length = 9;

std::int64_t tokens_of(QueryToken query) { return context_length + (query == QueryToken::included ? 1 : 0); }

template <class T, int W, class Map>
std::vector<T> simulated(std::uint64_t first_trial, const std::vector<Map>& maps, QueryToken query) {
  const simulate::RegressionModelStorage<T, Memory> storage(testing::general_attention(), testing::general_task(),
                                                            context_length);
  const auto exponents = simulate::detail::score_exponents<T>("test", maps, tokens_of(query));
  using Readout = simulate::ElementwiseSoftmaxReadout<T, simulate::detail::ScoreExponent<T, Map>>;
  const simulate::RegressionErrorTrial<T, simulate::GaussianTokens<T>, Readout> trial{
      storage.model(), {}, {{exponents.data(), static_cast<int>(exponents.size())}}, query};
  std::vector<T> scratch(static_cast<std::size_t>(trial.scratch_rows() * W));
  std::vector<T> values(static_cast<std::size_t>(trial.outputs() * W));
  trial.template run<W>({seed, first_trial}, {scratch.data(), W}, {values.data(), W});
  return values;
}

/// `shift` is added to every score before the map reads it.
template <class T, class Map>
double written_out(std::uint64_t trial, const Map& map, QueryToken query, double shift = 0) {
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  const Eigen::Index d = task.dimension();
  const double noise = std::sqrt(task.noise_variance());
  const Vector w =
      testing::gaussian<T>(seed, trial, RegressionStream::task, 0, task.task_mean(), task.task_covariance());
  const Vector asked =
      testing::gaussian<T>(seed, trial, RegressionStream::query, 0, task.input_mean(), task.input_covariance());
  std::vector<double> scores, values;
  for (std::int64_t j = 0; j < context_length; ++j) {
    const Vector x =
        testing::gaussian<T>(seed, trial, RegressionStream::inputs, j * d, task.input_mean(), task.input_covariance());
    const double label = w.dot(x) + noise * testing::normal<T>(seed, trial, RegressionStream::noise, j);
    scores.push_back(x.dot(attention.key_query * asked) + shift);
    values.push_back(attention.input_value.dot(x) + attention.label_value * label);
  }
  if (query == QueryToken::included) {
    scores.push_back(asked.dot(attention.key_query * asked) + shift);
    values.push_back(attention.input_value.dot(asked));
  }
  std::vector<double> a(scores.size());
  scoring::weights(map, scoring::Row<const double>(scores), scoring::Row<double>(a));
  double prediction = 0;
  for (std::size_t j = 0; j < a.size(); ++j) prediction += a[j] * values[j];
  const double label = w.dot(asked) + noise * testing::normal<T>(seed, trial, RegressionStream::query_noise, 0);
  return (prediction - label) * (prediction - label);
}

template <class T, class Map>
double largest_deviation(const std::vector<Map>& maps, double shift = 0) {
  testing::Worst largest;
  for (const auto query : {QueryToken::excluded, QueryToken::included}) {
    for (std::uint64_t trial = 0; trial < 128; ++trial) {
      const std::vector<T> found = simulated<T, 1>(trial, maps, query);
      for (std::size_t i = 0; i < maps.size(); ++i) {
        const double expected = written_out<T>(trial, maps[i], query, shift);
        largest.add(std::abs(static_cast<double>(found[i]) - expected) / (1 + expected), "trial ", trial, ", i ", i);
      }
    }
  }
  return largest;
}

const std::vector<foreign::Asinh<double>> asinh{foreign::Asinh<double>(1.5), foreign::Asinh<double>(0.25)};
const std::vector<scoring::SSA<double>> ssa{{1.0, 1.5, 1.0}, {0.5, 4.0, 2.0}};
const std::vector<scoring::SSMax<double>> ssmax{{0.5}, {-0.3}, {0.25, 0.5}};

}  // namespace

TEST_CASE("a literal trial of any softmax-like map is the matrix form with the map's own weights") {
  CHECK(largest_deviation<double>(asinh) <= 1e-12);
  CHECK(largest_deviation<double>(ssa) <= 1e-12);
  CHECK(largest_deviation<double>(ssmax) <= 1e-12);
  CHECK(largest_deviation<float>(asinh) <= 3e-5);
  CHECK(largest_deviation<float>(ssa) <= 3e-5);
  CHECK(largest_deviation<float>(ssmax) <= 3e-5);
}

TEST_CASE("the comparison detects scores without their mean, unless phi is linear") {
  CHECK(largest_deviation<double>(asinh, 0.25) > 1e-3);
  CHECK(largest_deviation<double>(ssa, 0.25) > 1e-3);
  CHECK(largest_deviation<double>(ssmax, 0.25) <= 1e-12);
}

TEMPLATE_TEST_CASE("a trial of a softmax-like map has the same bits for every number of lanes", "", float, double) {
  using T = TestType;
  const auto check = [](const auto& maps) {
    const auto side_by_side = simulated<T, 64>(1000, maps, QueryToken::included);
    for (std::uint64_t lane = 0; lane < 64; ++lane) {
      const auto alone = simulated<T, 1>(1000 + lane, maps, QueryToken::included);
      for (std::size_t i = 0; i < maps.size(); ++i) CHECK(alone[i] == side_by_side[i * 64 + lane]);
    }
  };
  check(asinh);
  check(ssa);
  check(ssmax);
}

}  // namespace elementwise_softmax_readout_test
