#include "incontext/training/gradient_flow.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/optimal_temperature.hpp"
#include "incontext/regression/pretrained_attention.hpp"
#include "incontext/regression/softmax_error_gradient.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/regression/softmax_optimum.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/training/regression_parameters.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {
namespace gradient_flows {
namespace {

using regression::Attention;
using regression::LinearTask;
using regression::Matrix;
using regression::Vector;
using training::GradientFlow;
using training::LossAndGradient;
using training::RegressionParameters;

/// L = sum c_i x_i^2 / 2, whose flow is x_i e^(-c_i t).
LossAndGradient bowl(std::span<const double> at) {
  LossAndGradient here;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const double c = static_cast<double>(i + 1);
    here.loss += c * at[i] * at[i] / 2;
    here.gradient.push_back(c * at[i]);
  }
  return here;
}

LinearTask<double> uneven_task(double noise = 0.25) {
  Matrix<double> inputs(2, 2), tasks(2, 2);
  inputs << 1.5, 0.4, 0.4, 0.75;
  tasks << 0.6, -0.2, -0.2, 0.5;
  return LinearTask<double>({Vector<double>::Zero(2), inputs, Vector<double>::Zero(2), tasks, noise});
}

training::ExactLoss linear_loss(const LinearTask<double>& task, std::int64_t l) {
  return training::population_loss(RegressionParameters::layer, {}, task.dimension(),
                                   [=](const Attention<double>& layer, double b) {
                                     return regression::linear_attention_error_gradient(layer, task, l, b);
                                   });
}

std::vector<double> uneven_start() { return {0.3, -0.2, 0.1, 0.4, 0.2, -0.1, 0.5}; }

}  // namespace

TEST_CASE("the flow in a bowl is exponential, to the tolerance", "[training]") {
  for (const double tolerance : {1e-6, 1e-10}) {
    GradientFlow flow(bowl, {1.0, -2.0, 0.5}, tolerance);
    Worst worst;
    for (const double time : {0.01, 0.3, 0.3, 1.0, 5.0}) {
      flow.advance_to(time);
      CHECK(flow.time() == time);
      for (int i = 0; i < 3; ++i) {
        const double start = i == 0 ? 1.0 : i == 1 ? -2.0 : 0.5;
        worst.add(std::abs(flow.parameters()[static_cast<std::size_t>(i)] - start * std::exp(-(i + 1) * time)), "time ",
                  time);
      }
    }
    CHECK(worst <= 20 * tolerance);
    CHECK(worst > 1e-4 * tolerance);
  }
}

TEST_CASE("gradient descent at a small rate is near the flow, twice as near at half the rate", "[training]") {
  const auto loss = linear_loss(uneven_task(), 5);
  GradientFlow flow(loss, uneven_start());
  flow.advance_to(1.0);
  const auto off = [&](int steps) {
    training::Trainer trainer(uneven_start(), training::exact_batches(loss), training::gradient_descent(1.0 / steps));
    while (trainer.steps() < steps) trainer.step();
    double square = 0;
    for (std::size_t i = 0; i < 7; ++i) square += std::pow(trainer.parameters()[i] - flow.parameters()[i], 2);
    return std::sqrt(square);
  };
  const double coarse = off(200), fine = off(400);
  CHECK(fine < 0.01);
  CHECK(std::abs(coarse / fine - 2) < 0.05);
  // the same by hand
  std::vector<double> by_hand = uneven_start();
  training::Trainer trainer(uneven_start(), training::exact_batches(loss), training::gradient_descent(0.1));
  for (int step = 0; step < 5; ++step) {
    trainer.step();
    const auto here = loss(by_hand);
    for (std::size_t i = 0; i < by_hand.size(); ++i) by_hand[i] -= 0.1 * here.gradient[i];
  }
  for (std::size_t i = 0; i < by_hand.size(); ++i) CHECK(std::abs(trainer.parameters()[i] - by_hand[i]) <= 1e-8);
}

TEST_CASE("linear attention's loss falls monotonically to its optimum, and the balance of its weights is conserved",
          "[training]") {
  const auto task = uneven_task();
  const std::int64_t l = 5;
  GradientFlow flow(linear_loss(task, l), uneven_start(), 1e-12);
  const auto balance = [&] {
    double sum = 0;
    for (std::size_t i = 0; i < 7; ++i) sum += (i < 4 ? 1 : -1) * flow.parameters()[i] * flow.parameters()[i];
    return sum;
  };
  const double start = balance();
  double previous = flow.loss();
  for (double time = 0.125; time < 8; time *= 1.5) {
    flow.advance_to(time);
    CHECK(flow.loss() < previous);
    previous = flow.loss();
    CHECK(std::abs(balance() - start) <= 1e-6);
  }
  REQUIRE(flow.rest(1e-9, 1e5));
  // v_y M = ((1 + 1/l) S + (tr(S W) + s2) / l W^-1)^-1, docs/theory/training.md#population-optima
  const Matrix<double>&s = task.input_covariance(), &w = task.task_covariance();
  const double ridge = (regression::trace_of_product<double>(s, w) + task.noise_variance()) / 5;
  const Matrix<double> optimum = (1.2 * s + ridge * w.inverse()).inverse();
  const auto at = training::regression_layer(RegressionParameters::layer, {}, 2, flow.parameters()).attention;
  CHECK((at.label_value * at.key_query - optimum).cwiseAbs().maxCoeff() <= 1e-7);
  CHECK(at.input_value.norm() <= 1e-7);
  // the pretrained layer of arXiv 2511.01292 is no optimum
  const auto pretrained = regression::pretrained_attention(task, l);
  CHECK((pretrained.key_query - optimum).cwiseAbs().maxCoeff() > 0.1);
}

