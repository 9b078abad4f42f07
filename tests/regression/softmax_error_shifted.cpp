// True softmax on inputs with a mean and with values of the inputs: the average over the query by the definition, on a
// grid of queries, and attention run as written.

#include <cmath>

#include "incontext/laws/row_moments.hpp"
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
using scoring::SSMax;

namespace {

/// Inputs and tasks with means, values of inputs, nothing symmetric.
Model shifted_model(std::uint64_t seed, Eigen::Index d) {
  RegressionCases cases(seed);
  const auto task = cases.task(d);
  return {cases.attention(d), task};
}

/// E[error | query] averaged over the task and the context, before any average over the query, on a grid of white
/// queries about their mean: two dimensions.
template <class Map>
double over_shifted_queries(const Model& model, std::int64_t l, const Map& map, double step = 0.4) {
  const Attention<double>& attention = model.attention;
  const LinearTask<double>& task = model.task;
  const Matrix<double>&s = task.input_covariance(), &w = task.task_covariance();
  const Matrix<double> root = s.llt().matrixL();
  const Vector<double>&mu = task.input_mean(), &task_mean = task.task_mean();
  const double v = attention.label_value, noise = task.noise_variance();
  double total = 0, mass = 0;
  const int half = static_cast<int>(8.2 / step);
  for (int i = -half; i <= half; ++i) {
    for (int j = -half; j <= half; ++j) {
      const Vector<double> e = step * Vector<double>{{i + 0.5, j + 0.5}};
      const double weight = std::exp(-e.squaredNorm() / 2);
      mass += weight;
      if (weight < 1e-15) continue;
      const Vector<double> x = mu + root * e, k = attention.key_query * x, sk = s * k;
      const double q = k.dot(sk);
      const auto row = laws::row_moments(map, l, q);
      // p . t, t = mu + r h + o with r = sum p g: about mu it is r h, with E r and E r^2 of the row, and o across h
      const auto square = [&](const Vector<double>& of_task, double constant) {
        return of_task.dot(w * of_task) + std::pow(of_task.dot(task_mean) + constant, 2);
      };
      const auto missed = [&](double score) {  // E_w (w . x - p . (mu + score h))^2
        const Vector<double> read = mu + score / std::sqrt(q) * sk;
        return square(x - v * read, -attention.input_value.dot(read));
      };
      const double first = row.mean_score / std::sqrt(q), second = row.mean_square_score / q;
      const double at_zero = missed(0), up = missed(1), down = missed(-1);  // a parabola in r
      const double slope = (up - down) / 2, curvature = (up + down) / 2 - at_zero;
      const Vector<double> p = attention.input_value + v * task_mean;
      const double spread = p.dot(s * p) + v * v * (s * w).trace();  // E_w p^T S p
      total += weight * (noise * (1 + v * v * row.ipr) + at_zero + slope * first + curvature * second +
                         row.ipr * (spread - curvature));
    }
  }
  return total / mass;
}

}  // namespace

TEST_CASE("inputs with a mean and values of inputs, by the average over the query as it is written") {
  const std::int64_t l = GENERATE(3, 200);
  const Model model = shifted_model(302, 2);
  const auto off = [&](const Model& one, const auto& map) {
    return std::abs(softmax_error(one.attention, one.task, l, map).value / over_shifted_queries(one, l, map) - 1);
  };
  CHECK(off(model, Softmax<double>{3.0}) < 1e-10);
  CHECK(off(model, SSMax<double>{-0.1, 0.02}) < 1e-10);
  Model blind = model;
  blind.attention.key_query = Vector<double>{{1.0, -0.5}} * Vector<double>{{0.3, 1.0}}.transpose();
  CHECK(off(blind, Softmax<double>{3.0}) < 1e-10);
  // A mean that is far out in units of the inputs' own deviation, along each axis of unequal variances.
  for (const double ratio : {1.0, 1e-2, 1e-4}) {
    for (const auto& mean : {Vector<double>{{12.0, 0.0}}, Vector<double>{{0.0, 12.0 * std::sqrt(ratio)}},
                             Vector<double>{{3.0, 40.0 * std::sqrt(ratio)}}}) {
      Matrix<double> covariance = Matrix<double>::Identity(2, 2);
      covariance(1, 1) = ratio;
      Model far = model;
      far.attention.key_query = Matrix<double>::Identity(2, 2);
      far.task = model.task.with_input_covariance(covariance).with_input_mean(mean);
      INFO("ratio " << ratio << ", mean " << mean.transpose());
      CHECK(std::abs(softmax_error(far.attention, far.task, l, Softmax<double>{3.0}).value /
                         over_shifted_queries(far, l, Softmax<double>{3.0}, 0.25) -
                     1) < 1e-10);
    }
  }
  // Power: without the mean in the values, and with the mean of the tasks turned.
  Model unread = model;
  unread.attention.input_value.setZero();
  Model turned = model;
  turned.task = model.task.with_task_mean(-model.task.task_mean());
  const double theory = softmax_error(model.attention, model.task, l, Softmax<double>{3.0}).value;
  for (const Model& other : {unread, turned}) {
    CHECK(std::abs(theory / softmax_error(other.attention, other.task, l, Softmax<double>{3.0}).value - 1) > 1e-4);
  }
}

TEST_CASE("attention run as written errs as the closed form says, whatever the means") {
  const Model model = shifted_model(304, 3);
  const auto check = [&](const auto& map, std::int64_t l, std::uint64_t seed) {
    const SampleMean measured = LiteralAttention{model.attention, model.task}.error(map, l, 400'000, seed);
    const auto z = [&](const Model& other, std::int64_t length) {
      return std::abs(measured.z(softmax_error(other.attention, other.task, length, map).value));
    };
    CHECK(z(model, l) <= 5.0);
    CHECK(z(model, l - 1) > 5.0);
    CHECK(z({model.attention, model.task.with_input_mean(1.5 * model.task.input_mean())}, l) > 5.0);
    CHECK(z({model.attention, model.task.with_task_mean(Vector<double>::Zero(3))}, l) > 5.0);
    Model unread = model;
    unread.attention.input_value.setZero();
    CHECK(z(unread, l) > 5.0);
  };
  check(Softmax<double>{1.5}, 5, 21);
  check(SSMax<double>{0.3}, 6, 22);
  // Values of inputs go with any map; a mean of the inputs does not.
  Model centered = model;
  centered.task = model.task.with_input_mean(Vector<double>::Zero(3));
  const scoring::SSA<double> averaged{0.5, 2.0};
  const SampleMean measured = LiteralAttention{centered.attention, centered.task}.error(averaged, 5, 200'000, 23);
  CHECK(std::abs(measured.z(softmax_error(centered.attention, centered.task, 5, averaged).value)) <= 5.0);
  CHECK(refuses<std::logic_error>([&] { softmax_error(model.attention, model.task, 5, averaged); }, {"input_mean(0"}));
}

TEST_CASE("without a temperature to speak of, softmax is its approximation with the offset kept") {
  const Model model = shifted_model(305, 4);
  const auto approximate = generalization_error(model.attention, model.task, 12);
  for (const double temperature : {1e4, 1e5}) {
    const double exact = softmax_error(model.attention, model.task, 12, Softmax<double>{temperature}).value;
    CHECK(std::abs(exact - approximate(temperature)) * temperature * temperature < 2e4 * exact);
    CHECK(std::abs(exact - approximate(temperature)) < 1e-3 * std::abs(exact - approximate.constant));
  }
}
