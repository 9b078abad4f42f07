#include "incontext/simulate/classification/context_attention.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "incontext/classification/rbf_context_attention.hpp"
#include "incontext/classification/two_class_margin.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "simulate/classification/contexts.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace context_attention_test {

// The literal trial against the matrix form in Eigen on the same context, with weights that are no construction; the
// rules' trial against the literal one, which shares no code with it beyond the drawn context; means against exact
// margins; and near misses rejected.

namespace {

using namespace incontext;
using classification::AttentionKind;
using classification::ContextWeights;
using simulate::ClassificationMetric;
using simulate::ClassificationRule;
using simulate::Classifier;
using simulate::ContextAttentionMetric;
using simulate::ContextLaw;
using simulate::SphereTask;

constexpr std::uint64_t seed = 31;

template <class T>
using Activation = simulate::DotActivation<T>;

ContextWeights<double> random_weights(Eigen::Index width) {
  std::mt19937_64 engine(5);
  std::normal_distribution<double> normal(0, 0.7);
  const auto matrix = [&] {
    classification::Matrix<double> m(width, width);
    for (double& x : m.reshaped()) x = static_cast<double>(static_cast<float>(normal(engine)));
    return m;
  };
  return {matrix(), matrix(), matrix(), matrix()};
}

/// The weights on the host, as the trial reads them.
template <class T>
struct HeldWeights {
  std::vector<T> query, key, value, projection;
  int width;

  explicit HeldWeights(const ContextWeights<double>& w)
      : query(simulate::detail::matrix_rows<T>("test", "query", w.query, w.query.rows())),
        key(simulate::detail::matrix_rows<T>("test", "key", w.key, w.key.rows())),
        value(simulate::detail::matrix_rows<T>("test", "value", w.value, w.value.rows())),
        projection(simulate::detail::matrix_rows<T>("test", "projection", w.projection, w.projection.rows())),
        width(static_cast<int>(w.query.rows())) {}

  simulate::ContextMatrices<T> matrices() const {
    return {query.data(), key.data(), value.data(), projection.data(), width};
  }
};

std::vector<double> metrics(const classification::Prediction<double>& p, std::int64_t label) {
  Eigen::Index largest = 0;
  p.logits.maxCoeff(&largest);
  const double own = p.logits(label);
  const double margin = own - (p.logits.sum() - own) / static_cast<double>(p.logits.size() - 1);
  return {classification::cross_entropy(p, label),
          largest == label ? 1.0 : 0.0,
          classification::entropy(p),
          p.probabilities(label),
          margin,
          margin * margin};
}

/// The largest deviation of the trial from the matrix form over 1 + the size of what is compared.
template <class T, class Act, class Matrix>
double deviation(const SphereTask& task, QueryToken token, const Act& activation, const Matrix& host) {
  const auto weights = random_weights(task.dimension + task.classes);
  const HeldWeights<T> held(weights);
  const simulate::ContextAttentionTrial<T, Act> trial{simulate::detail::draw_of<T>(task), held.matrices(), activation,
                                                      token};
  CHECK(testing::lanes_agree(trial, seed));
  double largest = 0;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const auto values = testing::values_of<1>(trial, seed, index);
    const auto drawn = simulate::draw_sphere_context<T>(task, seed, index);
    const auto expected = metrics(host(weights, testing::host_context(drawn), drawn.query_label), drawn.query_label);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double off = std::abs(static_cast<double>(values[i]) - expected[i]) / (1 + std::abs(expected[i]));
      largest = testing::worse(largest, off);
    }
  }
  return largest;
}

/// A kernel that the library does not have: (1 + q.k)^3 of keys and queries.
struct CubicKernel {
  static bool is_softmax() { return false; }

  template <class T, int W>
  Lanes<T, W> operator()(simulate::LaneArray<T, W> query, simulate::LaneArray<T, W> key, int width) const {
    const Lanes<T, W> base = T(1) + simulate::dot(query, key, width);
    return base * base * base;
  }
};

}  // namespace

