#include "incontext/regression/multihead_error.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "incontext/core/constants.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/softmax_optimum.hpp"
#include "incontext/regression/value_scale.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::multihead_error_test {

using namespace regression;
using Softmax = scoring::Softmax<double>;

namespace {

Matrix<double> unit(Eigen::Index d) { return Matrix<double>::Identity(d, d); }

LinearTask<double> isotropic(std::int64_t d) {
  return LinearTask<double>::isotropic(
      {.dimension = d, .task_variance = 1.0 / static_cast<double>(d), .noise_variance = 0.1});
}

LinearTask<double> three_axes() {
  const Matrix<double> inputs = Eigen::Vector3d(1.5, 0.8, 0.4).asDiagonal();
  Matrix<double> tasks = Eigen::Vector3d(0.2, 0.5, 0.3).asDiagonal();
  tasks(0, 1) = tasks(1, 0) = 0.1;
  return LinearTask<double>({.input_mean = Vector<double>::Zero(3),
                             .input_covariance = inputs,
                             .task_mean = Eigen::Vector3d(0.3, -0.2, 0.5),
                             .task_covariance = tasks,
                             .noise_variance = 0.2});
}

Matrix<double> three_keys() {
  Matrix<double> keys(3, 3);
  keys << 0.9, 0.2, 0.0, -0.1, 0.7, 0.3, 0.1, 0.0, 0.5;
  return keys;
}

std::vector<Head<Softmax>> softmax_heads(const std::vector<double>& scales) {
  std::vector<Head<Softmax>> heads;
  for (const double scale : scales) heads.push_back({scale, {1.0}});
  return heads;
}

HeadsError<double> layer(std::int64_t d, std::int64_t l, const std::vector<double>& scales) {
  return multihead_error<double>(unit(d), isotropic(d), l, softmax_heads(scales));
}

/// The squared errors of a layer as it is defined, on drawn contexts.
template <class Map>
SampleMean simulated(const Matrix<double>& keys, const LinearTask<double>& task, std::size_t l,
                     const std::vector<Head<Map>>& heads, const Vector<double>& values, int contexts) {
  std::mt19937_64 engine(2503);
  std::normal_distribution<double> normal;
  const Matrix<double> inputs = task.input_covariance().llt().matrixL(), tasks = task.task_covariance().llt().matrixL();
  const auto draw = [&](const Matrix<double>& root) {
    return (root * Vector<double>::NullaryExpr(root.rows(), [&](Eigen::Index) { return normal(engine); })).eval();
  };
  const double noise = std::sqrt(task.noise_variance());
  SampleMean errors;
  for (int context = 0; context < contexts; ++context) {
    const Vector<double> w = task.task_mean() + draw(tasks), query = draw(inputs), key = keys * query;
    std::vector<double> score, label;
    for (std::size_t j = 0; j < l; ++j) {
      const Vector<double> x = draw(inputs);
      score.push_back(x.dot(key));
      label.push_back(w.dot(x) + noise * normal(engine));
    }
    double prediction = 0;
    for (std::size_t h = 0; h < heads.size(); ++h) {
      double total = 0, read = 0;
      for (std::size_t j = 0; j < l; ++j) {
        const double weight = std::exp(heads[h].map.elementwise(1).value(heads[h].key_query_scale * score[j]));
        total += weight;
        read += weight * label[j];
      }
      prediction += values(static_cast<Eigen::Index>(h)) * read / total;
    }
    errors.add(std::pow(w.dot(query) + noise * normal(engine) - prediction, 2));
  }
  return errors;
}

}  // namespace

TEST_CASE("a layer of one head errs as softmax_error says, for any covariance, length and value") {
  for (const std::int64_t l : {2, 15, 1000}) {
    for (const double scale : {-0.6, 1.1}) {
      const auto error = multihead_error<double>(three_keys(), three_axes(), l, softmax_heads({scale}));
      for (const double value : {1.0, -0.4}) {
        const Attention<double> attention{scale * three_keys(), Vector<double>::Zero(3), value};
        CAPTURE(l, scale, value);
        CHECK(relative(error(Vector<double>::Constant(1, value)),
                       softmax_error(attention, three_axes(), l, Softmax{1.0}).value) < 1e-9);
      }
      const auto best = optimal_value_scale(Attention<double>{scale * three_keys(), Vector<double>::Zero(3), 2.0},
                                            three_axes(), l, Softmax{1.0});
      CHECK(relative(2.0 * best.scale, error.best_values()(0)) < 1e-8);
      CHECK(relative(best.error, error.least()) < 1e-9);
    }
  }
}

