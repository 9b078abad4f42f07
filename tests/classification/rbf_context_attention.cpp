#include "incontext/classification/rbf_context_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "classification/attention_is_descent.hpp"
#include "classification/slope.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

ContextWeights<long double> drawn_weights(ContextDraws& draws, Eigen::Index width) {
  const auto one = [&] { return as<long double>(Matrix<double>(0.5 * draws.matrix(width, width))); };
  return {one(), one(), one(), one()};
}

}  // namespace

TEMPLATE_TEST_CASE("RBF attention with the constructed weights is kernel descent", "[classification]", float, double) {
  check_rbf_attention_is_descent<TestType>(64);
}

TEST_CASE("RBF attention is its definition, token by token", "[classification]") {
  ContextDraws draws(46);
  const Eigen::Index d = 3, k = 2, width = d + k;
  const auto context = as<long double>(draws.context(d, k, 4));
  const auto weights = drawn_weights(draws, width);
  for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
    const auto pass = rbf_context_attention(weights, context, 1, query);
    const auto tokens = context_tokens(context, query);
    const Vector<long double> own = context_tokens(context, QueryToken::included).row(4).transpose();
    Vector<long double> out = Vector<long double>::Zero(width);
    for (Eigen::Index j = 0; j < tokens.rows(); ++j) {
      const Vector<long double> token = tokens.row(j).transpose();
      long double square = 0;
      for (Eigen::Index i = 0; i < width; ++i) {
        const long double apart = weights.query.row(i).dot(own) - weights.key.row(i).dot(token);
        square += apart * apart;
      }
      CHECK(std::abs(static_cast<double>(pass.attention(j) - std::exp(-square / 2))) <= 1e-15);
      out += std::exp(-square / 2) * (weights.projection * (weights.value * token));
    }
    CHECK(distance(out.tail(k), pass.prediction.logits) <= 1e-15L);
    CHECK(distance(out.head(k), pass.prediction.logits) > 1e-3L);
  }
}

TEST_CASE("gradients and sensitivity of RBF attention are derivatives", "[classification]") {
  ContextDraws draws(47);
  const Eigen::Index d = 3, k = 2, width = d + k;
  auto context = as<long double>(draws.context(d, k, 5));
  auto weights = drawn_weights(draws, width);
  for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
    const auto loss = [&] { return rbf_context_attention(weights, context, 1, query).loss; };
    const auto pass = rbf_context_attention(weights, context, 1, query);
    Matrix<long double> by_value = weights.projection.bottomRows(k).transpose() * pass.output_gradient;
    Worst worst;
    for (Eigen::Index i = 0; i < width; ++i) {
      for (Eigen::Index j = 0; j < width; ++j) {
        const double by_query = slope(weights.query(i, j), loss), by_key = slope(weights.key(i, j), loss);
        const double expected = j < d ? static_cast<double>(pass.query_gradient(i, j)) : 0;
        worst.add(std::abs(by_query - expected), "i ", i, ", j ", j);
        worst.add(std::abs(by_key - static_cast<double>(pass.key_gradient(i, j))), "i ", i, ", j ", j);
        worst.add(std::abs(slope(weights.value(i, j), loss) - static_cast<double>(by_value(i, j))), "i ", i, ", j ", j);
      }
    }
    for (Eigen::Index j = 0; j < d; ++j) {
      for (Eigen::Index c = 0; c < k; ++c) {
        const auto probability = [&] {
          return rbf_context_attention(weights, context, 1, query).prediction.probabilities(c);
        };
        const double exact = static_cast<double>(pass.prediction.sensitivity(c, j));
        worst.add(std::abs(slope(context.query(j), probability) - exact), "j ", j, ", c ", c);
      }
    }
    CHECK(worst <= 1e-8);
    // power: the other choice of the query's key has other derivatives
    const auto other = query == QueryToken::included ? QueryToken::excluded : QueryToken::included;
    CHECK(distance(rbf_context_attention(weights, context, 1, other).key_gradient, pass.key_gradient) > 1e-4L);
  }
}

TEST_CASE("RBF attention refuses weights that do not fit", "[classification]") {
  ContextDraws draws(48);
  const auto context = draws.context(3, 2, 4);
  auto weights = rbf_construction(3, 2, 4, 1.0, 2.0);
  const auto message = [&] {
    return message_of([&] { rbf_context_attention(weights, context, 0, QueryToken::excluded); });
  };
  weights.key(1, 1) = std::nan("");
  CHECK(names(message(), "rbf_context_attention", "an entry of key", "value = nan"));
  weights.key = Matrix<double>::Zero(4, 5);
  CHECK(names(message(), "key.rows()", "value = 4"));
  weights = rbf_construction(3, 2, 4, 1.0, 2.0);
  CHECK(names(message_of([&] { rbf_context_attention(weights, context, 2, QueryToken::excluded); }), "label",
              "value = 2"));
}

}  // namespace incontext::testing
