#include "incontext/classification/context_attention.hpp"

#include <cmath>

#include "classification/drawn_context.hpp"
#include "classification/slope.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

struct Setting {
  AttentionKind kind;
  QueryToken query;
};

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const auto kind : {AttentionKind::linear, AttentionKind::exponential, AttentionKind::softmax}) {
    for (const auto query : {QueryToken::excluded, QueryToken::included}) settings.push_back({kind, query});
  }
  return settings;
}

}  // namespace

TEST_CASE("gradients and sensitivity are derivatives, for every kind, with and without the query's key",
          "[classification]") {
  ContextDraws draws(31);
  const Eigen::Index d = 3, k = 2;
  auto context = as<long double>(draws.context(d, k, 5));
  ContextAttention<long double> attention{as<long double>(draws.matrix(d + k, d + k)),
                                          as<long double>(draws.matrix(d + k, d + k))};
  for (const Setting& at : all_settings()) {
    const auto run = [&] { return context_attention(attention, at.kind, 0.75L, context, 1, at.query); };
    const auto loss = [&] { return run().loss; };
    const auto pass = run();
    Worst worst, inert;
    double largest = 0;
    for (Eigen::Index i = 0; i < d + k; ++i) {
      for (Eigen::Index j = 0; j < d + k; ++j) {
        const double by_scores = slope(attention.key_query(i, j), loss),
                     by_output = slope(attention.output(i, j), loss);
        if (j < d)
          worst.add(std::abs(by_scores - static_cast<double>(pass.key_query_gradient(i, j))), "i ", i, ", j ", j);
        if (i >= d)
          worst.add(std::abs(by_output - static_cast<double>(pass.output_gradient(i - d, j))), "i ", i, ", j ", j);
        if (j >= d) inert.add(std::abs(by_scores), "i ", i, ", j ", j);
        if (i < d) inert.add(std::abs(by_output), "i ", i, ", j ", j);
        largest = std::max(largest, std::abs(by_scores));
      }
    }
    for (Eigen::Index c = 0; c < k; ++c) {
      for (Eigen::Index i = 0; i < d; ++i) {
        const double by_query = slope(context.query(i), [&] { return run().prediction.probabilities(c); });
        worst.add(std::abs(by_query - static_cast<double>(pass.prediction.sensitivity(c, i))), "c ", c, ", i ", i);
      }
    }
    CHECK(worst <= 1e-10);
    CHECK(inert == 0);
    CHECK(largest > 1e-3);  // so that a gradient off by one part in 10^6 would be detected
  }
}

TEST_CASE("attention does not change under shifts and scalings that its definition ignores", "[classification]") {
  ContextDraws draws(32);
  const Eigen::Index d = 4, k = 3;
  const auto context = draws.context(d, k, 6);
  const ContextAttention<double> attention{draws.matrix(d + k, d + k), draws.matrix(d + k, d + k)};
  for (const Setting& at : all_settings()) {
    const auto p = [&](const ContextAttention<double>& a, const Context<double>& c) {
      return Vector<double>(context_attention(a, at.kind, 1.0, c, 0, at.query).prediction.probabilities);
    };
    const Vector<double> plain = p(attention, context);
    auto shifted = attention;
    shifted.output.bottomRows(k).rowwise() += Eigen::RowVectorXd(draws.matrix(1, d + k));
    CHECK(distance(p(shifted, context), plain) <= 1e-13);
    const ContextAttention<double> scaled{-2.0 * attention.key_query, -0.5 * attention.output};
    CHECK((distance(p(scaled, context), plain) <= 1e-13) == (at.kind == AttentionKind::linear));
    auto reversed = context;
    reversed.inputs = context.inputs.colwise().reverse();
    std::reverse(reversed.labels.begin(), reversed.labels.end());
    CHECK(distance(p(attention, reversed), plain) <= 1e-13);
  }
}

TEST_CASE("attention refuses what does not fit", "[classification]") {
  ContextDraws draws(33);
  const auto context = draws.context(3, 2, 4);
  ContextAttention<double> good{draws.matrix(5, 5), draws.matrix(5, 5)};
  const auto refused = [&](const ContextAttention<double>& attention, double scale, int label) {
    return message_of(
        [&] { context_attention(attention, AttentionKind::softmax, scale, context, label, QueryToken::included); });
  };
  CHECK(refused(good, 1.0, 1).empty());
  CHECK(names(refused({draws.matrix(4, 5), good.output}, 1.0, 1), "key_query.rows()", "value = 4"));
  CHECK(names(refused({good.key_query, draws.matrix(5, 6)}, 1.0, 1), "output.cols()", "value = 6"));
  CHECK(names(refused(good, std::nan(""), 1), "scale"));
  CHECK(names(refused(good, 1.0, 2), "label", "value = 2"));
  good.output(4, 4) = std::nan("");
  CHECK(names(refused(good, 1.0, 1), "output", "nan"));
}

}  // namespace incontext::testing