TEST_CASE("heads that are the same are one head with the sum of their values") {
  const auto two = layer(4, 12, {0.5, 0.5}), one = layer(4, 12, {0.5});
  CHECK(relative(two(Eigen::Vector2d(0.9, -0.2)), one(Vector<double>::Constant(1, 0.7))) < 1e-9);
  CHECK(relative(two.least(), one.least()) < 1e-9);
  CHECK(relative(two.best_values()(0), two.best_values()(1)) < 1e-6);
}

TEST_CASE("two heads on two examples in one dimension err as nested sums over the definition say") {
  // The trapezoidal rule in both inputs and the query; the error is quadratic in the task and the noise.
  const double step = 0.16, noise = 0.3, scales[] = {0.8, -0.5}, values[] = {0.7, -1.1};
  double sum = 0;
  const auto weight = [&](double x) { return step * std::exp(-x * x / 2) / std::sqrt(2 * math::pi<double>()); };
  for (double x = -8; x <= 8; x += step) {
    for (double y = -8; y <= 8; y += step) {
      for (double q = -8; q <= 8; q += step) {
        double of_x = 0, of_y = 0;  // what the layer multiplies the labels with
        for (int h = 0; h < 2; ++h) {
          const double p = 1 / (1 + std::exp(scales[h] * q * (y - x)));
          of_x += values[h] * p;
          of_y += values[h] * (1 - p);
        }
        sum += weight(x) * weight(y) * weight(q) *
               (std::pow(q - of_x * x - of_y * y, 2) + noise * (1 + of_x * of_x + of_y * of_y));
      }
    }
  }
  const auto task = LinearTask<double>::isotropic({.dimension = 1, .task_variance = 1.0, .noise_variance = noise});
  const auto error = multihead_error<double>(unit(1), task, 2, softmax_heads({scales[0], scales[1]}));
  CHECK(relative(error(Eigen::Vector2d(values[0], values[1])), sum) < 1e-9);
  CHECK(relative(error(Eigen::Vector2d(values[0], -values[1])), sum) > 0.1);
}

TEST_CASE("layers of several heads agree with layers that are run, and independent heads do not") {
  const std::vector<Head<scoring::SSA<double>>> heads{{0.9, {1.0, 3.0}}, {-0.5, {0.5, 2.0}}};
  const Eigen::Vector2d values(0.8, -0.6);
  const auto error = multihead_error<double>(three_keys(), three_axes(), 10, heads);
  const auto run = simulated(three_keys(), three_axes(), 10, heads, values, 200000);
  CHECK(std::abs(run.z(error(values))) < 3.5);

  const Eigen::Vector3d three(0.5, -1.2, 0.9);
  const std::vector<double> scales{0.6, -0.3, 0.15};
  const auto at_eight = layer(8, 16, scales);
  const auto literal = simulated(unit(8), isotropic(8), 16, softmax_heads(scales), three, 100000);
  CHECK(std::abs(literal.z(at_eight(three))) < 3.5);
  auto independent = at_eight;  // the near miss: each head reads a context of its own
  for (Eigen::Index h = 0; h < 3; ++h) {
    for (Eigen::Index k = 0; k < 3; ++k) {
      if (h != k) independent.square(h, k) = at_eight.alignment(h) * at_eight.alignment(k);
    }
  }
  CHECK(std::abs(literal.z(independent(three))) > 10);
}

TEST_CASE("two opposed heads of small scale are linear attention on the centered context, in any covariance") {
  const auto limit = [](const Matrix<double>& keys, const LinearTask<double>& task, std::int64_t l) {
    return generalization_error(Attention<double>{keys, Vector<double>::Zero(keys.rows()), 1.0}, task, l,
                                {QueryToken::excluded, Offset::removed})
        .minimum();
  };
  for (const double scale : {0.02, 0.01, 0.005}) {  // the difference falls with the square of the scale
    const auto pair = multihead_error<double>(three_keys(), three_axes(), 30, softmax_heads({scale, -scale}));
    CHECK(relative(pair.least(), limit(three_keys(), three_axes(), 30)) < scale * scale);
    CHECK(pair.best_values()(0) == Approx(-pair.best_values()(1)).epsilon(1e-5));
  }
  CHECK(relative(layer(20, 200, {0.005, -0.005}).least(), limit(unit(20), isotropic(20), 200)) < 1e-5);
}

