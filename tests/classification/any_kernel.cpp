#include "incontext/classification/any_kernel.hpp"

#include <cmath>
#include <cstdint>
#include <random>

#include "support/catch.hpp"
#include "support/real50.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

/// (1 + u.v)^2 and its features: 1, sqrt(2) u_i, u_i u_j.
struct Quadratic {
  template <class T>
  T operator()(const Vector<T>& u, const Vector<T>& v) const {
    const T base = T(1) + u.dot(v);
    return base * base;
  }
};

struct QuadraticFeatures {
  template <class T>
  Vector<T> operator()(const Vector<T>& u) const {
    using std::sqrt;
    const Eigen::Index d = u.size();
    Vector<T> f(1 + d + d * d);
    f(0) = T(1);
    f.segment(1, d) = sqrt(T(2)) * u;
    for (Eigen::Index i = 0; i < d; ++i) f.segment(1 + d + i * d, d) = u(i) * u;
    return f;
  }
};

template <Real T>
Context<T> some_context() {
  std::mt19937 engine(4);
  std::normal_distribution<double> normal;
  Context<T> context{Matrix<T>(9, 3), {0, 2, 1, 1, 0, 3, 2, 3, 0}, Vector<T>(3), 4};
  for (T& x : context.inputs.reshaped()) x = T(normal(engine));
  for (T& x : context.query) x = T(normal(engine));
  return context;
}

/// The step from zero, differentiated numerically in the span of the kernel's functions: coefficients alpha_jc, logits
/// f_c(x_i) = sum_j alpha_jc G_ij; in the kernel's inner product the gradient is what the loss changes by per unit of f.
Vector<double> step_by_differences(const Context<double>& context, double rate) {
  const Eigen::Index n = context.inputs.rows();
  const Quadratic kernel;
  const auto loss = [&](const Matrix<double>& values) {  // of function values at the points, n x k
    double sum = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      sum += std::log(values.row(i).array().exp().sum()) - values(i, context.labels[static_cast<std::size_t>(i)]);
    }
    return sum / static_cast<double>(n);
  };
  Vector<double> logits = Vector<double>::Zero(4);
  for (Eigen::Index j = 0; j < n; ++j) {
    const double k = kernel(Vector<double>(context.inputs.row(j).transpose()), context.query);
    for (Eigen::Index c = 0; c < 4; ++c) {
      Matrix<double> up = Matrix<double>::Zero(n, 4), down = up;
      up(j, c) = 1e-5;
      down(j, c) = -1e-5;
      logits(c) -= rate * (loss(up) - loss(down)) / 2e-5 * k;
    }
  }
  return logits;
}

}  // namespace

TEST_CASE("the step of any kernel is gradient descent on functions, up to a common logit", "[classification]") {
  const auto context = some_context<double>();
  const Vector<double> step = kernel_logits(context, Quadratic{}, 3.0), brute = step_by_differences(context, 3.0);
  const Vector<double> off = step - brute;
  CHECK((off.array() - off.mean()).abs().maxCoeff() <= 1e-7);
  const Vector<double> more = kernel_logits(context, Quadratic{}, 3.01) - brute;  // power
  CHECK((more.array() - more.mean()).abs().maxCoeff() > 1e-4);
}

TEST_CASE("the feature map's and the kernel attention's constructions are the step, in double and at 50 digits",
          "[classification]") {
  const auto check = [](const auto& context, auto rate, double bound) {
    using T = decltype(rate);
    const Vector<T> step = kernel_logits(context, Quadratic{}, rate);
    const auto mapped = feature_context(context, QuadraticFeatures{});
    const Vector<T> linear = linear_descent(mapped, rate).logits;
    const auto weights = linear_construction<T>(3, 4, 9, rate);
    const Vector<T> attention = kernel_attention_logits(weights, Quadratic{}, context);
    const auto by_features = linear_construction<T>(13, 4, 9, rate);
    const Vector<T> layer =
        context_attention(merged(by_features), AttentionKind::linear, T(1), mapped, 0, QueryToken::included)
            .prediction.logits;
    CHECK(static_cast<double>((linear - step).cwiseAbs().maxCoeff()) <= bound);
    CHECK(static_cast<double>((attention - step).cwiseAbs().maxCoeff()) <= bound);
    CHECK(static_cast<double>((layer - step).cwiseAbs().maxCoeff()) <= bound);
  };
  check(some_context<double>(), 3.0, 1e-12);
  check(some_context<Real50>(), Real50(3), 1e-45);
}

TEST_CASE("the radial kernel's step is kernel_descent", "[classification]") {
  const auto context = some_context<double>();
  const auto radial = [](const Vector<double>& u, const Vector<double>& v) {
    return std::exp(-1.5 * (u - v).squaredNorm() / 2);
  };
  const Vector<double> off = kernel_logits(context, radial, 3.0) - kernel_descent(context, 1.5, 3.0).logits;
  CHECK(off.cwiseAbs().maxCoeff() <= 1e-14);
}

TEST_CASE("what is no kernel is refused, with the eigenvalue", "[classification]") {
  const auto context = some_context<double>();
  const auto distance = [](const Vector<double>& u, const Vector<double>& v) { return (u - v).norm(); };
  const auto one_sided = [](const Vector<double>& u, const Vector<double>& v) { return u(0) + 2 * v(0); };
  const auto endless = [](const Vector<double>&, const Vector<double>&) { return std::nan(""); };
  CHECK(names(message_of([&] { kernel_logits(context, distance, 1.0); }), "not positive definite", "eigenvalue"));
  CHECK(names(message_of([&] { kernel_logits(context, one_sided, 1.0); }), "not symmetric"));
  CHECK(names(message_of([&] { kernel_logits(context, endless, 1.0); }), "a value of the kernel"));
  CHECK(names(
      message_of([&] { kernel_attention_logits(linear_construction<double>(2, 4, 9, 1.0), Quadratic{}, context); }),
      "query.rows()", "value = 6"));
}

}  // namespace incontext::testing
