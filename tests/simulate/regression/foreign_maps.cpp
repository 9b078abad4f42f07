#include "support/foreign_maps.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "incontext/regression/softmax_error.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/simulate/regression/reduced_softmax_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/simulate/regression/regression_error_on_rows.hpp"
#include "incontext/statistics/agreement.hpp"
#include "models.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

// Simulators either simulate the given map or do not compile for it: maps of a namespace that is not the library's.
namespace foreign_maps_simulate_test {

namespace {

using namespace incontext;
using foreign::Asinh;
using foreign::SinkSoftmax;
using Softmax = scoring::Softmax<double>;

constexpr std::int64_t dimension = 4, context_length = 30;
const regression::LinearTask<double> task = testing::isotropic_task(dimension);
const regression::Attention<double> attention = testing::plain_attention(dimension);
const std::vector<Asinh<double>> maps{Asinh<double>(1.5), Asinh<double>(0.75)};
const simulate::Options options{.seed = 61, .trials = 1 << 16};

template <class Map>
double exact(const Map& map) {
  return regression::softmax_error(attention, task, context_length, map).value;
}

void judge(const simulate::Simulation& simulation) {
  REQUIRE(simulation.estimates.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const double steepness = i == 0 ? 1.5 : 0.75;
    const auto& estimate = simulation.estimates[i];
    CAPTURE(steepness, exact(maps[i]), estimate.mean, estimate.standard_error);
    CHECK(estimate.count == options.trials);
    CHECK(statistics::agree(exact(maps[i]), estimate).within(5));
    // Power: the linearization, which is softmax at phi's slope at 0, and twice the slope must be rejected.
    CHECK_FALSE(statistics::agree(exact(Softmax{1 / steepness}), estimate).within(5));
    CHECK_FALSE(statistics::agree(exact(Asinh<double>(2 * steepness)), estimate).within(5));
  }
}

/// Asinh with a phi that cannot be copied bit by bit to where trials run.
struct WithContainer : foreign::AsinhExponent<double> {
  using foreign::AsinhExponent<double>::AsinhExponent;
  std::vector<double> table;
};
struct Tabulated {
  using value_type = double;
  WithContainer elementwise(std::ptrdiff_t) const { return WithContainer(1.5); }
};
static_assert(scoring::SoftmaxLike<Tabulated>);

// A map that a simulator cannot simulate must not compile, rather than be simulated as another one.
template <class Map>
concept Reduced =
    requires(const Map& map) { simulate::reduced_softmax_error(attention, task, context_length, map, options); };
template <class Map>
concept Literal =
    requires(const Map& map) { simulate::regression_error(attention, task, context_length, map, options); };
template <class Map>
concept OnRows = requires(const std::vector<Map>& grid, const regression::Matrix<double>& rows) {
  simulate::regression_error_on_rows(attention, rows, simulate::RowLabels{}, context_length, grid, options);
};

}  // namespace

TEMPLATE_TEST_CASE("softmax after a foreign elementwise map is simulated by its own phi, reduced", "", float, double) {
  judge(simulate::reduced_softmax_error<TestType>(attention, task, context_length, maps, options));
}

TEMPLATE_TEST_CASE("softmax after a foreign elementwise map is simulated by its own phi, literally", "", float,
                   double) {
  judge(simulate::regression_error<TestType>(attention, task, context_length, maps, options));
}

TEST_CASE("softmax after a foreign elementwise map is simulated by its own phi on the rows of a data set") {
  const regression::Matrix<double> rows{{1, 0.5}, {-1, 2}, {0.5, -1.5}, {3, 1}, {-0.5, 0.25}};
  const simulate::RowLabels labels{.task_mean = regression::Vector<double>{{0.5, -1}},
                                   .task_covariance = regression::Matrix<double>{{0.5, 0.1}, {0.1, 0.25}},
                                   .noise_variance = 0.2};
  const auto layer = testing::plain_attention(2);
  const auto simulation =
      simulate::regression_error_on_rows(layer, rows, labels, 6, std::vector{maps[0]}, {.seed = 62, .trials = 1 << 16});
  // The same with other random numbers, and with the map's own weights on the raw scores.
  const auto by_hand = [&](const auto& map, std::uint64_t seed) {
    std::mt19937_64 engine(seed);
    std::normal_distribution<double> normal;
    std::uniform_int_distribution<Eigen::Index> choose(0, rows.rows() - 1);
    const regression::Matrix<double> factor = labels.task_covariance.llt().matrixL();
    double sum = 0, squares = 0;
    constexpr int trials = 40000;
    for (int t = 0; t < trials; ++t) {
      const regression::Vector<double> w =
          labels.task_mean + factor * regression::Vector<double>{{normal(engine), normal(engine)}};
      const regression::Vector<double> query = rows.row(choose(engine)).transpose();
      std::vector<double> scores, values, a(6);
      for (int j = 0; j < 6; ++j) {
        const regression::Vector<double> x = rows.row(choose(engine)).transpose();
        scores.push_back(x.dot(query));
        values.push_back(w.dot(x) + std::sqrt(0.2) * normal(engine));
      }
      weights(map, scoring::Row<const double>(scores), scoring::Row<double>(a));
      double error = -w.dot(query) - std::sqrt(0.2) * normal(engine);
      for (std::size_t j = 0; j < 6; ++j) error += a[j] * values[j];
      sum += error * error;
      squares += error * error * error * error;
    }
    const double mean = sum / trials;
    return std::pair(mean, std::sqrt((squares / trials - mean * mean) / trials));
  };
  const auto& estimate = simulation.estimates.front();
  const auto z = [&](std::pair<double, double> other) {
    return std::abs(estimate.mean - other.first) / std::hypot(estimate.standard_error, other.second);
  };
  CHECK(z(by_hand(maps[0], 63)) < 5);
  CHECK(z(by_hand(Softmax{1 / 1.5}, 64)) > 5);
}

TEST_CASE("every point of a grid of foreign maps is what it would be alone") {
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const simulate::Options few{.seed = 65, .trials = 3000};
    const auto reduced = simulate::reduced_softmax_error(attention, task, context_length, maps, few).estimates[i];
    CHECK(simulate::reduced_softmax_error(attention, task, context_length, maps[i], few).mean == reduced.mean);
    const auto literal = simulate::regression_error(attention, task, context_length, maps, few).estimates[i];
    CHECK(simulate::regression_error(attention, task, context_length, maps[i], few).mean == literal.mean);
  }
}