TEST_CASE("two opposed heads halve the error that the best temperature leaves, and a third gains little") {
  const auto best = [](std::int64_t heads) { return best_softmax_heads<double>(unit(8), isotropic(8), 64, heads); };
  const auto one = best(1), two = best(2), three = best(3);
  CHECK(one.error == Approx(0.3972).epsilon(1e-3));
  CHECK(two.error == Approx(0.2346).epsilon(1e-3));
  CHECK(two.key_query_scales(0) * two.key_query_scales(1) < 0);
  CHECK(two.values(0) * two.values(1) < 0);
  CHECK(three.error < two.error * (1 + 1e-4));
  CHECK(three.error > two.error * 0.998);
  CHECK(one.place == numerics::SearchPlace::inside);
  for (const double factor : {0.8, 1.25}) {  // of either scale and of the values
    CHECK(layer(8, 64, {factor * two.key_query_scales(0), two.key_query_scales(1)}).least() > two.error * (1 - 2e-4));
    CHECK(layer(8, 64, {two.key_query_scales(0), factor * two.key_query_scales(1)}).least() > two.error * (1 - 2e-4));
    CHECK(layer(8, 64, {one.key_query_scales(0)})(factor * one.values) > one.error);
  }
}

TEST_CASE("the best single head is the best temperature with the best value, found in another way") {
  for (const auto& [d, l] : {std::pair{1, 2}, {3, 30}, {60, 120}}) {
    const auto task = isotropic(d);
    const auto at = [&, d = d, l = l](double temperature) {
      return optimal_value_scale(Attention<double>{unit(d), Vector<double>::Zero(d), 1.0}, task, l,
                                 Softmax{temperature})
          .error;
    };
    const auto least = minimize_softmax_error<double>(at, {1e-3, 1.0, 1e4});
    CAPTURE(d, l);
    CHECK(relative(best_softmax_heads<double>(unit(d), task, l, 1).error, least.error) < 1e-6);
  }
}

TEST_CASE("heads that hardly read, and values of any size, keep their digits") {
  for (const double scale : {0.0, 1e-200, 1e-9}) {
    CAPTURE(scale);
    CHECK(relative(layer(4, 12, {0.5, scale}).least(), layer(4, 12, {0.5, 0.0}).least()) < 1e-7);
    CHECK(relative(layer(4, 12, {scale}).least(), 1.1) < 1e-9);
  }
  const auto scaled = [](double value) {
    const auto best =
        optimal_value_scale(Attention<double>{unit(4), Vector<double>::Zero(4), value}, isotropic(4), 12, Softmax{2.0});
    return std::pair{value * best.scale, best.error};
  };
  for (const double value : {1e-9, 1e9}) {
    CHECK(relative(scaled(value).first, scaled(1).first) < 1e-9);
    CHECK(relative(scaled(value).second, scaled(1).second) < 1e-9);
  }
  CHECK(scaled(0) == std::pair{0.0, 1.1});
}

TEST_CASE("what a layer of heads cannot be is refused by name") {
  const auto at = [](const auto& heads) { return multihead_error<double>(unit(2), isotropic(2), 8, heads); };
  CHECK(
      refuses<std::invalid_argument>([&] { at(softmax_heads({})); }, {"multihead_error", "heads.size()", "value = 0"}));
  CHECK(refuses([&] { at(softmax_heads({0.5, std::nan("")})); }, {"heads[1].key_query_scale", "nan"}));
  CHECK(refuses([&] { at(std::vector<Head<Softmax>>{{1.0, {-1.0}}}); }, {"temperature", "-1"}));
  CHECK(refuses([&] { multihead_error<double>(0 * unit(2), isotropic(2), 8, softmax_heads({1.0})); },
                {"key_query is too small", "value = 0"}));
  CHECK(refuses([&] { best_softmax_heads<double>(0 * unit(2), isotropic(2), 8, 2); }, {"key_query is too small"}));
  CHECK(refuses([&] { at(softmax_heads({0.1, -30})); }, {"heads[1].key_query_scale is too large", "value = -30"}));
  CHECK(refuses<std::invalid_argument>(
      [&] {
        multihead_error<double>(unit(2), isotropic(2).with_input_mean(Eigen::Vector2d(1, 0)), 8, softmax_heads({1.0}));
      },
      {"input_mean"}));
  CHECK(refuses<std::invalid_argument>([&] { layer(2, 8, {0.5})(Eigen::Vector2d(1, 1)); }, {"values"}));
  CHECK(refuses<std::invalid_argument>([] { best_softmax_heads<double>(unit(2), isotropic(2), 8, 0); }, {"count"}));
}

}  // namespace incontext::testing::multihead_error_test
