#include "incontext/classification/context_descent.hpp"

#include <cmath>
#include <string>

#include "classification/drawn_context.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

/// The derivative of the probabilities by the query, by central differences in long double.
template <class Algorithm>
Matrix<double> sensitivity(Context<long double> context, const Algorithm& algorithm) {
  Matrix<double> result(context.classes, context.query.size());
  const long double h = 1e-6L;
  for (Eigen::Index i = 0; i < context.query.size(); ++i) {
    const long double at = context.query(i);
    context.query(i) = at + h;
    const Vector<long double> above = algorithm(context).probabilities;
    context.query(i) = at - h;
    const Vector<long double> below = algorithm(context).probabilities;
    context.query(i) = at;
    result.col(i) = ((above - below) / (2 * h)).template cast<double>();
  }
  return result;
}

}  // namespace

TEST_CASE("the adaptive step is the kernel step at the rate of its query", "[classification]") {
  ContextDraws draws(22);
  for (const Eigen::Index n : {1, 7, 60}) {
    Context<double> context = draws.context(3, 4, n);
    for (const double length : {1.0, 1.3}) {  // off the sphere, the self terms differ
      context.query *= length;
      for (const SelfTerm self : {SelfTerm::none, SelfTerm::dot, SelfTerm::constant, SelfTerm::rbf}) {
        for (const double kappa : {0.0, 0.7, 30.0}) {
          const double rate = adaptive_rate(context, kappa, 5.0, self);
          const long double wide = adaptive_rate<long double>(
              {context.inputs.cast<long double>(), context.labels, context.query.cast<long double>(), context.classes},
              static_cast<long double>(kappa), 5.0L, self);
          CHECK(std::abs(rate / static_cast<double>(wide) - 1) <=
                4 * static_cast<double>(n + 3) * 2.3e-16 * (1 + kappa));
          const KernelForm form = self == SelfTerm::rbf ? KernelForm::rbf : KernelForm::dot;
          const auto step = kernel_descent(context, kappa, rate, form),
                     adaptive = adaptive_descent(context, kappa, 5.0, self);
          CAPTURE(n, length, static_cast<int>(self), kappa, rate);
          CHECK(distance(step.logits, adaptive.logits) <= 1e-13 * (1 + kappa));
          const double others =
              adaptive_rate(context, kappa, 5.0, self == SelfTerm::none ? SelfTerm::dot : SelfTerm::none);
          if (n < 60) CHECK(std::abs(others / rate - 1) > 1e-3);
        }
      }
    }
  }
  const auto context = draws.context(3, 4, 9);
  CHECK(adaptive_rate(context, 0.0, 5.0, SelfTerm::none) == 5);
  CHECK(std::abs(adaptive_rate(context, 0.0, 5.0, SelfTerm::dot) - 4.5) <= 1e-14);
  CHECK(adaptive_rate(context, 1e6, 5.0, SelfTerm::none) == double{INFINITY});
  CHECK(adaptive_rate(context, 1e6, 0.0, SelfTerm::none) == 0);
  CHECK(std::abs(adaptive_rate(context, 1e6, 5.0, SelfTerm::constant) - 45) <= 1e-12);
  CHECK(names(message_of([&] { adaptive_rate(context, 1.0, double{INFINITY}, SelfTerm::none); }), "gain"));
}

TEST_CASE("the linear step is a step down the gradient of the mean loss, by differences", "[classification]") {
  ContextDraws draws(21);
  const auto context = draws.context(3, 3, 7);
  const double learning_rate = 2.5, h = 1e-4;
  Matrix<double> weights = Matrix<double>::Zero(3, 3), step(3, 3);
  const auto loss = [&] {
    double sum = 0;
    for (Eigen::Index j = 0; j < 7; ++j) {
      const auto p = predict<double>(weights * context.inputs.row(j).transpose(), weights);
      sum += cross_entropy(p, context.labels[static_cast<std::size_t>(j)]);
    }
    return sum / 7;
  };
  for (Eigen::Index i = 0; i < 9; ++i) {
    weights(i) = h;
    const double above = loss();
    weights(i) = -h;
    step(i) = -learning_rate * (above - loss()) / (2 * h);
    weights(i) = 0;
  }
  const auto expected = predict<double>(step * context.query, step);
  CHECK(distance(linear_descent(context, learning_rate).probabilities, expected.probabilities) <= 1e-7);
  CHECK(distance(linear_descent(context, 1.01 * learning_rate).probabilities, expected.probabilities) > 1e-5);
}