TEST_CASE("SSA and SSMax are simulated literally too, the negative one with the query among the tokens") {
  const auto judged = [](const auto& map, const auto& wrong) {
    const auto estimate = simulate::regression_error(attention, task, context_length, map, options);
    CHECK(statistics::agree(exact(map), estimate).within(5));
    CHECK_FALSE(statistics::agree(exact(wrong), estimate).within(5));
  };
  judged(scoring::SSA<double>{1, 2}, scoring::SSA<double>{1, 4});
  judged(scoring::SSMax<double>{0.4}, scoring::SSMax<double>{0.5});
  judged(scoring::SSMax<double>{-0.2}, scoring::SSMax<double>{-0.25});
  // In rows of 31 tokens SSMax is softmax at one over its factor there, to rounding.
  const regression::ErrorConvention included{.query = regression::QueryToken::included};
  const simulate::Options few{.seed = 66, .trials = 2000};
  const auto ssmax =
      simulate::regression_error<double>(attention, task, context_length, scoring::SSMax<double>{0.4}, few, included);
  const auto softmax = simulate::regression_error<double>(attention, task, context_length,
                                                          Softmax{1 / (0.4 * std::log(31.0))}, few, included);
  CHECK(std::abs(ssmax.mean / softmax.mean - 1) < 1e-12);
}

TEST_CASE("a map that a simulator cannot simulate does not compile for it") {
  STATIC_REQUIRE(Reduced<Asinh<double>>);
  STATIC_REQUIRE(Reduced<Softmax>);
  STATIC_REQUIRE_FALSE(Reduced<SinkSoftmax<double>>);
  STATIC_REQUIRE_FALSE(Reduced<Tabulated>);
  STATIC_REQUIRE_FALSE(Reduced<scoring::ApproximateSoftmax<double>>);
  STATIC_REQUIRE_FALSE(Reduced<scoring::LinearAttention<double>>);
  STATIC_REQUIRE_FALSE(Reduced<scoring::Entmax<double>>);

  STATIC_REQUIRE(Literal<Asinh<double>>);
  STATIC_REQUIRE(Literal<scoring::LinearAttention<double>>);
  STATIC_REQUIRE(simulate::StreamedScoring<scoring::SSA<float>>);
  STATIC_REQUIRE_FALSE(Literal<SinkSoftmax<double>>);
  STATIC_REQUIRE_FALSE(Literal<Tabulated>);
  STATIC_REQUIRE_FALSE(Literal<scoring::NormSoftmax<double>>);
  STATIC_REQUIRE_FALSE(Literal<double>);

  STATIC_REQUIRE(OnRows<Asinh<double>>);
  STATIC_REQUIRE_FALSE(OnRows<SinkSoftmax<double>>);
}

TEST_CASE("a foreign map outside its domain, and estimators that do not support softmax, are refused") {
  const Asinh<double> falling(-1);
  const auto message = [](auto call) { return testing::message_of(call); };
  CHECK(testing::names(
      message([&] { simulate::reduced_softmax_error(attention, task, context_length, falling, options); }),
      "reduced_softmax_error", "outside its domain"));
  CHECK(testing::names(message([&] { simulate::regression_error(attention, task, context_length, falling, options); }),
                       "regression_error", "outside its domain"));
  CHECK(testing::names(message([&] {
                         simulate::regression_error(attention, task, context_length, maps[0], options, {},
                                                    simulate::Estimator::conditional);
                       }),
                       "does not support softmax"));
  CHECK(testing::names(message([&] {
                         simulate::regression_error(attention, task, context_length, maps[0], options,
                                                    {.offset = regression::Offset::removed});
                       }),
                       "no offset"));
  CHECK_THROWS_AS(simulate::regression_error(attention, task, context_length, std::vector<Asinh<double>>{}, options),
                  std::invalid_argument);
}

}  // namespace foreign_maps_simulate_test
