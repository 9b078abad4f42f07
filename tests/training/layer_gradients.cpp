#include "incontext/training/layer_gradients.hpp"

#include <cmath>
#include <stdexcept>

#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/sa_softmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace training;

namespace {

struct Layer {
  Matrix<double> tokens, queries, upstream;
  LayerWeights<double> weights;

  explicit Layer(std::uint64_t seed, double scale = 1) {
    RegressionCases random(seed);
    tokens = random.matrix(6, 4);
    queries = random.matrix(3, 4);
    upstream = random.matrix(3, 5);
    weights = {scale * random.matrix(4, 2), scale * random.matrix(4, 2), random.matrix(4, 5)};
  }

  double loss(const auto& map) const {
    return layer_gradients(map, tokens, queries, weights, upstream).output.cwiseProduct(upstream).sum();
  }
  auto gradients(const auto& map) const { return layer_gradients(map, tokens, queries, weights, upstream); }
};

/// Central differences of the loss <G, O> against the gradient.
void check_differences(const auto& map, std::uint64_t seed) {
  Layer layer(seed);
  const auto gradient = layer.gradients(map).gradient;
  const auto check = [&](Matrix<double>& parameter, const Matrix<double>& expected) {
    REQUIRE(parameter.rows() == expected.rows());
    for (Eigen::Index i = 0; i < parameter.size(); ++i) {
      const double kept = parameter.data()[i], step = 1e-5;
      parameter.data()[i] = kept + step;
      const double up = layer.loss(map);
      parameter.data()[i] = kept - step;
      const double down = layer.loss(map);
      parameter.data()[i] = kept;
      CHECK(std::abs((up - down) / (2 * step) - expected.data()[i]) < 1e-8 * (1 + expected.cwiseAbs().maxCoeff()));
    }
    CHECK(expected.cwiseAbs().maxCoeff() > 1e-3);
  };
  check(layer.weights.query, gradient.query);
  check(layer.weights.key, gradient.key);
  check(layer.weights.value, gradient.value);
}

}  // namespace

TEST_CASE("gradients of a layer are differences of its loss", "[training]") {
  check_differences(scoring::Softmax<double>{0.8}, 1);
  check_differences(scoring::SSMax<double>{0.6, 0.2}, 2);
  check_differences(scoring::SSA<double>{1.2, 1.5}, 3);
  check_differences(scoring::ApproximateSoftmax<double>{1.4}, 4);
  check_differences(scoring::NormSoftmax<double>{100}, 5);
  check_differences(scoring::SaSoftmax<double>{}, 6);
}

TEST_CASE("uniform attention: W_K and W_Q learn from the tokens' covariance alone", "[training]") {
  Layer layer(11);
  const double tau = 1.3;
  const Matrix<double> key = layer.weights.key, query = layer.weights.query;
  layer.weights.query.setZero();
  const Eigen::RowVectorXd mean = layer.tokens.colwise().mean();
  const Matrix<double> centered = layer.tokens.rowwise() - mean;
  const Matrix<double> covariance = centered.transpose() * centered / 6;
  auto gradient = layer.gradients(scoring::Softmax<double>{tau}).gradient;
  CHECK(gradient.key.cwiseAbs().maxCoeff() == 0);
  const Matrix<double> value = mean.transpose() * layer.upstream.colwise().sum();
  CHECK((gradient.value - value).norm() < 1e-13);
  const Matrix<double> expected =
      layer.queries.transpose() * layer.upstream * layer.weights.value.transpose() * covariance * key / tau;
  CHECK((gradient.query - expected).norm() < 1e-13);

  layer.weights = {query, Matrix<double>::Zero(4, 2), layer.weights.value};
  gradient = layer.gradients(scoring::Softmax<double>{tau}).gradient;
  const Matrix<double> keys =
      covariance * layer.weights.value * layer.upstream.transpose() * layer.queries * query / tau;
  CHECK((gradient.key - keys).norm() < 1e-13);
  CHECK(gradient.query.cwiseAbs().maxCoeff() == 0);
  CHECK_FALSE((gradient.key - keys * tau).norm() < 1e-3);
}

TEST_CASE("one-hot attention: only W_V learns", "[training]") {
  Layer layer(12, 1000);
  const auto pass = layer.gradients(scoring::Softmax<double>{1e-3});
  CHECK(pass.gradient.query.cwiseAbs().maxCoeff() == 0);
  CHECK(pass.gradient.key.cwiseAbs().maxCoeff() == 0);
  Matrix<double> expected = Matrix<double>::Zero(4, 5);
  for (Eigen::Index i = 0; i < 3; ++i) {
    Eigen::Index best = 0;
    CHECK(pass.attention.row(i).maxCoeff(&best) == 1);
    expected += layer.tokens.row(best).transpose() * layer.upstream.row(i);
  }
  CHECK((pass.gradient.value - expected).norm() < 1e-13);
}

TEST_CASE("gradients of a layer refuse what does not fit", "[training]") {
  const scoring::Softmax<double> map{};
  const Layer good(13);
  const auto message = [&](auto change) {
    Layer layer = good;
    change(layer);
    return message_of([&] { layer.gradients(map); });
  };
  CHECK(names(message([](Layer& l) { l.queries = Matrix<double>::Zero(3, 5); }), "layer_gradients", "queries"));
  CHECK(names(message([](Layer& l) { l.weights.query = Matrix<double>::Zero(4, 3); }), "layer.query"));
  CHECK(names(message([](Layer& l) { l.weights.key = Matrix<double>::Zero(5, 2); }), "layer."));
  CHECK(names(message([](Layer& l) { l.weights.value = Matrix<double>::Zero(3, 5); }), "layer.value"));
  CHECK(names(message([](Layer& l) { l.upstream = Matrix<double>::Zero(2, 5); }), "upstream"));
  CHECK(names(message([](Layer& l) { l.tokens(0, 0) = std::nan(""); }), "tokens"));
  CHECK(names(message([](Layer& l) { l.upstream(0, 0) = std::nan(""); }), "upstream"));
  CHECK(names(message_of([&] { good.gradients(scoring::Softmax<double>{-1}); }), "temperature", "-1"));
  CHECK(message_of([&] { good.gradients(map); }).empty());
}

TEST_CASE("layer gradients accept maps of a foreign namespace, and refuse one that its own validate refuses",
          "[training]") {
  check_differences(foreign::Asinh<double>(1.5), 31);
  check_differences(foreign::SinkSoftmax<double>(0.75), 32);
  CHECK(names(message_of([] { Layer(33).gradients(foreign::SinkSoftmax<double>(-1)); }), "foreign::SinkSoftmax",
              "temperature"));
}

}  // namespace incontext::testing