TEST_CASE("literal attention is the matrix form of the same context, whatever the weights") {
  using Kind = Activation<double>::Kind;
  for (const SphereTask& task :
       {SphereTask{2, 3, 12}, SphereTask{5, 4, 8}, SphereTask{3, 4, 11, ContextLaw::independent}}) {
    for (const QueryToken token : {QueryToken::excluded, QueryToken::included}) {
      for (const auto& [kind, host_kind] : {std::pair{Kind::identity, AttentionKind::linear},
                                            {Kind::exponential, AttentionKind::exponential},
                                            {Kind::softmax, AttentionKind::softmax}}) {
        const auto host = [own = host_kind, token](double scale) {
          return [own, scale, token](const auto& w, const auto& context, std::int64_t label) {
            return classification::context_attention(classification::merged(w), own, scale, context, label, token)
                .prediction;
          };
        };
        CAPTURE(task.dimension, task.classes, static_cast<int>(token));
        CHECK(deviation<double>(task, token, Activation<double>{kind, 0.5}, host(0.5)) <= 1e-12);
        const auto single = static_cast<Activation<float>::Kind>(kind);
        CHECK(deviation<float>(task, token, Activation<float>{single, 0.5f}, host(0.5)) <= 3e-4);
        CHECK(deviation<double>(task, token, Activation<double>{kind, 0.5}, host(0.501)) > 1e-4);
      }
      const auto radial = [&](const auto& w, const auto& context, std::int64_t label) {
        return classification::rbf_context_attention(w, context, label, token).prediction;
      };
      CHECK(deviation<double>(task, token, simulate::RadialActivation<double>{}, radial) <= 1e-12);
    }
  }
}

TEST_CASE("the constructed weights are the rules, context by context, and are not with 1% more") {
  const SphereTask task{3, 4, 20};
  const simulate::Options options{.seed = seed, .trials = 2048};
  const double width = 7, rate = 30, gain = 6, kappa = 4;
  using Kind = Activation<double>::Kind;
  const Activation<double> plain{Kind::identity, 1}, exponential{Kind::exponential, 1},
      softmax{Kind::softmax, 1 / std::sqrt(width)};
  const auto linear = classification::linear_construction<double>(3, 4, 20, rate);
  const auto kernel = classification::kernel_construction<double>(3, 4, 20, kappa, rate);
  const auto radial = classification::rbf_construction<double>(3, 4, 20, kappa, rate);
  const auto adaptive = classification::softmax_construction<double>(3, 4, kappa, gain);
  const auto rules = simulate::classification<double>(task,
                                                      {{ClassificationRule::linear, 0, rate},
                                                       {ClassificationRule::kernel, kappa, rate},
                                                       {ClassificationRule::adaptive_with_query, kappa, gain},
                                                       {ClassificationRule::adaptive, kappa, gain},
                                                       {ClassificationRule::linear, 0, rate * 1.01}},
                                                      options);
  const auto off = [&](std::size_t rule, const auto& weights, const auto& activation, QueryToken token) {
    const auto literal = simulate::context_attention<double>(task, weights, activation, token, options);
    double largest = 0;
    const auto add = [&](ClassificationMetric ours, ContextAttentionMetric theirs) {
      largest = std::max(largest, std::abs(rules.at(rule, ours).mean - literal.at(theirs).mean));
    };
    add(ClassificationMetric::loss, ContextAttentionMetric::loss);
    add(ClassificationMetric::accuracy, ContextAttentionMetric::accuracy);
    add(ClassificationMetric::entropy, ContextAttentionMetric::entropy);
    add(ClassificationMetric::probability, ContextAttentionMetric::probability);
    return largest;
  };
  for (const QueryToken token : {QueryToken::excluded, QueryToken::included}) {
    CHECK(off(0, linear, plain, token) <= 1e-12);
    CHECK(off(1, kernel, exponential, token) <= 1e-12);
    CHECK(off(1, radial, simulate::RadialActivation<double>{}, token) <= 1e-12);
    CHECK(off(4, linear, plain, token) > 1e-6);
  }
  CHECK(off(2, adaptive, softmax, QueryToken::included) <= 1e-12);
  CHECK(off(3, adaptive, softmax, QueryToken::excluded) <= 1e-12);
  CHECK(off(3, adaptive, softmax, QueryToken::included) > 1e-4);  // which key the query is matters
}

