#include "incontext/regression/softmax_error.hpp"

#include <Eigen/QR>
#include <cmath>

#include "incontext/laws/row_moments.hpp"
#include "incontext/regression/softmax_error_any_map.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/regression/softmax_second_order.hpp"
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

/// E[error | query] as it is written with the row moments, over a grid of queries: two dimensions.
template <class Map>
double over_queries(const Model& model, std::int64_t l, const Map& map) {
  const Matrix<double>& s = model.task.input_covariance();
  const Matrix<double> r = model.task.task_second_moment(), root = s.llt().matrixL();
  const double v = model.attention.label_value, noise = model.task.noise_variance();
  const double step = 0.4;
  double total = 0, mass = 0;
  for (int i = -20; i <= 20; ++i) {
    for (int j = 0; j <= 20; ++j) {  // x and -x alike; half a step aside, so that no query is 0
      const Vector<double> e = step * Vector<double>{{i + 0.5, j + 0.5}};
      const double weight = std::exp(-e.squaredNorm() / 2);
      mass += weight;
      if (weight < 1e-15) continue;
      const Vector<double> x = root * e, k = model.attention.key_query * x, sk = s * k;
      const double q = k.dot(sk);
      const auto row = laws::row_moments(map, l, q);
      total +=
          weight *
          (noise * (1 + v * v * row.ipr) + x.dot(r * x) - 2 * v * row.mean_score / q * x.dot(r * sk) +
           v * v * (row.mean_square_score / q / q * sk.dot(r * sk) + row.ipr * ((r * s).trace() - sk.dot(r * sk) / q)));
    }
  }
  return total / mass;
}

}  // namespace

TEST_CASE("isotropic parameters give the isotropic error, also turned about") {
  const Eigen::Index d = GENERATE(1, 2, 5, 60, 400);
  const double temperature = GENERATE(0.05, 2.0, 50.0);
  const IsotropicTask<double> law{.dimension = d, .input_variance = 1.25, .task_variance = 0.5, .noise_variance = 0.1};
  const auto task = LinearTask<double>::isotropic(law);
  const Attention<double> attention{0.75 * Matrix<double>::Identity(d, d), Vector<double>::Zero(d), 0.9};
  const auto check = [&](const auto& map, std::int64_t l) {
    const double exact = softmax_error_isotropic({0.75, 0.9}, law, l, map).value;
    CHECK(std::abs(softmax_error(attention, task, l, map).value / exact - 1) < 1e-11);
  };
  check(Softmax<double>{temperature}, 2);
  check(Softmax<double>{temperature}, 1000);
  check(SSA<double>{1.0, 2.0, temperature}, 20);
}

TEST_CASE("two dimensions, by the average over the query as it is written") {
  const std::int64_t l = GENERATE(3, 200);
  const Model model = label_model(202, 2);
  const Softmax<double> softmax{3.0};
  const double theory = softmax_error(model.attention, model.task, l, softmax).value;
  CHECK(std::abs(theory / over_queries(model, l, softmax) - 1) < 1e-10);
  const SSMax<double> opposed{-0.1, 0.02};
  CHECK(std::abs(softmax_error(model.attention, model.task, l, opposed).value / over_queries(model, l, opposed) - 1) <
        1e-10);
  // of rank one: the scores depend on one direction of the query only
  Model blind = model;
  blind.attention.key_query = Vector<double>{{1.0, -0.5}} * Vector<double>{{0.3, 1.0}}.transpose();
  CHECK(std::abs(softmax_error(blind.attention, blind.task, l, softmax).value / over_queries(blind, l, softmax) - 1) <
        1e-10);
  // Power: the transposed matrix.
  Model turned = model;
  turned.attention.key_query.transposeInPlace();
  CHECK(std::abs(softmax_error(turned.attention, turned.task, l, softmax).value / theory - 1) > 1e-4);
}