TEST_CASE("approximate softmax's loss falls toward its infimum, at vanishing values", "[training]") {
  const auto task = uneven_task();
  const auto loss =
      training::population_loss(RegressionParameters::layer, {}, 2, [=](const Attention<double>& layer, double b) {
        return regression::generalization_error_gradient(layer, task, 5, b);
      });
  GradientFlow flow(loss, uneven_start(), 1e-7);
  const Matrix<double>&s = task.input_covariance(), &w = task.task_covariance();
  const double labels = regression::trace_of_product<double>(s, w) + task.noise_variance();
  const Matrix<double> optimum = (s + labels / 5 * w.inverse()).inverse();
  const double infimum = regression::generalization_error(Attention<double>{optimum, Vector<double>::Zero(2), 1.0},
                                                          task, 5, {.offset = regression::Offset::removed})(1.0);
  double previous = flow.loss(), value = 1, off = 1;
  for (const double time : {10.0, 40.0, 160.0, 640.0}) {
    flow.advance_to(time);
    const auto at = training::regression_layer(RegressionParameters::layer, {}, 2, flow.parameters()).attention;
    CHECK(flow.loss() < previous);
    CHECK(flow.loss() > infimum);
    const double now = (at.label_value * at.key_query - optimum).cwiseAbs().maxCoeff();
    if (time > 200) {  // v_y falls as t^(-1/4), and the distance of v_y M from the optimum as v_y^2
      CHECK(std::abs(at.label_value / value - std::pow(4, -0.25)) < 0.005);
      CHECK(std::abs(now / off - 0.5) < 0.05);
    }
    previous = flow.loss();
    value = at.label_value;
    off = now;
  }
  CHECK(off < 0.04);
}

TEST_CASE("true softmax's flow has no gradient at the optimum of the isotropic family, and falls toward it",
          "[training]") {
  const std::int64_t l = 8;
  const regression::IsotropicTask<double> law{.dimension = 2, .task_variance = 0.5, .noise_variance = 0.1};
  const auto task = LinearTask<double>::isotropic(law);
  const auto loss =
      training::population_loss(RegressionParameters::layer, {}, 2, [=](const Attention<double>& layer, double b) {
        return regression::softmax_error_gradient(layer, task, l, scoring::Softmax<double>{1}, b);
      });
  // for a given M = m I the best v_y is the vertex of a parabola, found from three values; then a search over 1 / m
  double best_value = 0;
  const auto best_value_at = [&](double temperature) {
    const auto error = [&](double v) {
      return regression::softmax_error_isotropic<double>({1.0, v}, law, l, scoring::Softmax<double>{temperature}).value;
    };
    const double at_zero = error(0), above = error(1), below = error(-1);
    best_value = (below - above) / (2 * (above + below - 2 * at_zero));
    return error(best_value);
  };
  const auto best = regression::minimize_softmax_error(best_value_at, regression::SearchRange<double>{0.05, 1.0, 20.0});
  best_value_at(best.parameter);
  const auto speed = [&](double m, double v) {
    double square = 0;
    for (const double g : loss(std::vector<double>{m, 0, 0, m, 0, 0, v}).gradient) square += g * g;
    return std::sqrt(square);
  };
  const double m = 1 / best.parameter;
  CHECK(speed(m, best_value) <= 1e-5);
  CHECK(speed(1.05 * m, best_value) > 1e-3);
  CHECK(std::abs(m * best_value - 1 / (1 + 3.0 / l * 1.2)) > 0.1);  // not the optimum of approximate softmax
  GradientFlow flow(loss, {0.6, 0.1, -0.1, 0.4, 0.0, 0.1, 0.5}, 1e-5);
  double previous = flow.loss();
  for (const double time : {0.3, 1.0, 10.0}) {
    flow.advance_to(time);
    CHECK(flow.loss() < previous);
    CHECK(flow.loss() > best.error);
    previous = flow.loss();
  }
  CHECK(flow.loss() - best.error < 0.01);
}

TEST_CASE("a temperature that follows the flow comes to rest at the optimal one", "[training]") {
  const auto task = uneven_task().with_input_covariance_scaled(2.0);
  const auto attention = regression::pretrained_attention(uneven_task(), 7);
  const auto loss = training::population_loss(RegressionParameters::temperature, attention, 2,
                                              [=](const Attention<double>& layer, double b) {
                                                return regression::generalization_error_gradient(layer, task, 7, b);
                                              });
  GradientFlow flow(loss, {1.0}, 1e-12);
  REQUIRE(flow.rest(1e-9, 1000));
  CHECK(std::abs(1 / flow.parameters()[0] - regression::optimal_temperature(attention, task, 7)) <= 1e-7);
}

TEST_CASE("the flow refuses what has no meaning, by name", "[training]") {
  CHECK(refuses<std::domain_error>([] { GradientFlow(bowl, {1.0}, 0.0); }, {"tolerance", "0"}));
  CHECK(refuses<std::invalid_argument>([] { GradientFlow(bowl, {}); }, {"parameters", "empty"}));
  GradientFlow flow(bowl, {1.0});
  flow.advance_to(1.0);
  CHECK(refuses<std::domain_error>([&] { flow.advance_to(0.5); }, {"0.5"}));
  CHECK(refuses<std::domain_error>(
      [] {
        GradientFlow(
            [](std::span<const double>) {
              return LossAndGradient{std::numeric_limits<double>::quiet_NaN(), {1.0}};
            },
            {1.0});
      },
      {"not finite", "time"}));
  CHECK_FALSE(GradientFlow(bowl, {1.0}).rest(1e-9, 0.5));
}

}  // namespace gradient_flows
}  // namespace incontext::testing
