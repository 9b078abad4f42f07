#include "incontext/regression/softmax_error_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "incontext/regression/softmax_error.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "regression/layer_entries.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {
namespace softmax_gradient {
namespace {

using regression::Attention;
using regression::ErrorGradient;
using regression::LinearTask;
using scoring::Softmax;

/// Fourth-order central differences of the exact error.
template <class Error>
double difference(const Error& error) {
  constexpr double h = 0.02;
  return (8 * (error(h) - error(-h)) - (error(2 * h) - error(-2 * h))) / (12 * h);
}

/// The largest distance of a gradient from differences of softmax_error, over the largest derivative.
template <class Map>
double off_differences(const ErrorGradient<double>& gradient, const Attention<double>& attention,
                       const LinearTask<double>& task, std::int64_t l, const Map& map, double b) {
  const auto error = [&](Attention<double> layer, double inverse_temperature) {
    layer.key_query *= inverse_temperature;
    return regression::softmax_error(layer, task, l, map).value;
  };
  const Eigen::Index d = attention.input_value.size();
  const auto entries = entries_of(attention), slopes = entries_of(gradient.attention);
  double largest = 0;
  Worst off;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const double expected = difference([&](double h) {
      auto moved = entries;
      moved[i] += h;
      return error(attention_of(moved, d), b);
    });
    largest = std::max(largest, std::abs(expected));
    off.add(std::abs(expected - slopes[i]), "entry ", i);
  }
  const double by_temperature = difference([&](double h) { return error(attention, b + h); });
  largest = std::max(largest, std::abs(by_temperature));
  off.add(std::abs(by_temperature - gradient.inverse_temperature), "temperature");
  off.add(std::abs(error(attention, b) - gradient.error) * largest, "error");
  return off / largest;
}

Model centered_model(Eigen::Index d) {
  RegressionCases cases(static_cast<std::uint64_t>(330 + d));
  const auto attention = cases.attention(d);
  return {attention, cases.task(d).with_input_mean(Vector<double>::Zero(d))};
}

}  // namespace

TEST_CASE("the gradient of true softmax' exact error is its difference", "") {
  for (const Eigen::Index d : {1, 3}) {
    const auto [attention, task] = centered_model(d);
    for (const double b : {0.75, -0.5}) {
      if (d > 1 && b < 0) continue;  // each case takes a second
      const auto gradient = regression::softmax_error_gradient(attention, task, 6, Softmax<double>{1}, b);
      CHECK(off_differences(gradient, attention, task, 6, Softmax<double>{1}, b) <= 1e-6);
      // twins: one more example; the gradient of approximate softmax
      if (b > 0) {
        for (auto twin : {regression::softmax_error_gradient(attention, task, 7, Softmax<double>{1}, b),
                          regression::generalization_error_gradient(attention, task, 6, b)}) {
          twin.error = gradient.error;
          CHECK(off_differences(twin, attention, task, 6, Softmax<double>{1}, b) > 1e-3);
        }
      }
    }
  }
}

TEST_CASE("the gradient knows scores far beyond the first order, and maps that are not linear", "") {
  const auto [attention, task] = centered_model(2);
  const auto sharp = regression::softmax_error_gradient(attention, task, 20, Softmax<double>{1}, 6.0);
  CHECK(off_differences(sharp, attention, task, 20, Softmax<double>{1}, 6.0) <= 1e-6);
  const auto foreign_map = regression::softmax_error_gradient(attention, task, 6, foreign::Asinh<double>(2), 0.75);
  CHECK(off_differences(foreign_map, attention, task, 6, foreign::Asinh<double>(2), 0.75) <= 1e-6);
}

TEST_CASE("softmax starts as its approximation", "") {
  const auto [attention, task] = centered_model(3);
  const double b = 1e-3;
  const auto exact = regression::softmax_error_gradient(attention, task, 9, Softmax<double>{1}, b);
  const auto approximate = regression::generalization_error_gradient(attention, task, 9, b);
  CHECK((exact.attention.key_query - approximate.attention.key_query).cwiseAbs().maxCoeff() <=
        0.01 * approximate.attention.key_query.cwiseAbs().maxCoeff());
  CHECK(std::abs(exact.attention.label_value - approximate.attention.label_value) <=
        1e-5 * std::abs(approximate.attention.label_value));
  CHECK(std::abs(exact.error - approximate.error) <= 1e-5 * approximate.error);
}

TEST_CASE("the gradient of the softmax error refuses what it does not cover, by name", "") {
  auto [attention, task] = centered_model(2);
  const Softmax<double> map{1};
  CHECK(refuses<std::domain_error>(
      [&, at = attention] { (void)regression::softmax_error_gradient(at, task, 6, map, 0.0); }, {"singular", "0"}));
  CHECK(refuses<std::invalid_argument>(
      [&, at = attention] { (void)regression::softmax_error_gradient(at, task, 1, map); }, {"context_length", "1"}));
  const auto off_center = task.with_input_mean(Vector<double>::Ones(2));
  CHECK(refuses<std::invalid_argument>(
      [&, at = attention] { (void)regression::softmax_error_gradient(at, off_center, 6, map); }, {"input_mean", "1"}));
}

}  // namespace softmax_gradient
}  // namespace incontext::testing