TEST_CASE("sensitivities are derivatives, for every step and every self term", "[classification]") {
  ContextDraws draws(22);
  const auto context = as<long double>(draws.context(4, 3, 9));
  const auto check = [&](const auto& algorithm) {
    const auto exact = algorithm(context);
    const Matrix<double> differences = sensitivity(context, algorithm);
    CHECK(distance(exact.sensitivity.template cast<double>(), differences) <= 1e-10);
    CHECK(distance(1.001 * exact.sensitivity.template cast<double>(), differences) > 1e-10);
  };
  using R = long double;
  check([](const auto& c) { return linear_descent(c, R(5)); });
  check([](const auto& c) { return kernel_descent(c, R(2), R(7), KernelForm::rbf); });
  check([](const auto& c) { return kernel_descent(c, R(2), R(7), KernelForm::dot); });
  for (const SelfTerm self : {SelfTerm::none, SelfTerm::dot, SelfTerm::constant, SelfTerm::rbf}) {
    check([self](const auto& c) { return adaptive_descent(c, R(2), R(4), self); });
    check([self](const auto& c) { return adaptive_descent(c, R(-2), R(-4), self); });
  }
}

TEST_CASE("on the sphere the kernel's forms and the self terms agree; the tangential derivatives too",
          "[classification]") {
  ContextDraws draws(23);
  const auto context = draws.on_sphere(5, 2, 8);
  const Matrix<double> tangent = Matrix<double>::Identity(5, 5) - context.query * context.query.transpose();
  const auto same = [&](const Prediction<double>& a, const Prediction<double>& b) {
    CHECK(distance(a.probabilities, b.probabilities) <= 1e-13);
    CHECK(distance(a.sensitivity * tangent, b.sensitivity * tangent) <= 1e-12);
    CHECK(distance(a.sensitivity, b.sensitivity) > 1e-6);
  };
  same(kernel_descent(context, 3.0, 9.0, KernelForm::rbf), kernel_descent(context, 3.0, 9.0, KernelForm::dot));
  const auto dot = adaptive_descent(context, 3.0, 5.0, SelfTerm::dot);
  same(dot, adaptive_descent(context, 3.0, 5.0, SelfTerm::constant));
  same(dot, adaptive_descent(context, 3.0, 5.0, SelfTerm::rbf));
  CHECK(distance(dot.probabilities, adaptive_descent(context, 3.0, 5.0, SelfTerm::none).probabilities) > 1e-3);
}

TEST_CASE("limits join the steps: wide kernels, narrow kernels, elimination for two classes", "[classification]") {
  ContextDraws draws(24);
  const auto context = draws.on_sphere(3, 2, 6);
  const auto linear = linear_descent(context, 4.0);
  CHECK(distance(kernel_descent(context, 1e-7, 4e7).probabilities, linear.probabilities) <= 1e-6);
  CHECK(distance(adaptive_descent(context, 1e-7, 4e7, SelfTerm::none).probabilities, linear.probabilities) <= 1e-6);
  CHECK(distance(adaptive_descent(context, 1e-7, 4e7 * 7 / 6, SelfTerm::dot).probabilities, linear.probabilities) <=
        1e-6);
  // narrow: the nearest neighbor with logit c; its scores neither overflow nor vanish
  const auto nearest = adaptive_descent(context, 1e6, 3.0, SelfTerm::none);
  Eigen::Index best = 0;
  (context.inputs * context.query).maxCoeff(&best);
  CHECK(std::abs(nearest.logits(context.labels[static_cast<std::size_t>(best)]) - 3) <= 1e-12);
  // with its own key the query attends to itself alone
  CHECK(adaptive_descent(context, 1e6, 3.0, SelfTerm::dot).logits.cwiseAbs().maxCoeff() <= 1e-12);
  const double kappa = 60.0, n = 6;
  CHECK(distance(adaptive_descent(context, kappa, 5.0, SelfTerm::rbf).logits,
                 kernel_descent(context, kappa, n * 5.0).logits) <= 1e-2);
  auto mirrored = context;
  mirrored.inputs = -context.inputs;
  for (auto& label : mirrored.labels) label = 1 - label;
  CHECK(distance(adaptive_descent(mirrored, -2.0, -3.0, SelfTerm::none).probabilities,
                 adaptive_descent(context, 2.0, 3.0, SelfTerm::none).probabilities) <= 1e-14);
}

TEST_CASE("steps refuse what is outside their domain", "[classification]") {
  ContextDraws draws(25);
  auto context = draws.context(3, 2, 4);
  CHECK(names(message_of([&] { linear_descent(context, std::nan("")); }), "linear_descent", "learning_rate"));
  CHECK(names(message_of([&] { kernel_descent(context, -1.0, 1.0); }), "kernel_descent", "kappa", "value = -1"));
  CHECK(names(message_of([&] { adaptive_descent(context, double{INFINITY}, 1.0, SelfTerm::none); }), "kappa"));
  CHECK(names(message_of([&] { adaptive_descent(context, 1.0, std::nan(""), SelfTerm::none); }), "gain"));
  context.labels[0] = 7;
  CHECK(names(message_of([&] { linear_descent(context, 1.0); }), "linear_descent", "label", "value = 7"));
}

}  // namespace incontext::testing