TEST_CASE("attention run as written errs as the closed form says, whatever the covariances") {
  const Eigen::Index d = 3;
  const Model model = label_model(static_cast<std::uint64_t>(200 + d), d);
  const auto check = [&](const auto& map, std::int64_t l, std::uint64_t seed) {
    const SampleMean measured = LiteralAttention{model.attention, model.task}.error(map, l, 200'000, seed);
    const auto z = [&](const Model& other, std::int64_t length) {
      return std::abs(measured.z(softmax_error(other.attention, other.task, length, map).value));
    };
    CHECK(z(model, l) <= 5.0);
    // Power: one example less; the mean of the task left out; a scalar in place of the input covariance.
    CHECK(z(model, l - 1) > 5.0);
    CHECK(z({model.attention, model.task.with_task_mean(Vector<double>::Zero(d))}, l) > 5.0);
    const double scale = model.task.input_covariance().trace() / 3.0;
    CHECK(z({model.attention, model.task.with_input_covariance(scale * Matrix<double>::Identity(d, d))}, l) > 5.0);
  };
  check(Softmax<double>{1.5}, 5, 11);
  check(SSMax<double>{0.3}, 6, 12);
  check(SSA<double>{0.5, 2.0}, 5, 13);
}

TEST_CASE("what the second order leaves out falls as 1 / l^2") {
  const Eigen::Index d = GENERATE(1, 2, 5);
  const auto model = label_model(static_cast<std::uint64_t>(200 + d), d);
  const auto& [attention, task] = model;
  const double temperature = 4.0 * second_order_lowest_temperature(attention, task);
  const double limit = softmax_error_second_order(attention, task, temperature, 1'000'000'000'000'000);
  const auto off = [&, a = attention, t = task](std::int64_t l, double factor) {
    const double second = softmax_error_second_order(a, t, temperature, l);
    const double exact = softmax_error(a, t, l, scoring::Softmax<double>{temperature}).value;
    return std::abs(limit + factor * (second - limit) - exact) * static_cast<double>(l) * static_cast<double>(l);
  };
  CHECK(std::abs(off(20'000, 1.0) / off(2'000, 1.0) - 1) < 0.03);
  // Power: an error of a thousandth of the term of order 1 / l is detected.
  CHECK(off(20'000, 1.001) > 5 * off(2'000, 1.001));
  CHECK(off(20'000, 0.999) > 5 * off(2'000, 0.999));
}

TEST_CASE("variances of any ratio: coordinates may be turned, and what no score reads costs what it costs") {
  const Eigen::Index d = 5;
  RegressionCases cases(210);
  Matrix<double> covariance = Matrix<double>::Zero(d, d);
  covariance.diagonal() << 1e-6, 1e-3, 0.1, 1.0, 30.0;
  const Matrix<double> m = Matrix<double>::Identity(d, d) + 0.25 * cases.matrix(d, d);
  const Matrix<double> turn = Eigen::HouseholderQR<Matrix<double>>(cases.matrix(d, d)).householderQ();
  const auto error = [&](const Matrix<double>& q) {
    const LinearTask<double> task({Vector<double>::Zero(d), q * covariance * q.transpose(), Vector<double>::Zero(d),
                                   Matrix<double>::Identity(d, d), 0.1});
    return softmax_error({q * m * q.transpose(), Vector<double>::Zero(d), 0.8}, task, 25, Softmax<double>{20.0});
  };
  const auto straight = error(Matrix<double>::Identity(d, d));
  CHECK(straight.error_estimate < 1e-8 * straight.value);
  CHECK(std::abs(error(turn).value / straight.value - 1) < 1e-10);

  const auto task = LinearTask<double>::isotropic({.dimension = 4, .noise_variance = 0.5});
  const double silent =
      softmax_error<double>({Matrix<double>::Zero(4, 4), Vector<double>::Zero(4), 2.0}, task, 8, Softmax<double>{1.0})
          .value;
  CHECK(std::abs(silent - 4.5 * (1 + 4.0 / 8)) < 1e-12);
}

TEST_CASE("the error estimate includes the errors of the rows") {
  const Model model = label_model(202, 2);
  const auto check = [&](const auto& map, std::int64_t l) {
    const auto error = softmax_error(model.attention, model.task, l, map);
    double mean = 0;  // of the rows' own estimates over the variances of the scores that queries see
    for (int i = 0; i < 24; ++i) mean += laws::row_moments(map, l, std::exp(0.25 * i - 4)).error_estimate / 24;
    INFO("l " << l << ", estimate " << error.error_estimate / error.value << ", rows' " << mean);
    CHECK(error.error_estimate >= 0.02 * mean * error.value);
    CHECK(error.error_estimate <= 1e-9 * error.value);
    CHECK(mean > 1e-14);
  };
  for (const std::int64_t l : {2, 10, 1000}) check(SSA<double>{1.0, 1.0}, l);
}

TEST_CASE("softmax_error takes a map that is chosen at run time, if it is softmax of an elementwise one") {
  const Model model = label_model(202, 2);
  const auto by_name = [&](const char* name) {
    return softmax_error(model.attention, model.task, 10, maps::find_map<double>(name)).value;
  };
  CHECK(by_name("softmax") == softmax_error(model.attention, model.task, 10, Softmax<double>{}).value);
  CHECK(by_name("ssa") == softmax_error(model.attention, model.task, 10, SSA<double>{}).value);
  CHECK(by_name("ssmax") != by_name("softmax"));
  CHECK(refuses<maps::MapTypeError>([&] { by_name("entmax"); }, {"value = Entmax", "needs Softmax, SSMax, SSA)"}));
}

TEST_CASE("softmax_error refuses what it cannot mean, and says which value") {
  const Model model = label_model(202, 2);
  const Softmax<double> map{1.0};
  CHECK_THROWS_AS(softmax_error(model.attention, model.task, 1, map), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { softmax_error(model.attention, model.task, 1, map); },
                                  {"context_length", "value = 1"}));
  const auto shifted = model.task.with_input_mean(Vector<double>{{0.0, 2.0}});
  CHECK(refuses<std::logic_error>(
      [&] {
        softmax_error(model.attention, shifted, 5, SSA<double>{1.0, 2.0});
      },
      {"input_mean(1, 0)", "value = 2"}));
  auto wide = model.attention;
  wide.key_query = Matrix<double>::Identity(3, 3);
  CHECK(refuses<std::logic_error>([&] { softmax_error(wide, model.task, 5, map); }, {"key_query", "3 x 3"}));
  CHECK(refuses<std::logic_error>([&] { softmax_error(model.attention, model.task, 5, Softmax<double>{0.0}); },
                                  {"temperature is not positive", "value = 0;"}));
}
