#pragma once

#include <Eigen/Core>
#include <cmath>
#include <random>

#include "incontext/classification/any_kernel.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace classification;

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

/// That the feature map's and the kernel attention's constructions are the step, to `bound`.
template <Real T>
void check_constructions(const T& rate, double bound) {
  const auto context = some_context<T>();
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
}

}  // namespace incontext::testing
