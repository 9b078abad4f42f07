#include "incontext/classification/context_constructions.hpp"

#include <cmath>
#include <limits>

#include "classification/attention_is_descent.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEMPLATE_TEST_CASE("attention with the constructed weights is the algorithm", "[classification]", float, double) {
  check_attention_is_descent<TestType>(64);
}

TEMPLATE_TEST_CASE("centered weights make the gradient step itself, not only its softmax", "[classification]", float,
                   double) {
  using T = TestType;
  ContextDraws draws(45);
  const T eps = std::numeric_limits<T>::epsilon(), learning_rate = T(6);
  for (const std::int64_t k : {2, 5}) {
    const std::int64_t d = 6, n = 4 * k;
    const auto context = as<T>(draws.context(d, k, n));
    // from W = 0, every probability 1/k: W_1 = -rate times the mean of (p - y) x^T
    Matrix<T> step = Matrix<T>::Zero(k, d);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t c = 0; c < k; ++c) {
        const T error = T(1) / T(k) - (context.labels[static_cast<std::size_t>(j)] == c ? T(1) : T(0));
        step.row(c) -= learning_rate / T(n) * error * context.inputs.row(j);
      }
    }
    const Vector<T> exact = step * context.query;
    const auto plain = linear_construction(d, k, n, learning_rate);
    const auto logits = [&](const ContextWeights<T>& weights) {
      return Vector<T>(context_attention(merged(weights), AttentionKind::linear, T(1), context, 0, QueryToken::included)
                           .prediction.logits);
    };
    const T bound = T(64) * eps * (T(1) + exact.cwiseAbs().maxCoeff());
    CHECK(distance(logits(centered(plain, k)), exact) <= bound);
    CHECK(distance(logits(plain), exact) > bound);  // only its softmax is the same
    CHECK(distance(centered(centered(plain, k), k).projection, centered(plain, k).projection) <= bound);
  }
  CHECK(names(message_of([] {
                centered(ContextWeights<double>{{}, {}, {}, Matrix<double>::Zero(3, 3)}, 3);
              }),
              "projection", "value = 3", "at least 4"));
}

TEST_CASE("effective parameters are those of the construction, whatever the softmax does not see", "[classification]") {
  ContextDraws draws(42);
  const std::int64_t d = 7, k = 4;
  auto attention = merged(softmax_construction(d, k, 1.3, 6.0));
  attention.output.bottomRightCorner(k, k).rowwise() += Eigen::RowVectorXd(draws.matrix(1, k));
  const double scale = 1 / std::sqrt(11.0);
  const auto step = effective_step(attention, scale, k);
  CHECK(std::abs(step.kappa - 1.3) <= 1e-14);
  CHECK(std::abs(step.gain - 6.0) <= 1e-13);
  // the column's off-diagonal mean, subtracted literally
  const Matrix<double> labels = attention.output.bottomRightCorner(k, k);
  double gain = 0;
  for (Eigen::Index c = 0; c < k; ++c) gain += (labels(c, c) - (labels.col(c).sum() - labels(c, c)) / 3) / 4;
  CHECK(std::abs(step.gain - gain) <= 1e-13);
  CHECK(std::abs(labels.trace() / 4 - gain) > 1e-3);
}

TEST_CASE("a classifier is aligned with itself", "[classification]") {
  ContextDraws draws(43);
  const auto context = draws.context(4, 3, 6);
  const auto p = linear_descent(context, 3.0);
  const auto same = alignment(p, p);
  CHECK(same.prediction_distance == 0);
  CHECK(std::abs(same.cosine - 1) <= 1e-15);
  CHECK(same.sensitivity_distance == 0);
  auto opposite = p;
  opposite.sensitivity = -2 * p.sensitivity;
  CHECK(std::abs(alignment(p, opposite).cosine + 1) <= 1e-15);
  CHECK(std::abs(alignment(p, opposite).sensitivity_distance - 3 * p.sensitivity.norm()) <= 1e-14);
  opposite.sensitivity.conservativeResize(3, 2);
  CHECK(names(message_of([&] { alignment(p, opposite); }), "dimension", "value = 2"));
}

TEST_CASE("constructions refuse what is outside their domain", "[classification]") {
  CHECK(names(message_of([] { linear_construction(0, 2, 5, 1.0); }), "linear_construction", "dimension", "value = 0"));
  CHECK(names(message_of([] { linear_construction(3, 1, 5, 1.0); }), "classes", "value = 1"));
  CHECK(names(message_of([] { linear_construction(3, 2, 0, 1.0); }), "context_length", "value = 0"));
  CHECK(names(message_of([] { kernel_construction(3, 2, 5, -1.0, 1.0); }), "kappa", "value = -1"));
  CHECK(names(message_of([] { rbf_construction(3, 2, 5, -1.0, 1.0); }), "rbf_construction", "kappa", "value = -1"));
  CHECK(names(message_of([] { rbf_construction(3, 2, 0, 1.0, 1.0); }), "context_length", "value = 0"));
  CHECK(names(message_of([] { softmax_construction(3, 2, -0.5, 1.0); }), "kappa", "value = -0.5"));
  CHECK(names(message_of([] { softmax_construction(3, 2, 0.5, std::nan("")); }), "weight"));
  const ContextAttention<double> square{Matrix<double>::Zero(5, 5), Matrix<double>::Zero(5, 5)};
  CHECK(names(message_of([&] { effective_step(square, 1.0, 5); }), "key_query", "value = 5", "at least 6"));
  CHECK(names(message_of([&] { effective_step(square, 1.0, 1); }), "classes", "value = 1"));
}

}  // namespace incontext::testing