TEST_CASE("literal attention on two classes has the exact margins, and not their limits") {
  const std::int64_t d = 3, n = 20;
  const double kappa = 4, rate = 10, gain = 5;
  const SphereTask task{d, 2, n};
  const simulate::Options options{.seed = seed, .trials = 65536};
  using Kind = Activation<float>::Kind;
  const auto exact = classification::kernel_margin(d, kappa, n, rate);
  const auto kernel =
      simulate::context_attention(task, classification::kernel_construction<double>(d, 2, n, kappa, rate),
                                  Activation<float>{Kind::exponential, 1}, QueryToken::included, options);
  CHECK(std::abs(testing::z_of(exact.mean, kernel.at(ContextAttentionMetric::margin))) <= 5);
  CHECK(std::abs(testing::z_of(exact.mean_square, kernel.at(ContextAttentionMetric::squared_margin))) <= 5);
  const double noiseless = classification::kernel_margin(d, kappa, 1'000'000, rate).mean_square;
  CHECK(std::abs(testing::z_of(noiseless, kernel.at(ContextAttentionMetric::squared_margin))) > 5);
  const Activation<float> softmax{Kind::softmax, 1 / std::sqrt(5.0f)};
  for (const QueryToken token : {QueryToken::excluded, QueryToken::included}) {
    const auto run = simulate::context_attention(task, classification::softmax_construction<double>(d, 2, kappa, gain),
                                                 softmax, token, options);
    const auto& margin = run.at(ContextAttentionMetric::margin);
    CHECK(std::abs(testing::z_of(classification::mean_adaptive_margin(d, kappa, n, gain, token), margin)) <= 5);
    const auto other = token == QueryToken::included ? QueryToken::excluded : QueryToken::included;
    CHECK(std::abs(testing::z_of(classification::mean_adaptive_margin(d, kappa, n, gain, other), margin)) > 5);
    CHECK(std::abs(testing::z_of(classification::mean_adaptive_margin(d, kappa, 1'000'000, gain, token), margin)) > 5);
  }
}

TEST_CASE("any kernel of one's own runs in the literal trial") {
  const SphereTask task{3, 4, 8};
  const auto host = [&](const auto& w, const auto& context, std::int64_t) {
    const auto tokens = classification::context_tokens(context, QueryToken::included);
    const classification::Vector<double> query = w.query * tokens.row(8).transpose();
    const classification::Matrix<double> keys = tokens * w.key.transpose();
    classification::Vector<double> sum = classification::Vector<double>::Zero(7);
    for (Eigen::Index j = 0; j < 9; ++j) sum += std::pow(1 + keys.row(j).dot(query), 3) * tokens.row(j).transpose();
    const classification::Vector<double> logits = (w.projection * (w.value * sum)).tail(4);
    return classification::predict<double>(logits, classification::Matrix<double>::Zero(4, 3));
  };
  CHECK(deviation<double>(task, QueryToken::included, CubicKernel{}, host) <= 1e-10);
}

TEST_CASE("literal attention refuses weights that do not fit, by name") {
  auto weights = classification::linear_construction<double>(3, 2, 20, 5.0);
  const auto message = [&](const SphereTask& task) {
    return testing::message_of([&] {
      simulate::context_attention(task, weights, Activation<float>{}, QueryToken::included, {.seed = 1, .trials = 2});
    });
  };
  CHECK(testing::names(message({4, 2, 20}), "query.rows()", "value = 5"));
  CHECK(testing::names(message({3, 2, 21}), "context_length", "value = 21"));
  weights.value(0, 1) = std::nan("");
  CHECK(testing::names(message({3, 2, 20}), "an entry of value"));
  weights.value(0, 1) = 0x1p200;
  CHECK(testing::names(message({3, 2, 20}), "an entry of value", "value = 1.6"));
}

TEST_CASE("literal attention has the same bits on every device") {
  const auto weights = classification::softmax_construction<double>(3, 2, 4.0, 5.0);
  CHECK(testing::devices_agree([&](simulate::Device device, int threads) {
    return simulate::context_attention({3, 2, 20}, weights, Activation<float>{Activation<float>::Kind::softmax, 0.4f},
                                       QueryToken::included,
                                       {.seed = 1, .trials = 3000, .device = device, .threads = threads})
        .run;
  }));
}

}  // namespace context_attention_test
