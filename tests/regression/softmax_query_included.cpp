// True softmax with the query among its own keys, label 0: attention run as written, rows of two scores by their own
// integral, and what the covariances may be.

#include <cmath>

#include "incontext/laws/standard_row.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "regression/regression_cases.hpp"
#include "regression/softmax_attention.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext;
using namespace incontext::regression;
using namespace incontext::testing;
using scoring::Softmax;
using scoring::SSA;
using scoring::SSMax;

namespace {

/// Any covariances, and scores that see white inputs.
Model whitening_model(std::uint64_t seed, Eigen::Index d, double gain) {
  Model model = label_model(seed, d);
  model.attention.key_query = gain * model.task.input_covariance().inverse();
  return model;
}

}  // namespace

TEST_CASE("a row of two scores and a needle, by the integral over both scores") {
  const double stddev = GENERATE(0.3, 2.0, 40.0), needle = GENERATE(-30.0, 0.5, 25.0);
  const laws::StandardRows rows("test", Softmax<double>{1.0}.elementwise(2), 2.0);
  const auto row = rows.with_needle(stddev, needle);
  double mass = 0, ipr = 0, mean = 0, square = 0;
  const double step = 0.02;
  for (double a = -13; a < 13; a += step) {
    for (double b = -13; b < 13; b += step) {
      const double top = std::max({stddev * a, stddev * b, needle});
      const double first = std::exp(stddev * a - top), second = std::exp(stddev * b - top);
      const double total = first + second + std::exp(needle - top), density = std::exp(-(a * a + b * b) / 2);
      const double p = first / total, q = second / total, score = p * a + q * b;
      mass += density;
      ipr += density * (p * p + q * q);
      mean += density * score;
      square += density * score * score;
    }
  }
  INFO("stddev " << stddev << ", needle " << needle);
  const double fine = stddev > 5 ? 1e-5 : 1e-11;  // of the sum over the grid
  CHECK(std::abs(row.ipr - ipr / mass) < fine);
  CHECK(std::abs(row.mean_score - mean / mass) < fine);
  CHECK(std::abs(row.mean_square_score - square / mass) < fine);
  const auto without = rows.with_needle(stddev, needle + 0.01);  // Power: a needle a hundredth higher
  if (needle < 1 && needle > 0) CHECK(std::abs(without.ipr - row.ipr) > 1e-6);
}

TEST_CASE("attention that sees its own query errs as the closed form says") {
  const auto check = [&](const Model& model, const auto& map, std::int64_t l, std::uint64_t seed) {
    const LiteralAttention literal{model.attention, model.task, QueryToken::included};
    const SampleMean measured = literal.error(map, l, 600'000, seed);
    const auto z = [&](std::int64_t length, QueryToken query) {
      return std::abs(measured.z(softmax_error(model.attention, model.task, length, map, query).value));
    };
    CHECK(z(l, QueryToken::included) <= 5.0);
    CHECK(z(l, QueryToken::excluded) > 5.0);
    CHECK(z(l + 2, QueryToken::included) > 5.0);
  };
  check(whitening_model(402, 2, 0.8), Softmax<double>{1.0}, 4, 31);
  check(whitening_model(403, 3, 2.0), Softmax<double>{3.0}, 6, 32);
  check(whitening_model(403, 3, 0.5), SSMax<double>{0.4}, 6, 33);
  check(whitening_model(402, 2, 0.7), SSA<double>{0.5, 2.0}, 4, 34);
}

TEST_CASE("limits with the query included: no scores, high temperature, negative scores, long contexts") {
  const IsotropicTask<double> law{.dimension = 3, .input_variance = 1.5, .task_variance = 0.4, .noise_variance = 0.2};
  const auto included = [&](double scale, std::int64_t l, double temperature) {
    return softmax_error_isotropic({scale, 0.9}, law, l, Softmax<double>{temperature}, QueryToken::included).value;
  };
  const double labels = 0.2 + 3 * 1.5 * 0.4;
  CHECK(std::abs(included(0, 5, 1) / (labels * (1 + 0.81 * 5 / 36)) - 1) < 1e-13);
  // the approximation, which has the query included too, is the first order in 1 / temperature
  const auto task = LinearTask<double>::isotropic(law);
  const Attention<double> attention{0.7 * Matrix<double>::Identity(3, 3), Vector<double>::Zero(3), 0.9};
  const auto approximate = generalization_error(attention, task, 6, {.query = QueryToken::included});
  CHECK(std::abs(included(0.7, 6, 1e4) - approximate(1e4)) < 1e-3 * std::abs(approximate(1e4) - approximate.constant));
  // a query that repels itself is as good as not there
  const double without = softmax_error_isotropic({-2.0, 0.9}, law, 50, Softmax<double>{0.2}).value;
  CHECK(std::abs(included(-2.0, 50, 0.2) / without - 1) < 0.02);
  const double far = softmax_error_isotropic({0.7, 0.9}, law, 10'000'000, Softmax<double>{1.5}).value;
  CHECK(std::abs(included(0.7, 10'000'000, 1.5) / far - 1) < 1e-3);
}

TEST_CASE("where no single integral does, the query included is refused") {
  const Model model = label_model(404, 3);
  const Softmax<double> map{1.0};
  CHECK(refuses<std::logic_error>([&] { softmax_error(model.attention, model.task, 5, map, QueryToken::included); },
                                  {"key_query", "inverse of input_covariance"}));
  Model valued = whitening_model(404, 3, 1.0);
  valued.attention.input_value(1) = 2.0;
  CHECK(refuses<std::logic_error>([&] { softmax_error(valued.attention, valued.task, 5, map, QueryToken::included); },
                                  {"input_value(1, 0)", "value = 2"}));
}
