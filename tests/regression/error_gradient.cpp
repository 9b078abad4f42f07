#include "incontext/regression/error_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "regression/layer_entries.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {
namespace {

using regression::Attention;
using regression::ErrorGradient;
using regression::LinearTask;
using regression::Offset;

template <class T>
T error_at(const regression::InverseTemperatureParabola<T>& parabola, const T& b) {
  return parabola.constant + b * (b * parabola.quadratic - 2 * parabola.linear);
}

/// The largest distance of a gradient from differences of the error, over the largest derivative. The error is a
/// parabola in every single parameter, so that central differences are exact at any step.
template <class T, class Error>
double off_differences(const ErrorGradient<T>& gradient, const Attention<T>& attention, T b, const Error& error,
                       Worst& worst) {
  T largest = 0, off = 0;
  const auto entries = entries_of(attention);
  const auto slopes = entries_of(gradient.attention);
  constexpr T step = 0.25;
  const auto add = [&](const T& difference, const T& slope) {
    largest = std::max(largest, std::abs(difference));
    const T here = std::abs(difference - slope);
    if (!(here <= off)) off = here;
  };
  for (std::size_t i = 0; i < entries.size(); ++i) {
    auto above = entries, below = entries;
    above[i] += step;
    below[i] -= step;
    add((error(attention_of(above, attention.input_value.size()), b) -
         error(attention_of(below, attention.input_value.size()), b)) /
            (2 * step),
        slopes[i]);
  }
  add((error(attention, T(b + step)) - error(attention, T(b - step))) / (2 * step), gradient.inverse_temperature);
  const T value_off = std::abs(error(attention, b) - gradient.error);
  if (!(value_off <= off)) off = value_off;
  worst.add(static_cast<double>(off / largest), "d ", attention.input_value.size(), ", b ", static_cast<double>(b));
  return static_cast<double>(off / largest);
}

template <class T>
struct Case {
  Attention<T> attention;
  LinearTask<T> task;
};

template <class T, class Check>
void for_each_case(const Check& check) {
  for (const Eigen::Index d : {1, 2, 4}) {
    RegressionCases cases(static_cast<std::uint64_t>(310 + d));
    for (const auto& task : edge_tasks(d)) {
      const auto attention = as<T>(cases.attention(d));
      for (const std::int64_t l : {2, 3, 40}) {
        for (const T b : {T(1), T(0.375), T(-0.5)}) check(Case<T>{attention, as<T>(task)}, l, b);
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("gradients of the exact errors are their differences", "", double, long double) {
  using T = TestType;
  Worst kept, removed, raw;
  double least_wrong = 1;
  for_each_case<T>([&](const Case<T>& at, std::int64_t l, const T& b) {
    for (const Offset offset : {Offset::kept, Offset::removed}) {
      const auto error = [&](const Attention<T>& layer, const T& x) {
        return error_at(regression::generalization_error(layer, at.task, l, {.offset = offset}), x);
      };
      const auto gradient = regression::generalization_error_gradient(at.attention, at.task, l, b, offset);
      off_differences(gradient, at.attention, b, error, offset == Offset::kept ? kept : removed);
      if (offset == Offset::kept && l == 3) {  // twins: one more example, or the other offset
        Worst ignored;
        for (const auto& twin :
             {regression::generalization_error_gradient(at.attention, at.task, l + 1, b, offset),
              regression::generalization_error_gradient(at.attention, at.task, l, b, Offset::removed)}) {
          auto wrong = twin;
          wrong.error = gradient.error;
          least_wrong = std::min(least_wrong, off_differences(wrong, at.attention, b, error, ignored));
        }
      }
    }
    const auto error = [&](const Attention<T>& layer, const T& x) {
      return error_at(regression::linear_attention_error(layer, at.task, l), x);
    };
    off_differences(regression::linear_attention_error_gradient(at.attention, at.task, l, b), at.attention, b, error,
                    raw);
  });
  const double bound = 5e4 * static_cast<double>(std::numeric_limits<T>::epsilon());
  CHECK(kept <= bound);
  CHECK(removed <= bound);
  CHECK(raw <= bound);
  CHECK(least_wrong > 1e-4);
}

TEST_CASE("linear attention's gradients by the scores and by the values balance, and approximate softmax' do not", "") {
  Worst balance;
  double broken = 1;
  for_each_case<double>([&](const Case<double>& at, std::int64_t l, double b) {
    const auto difference = [&](const ErrorGradient<double>& g) {
      const double scores = at.attention.key_query.cwiseProduct(g.attention.key_query).sum();
      const double values =
          at.attention.input_value.dot(g.attention.input_value) + at.attention.label_value * g.attention.label_value;
      return std::abs(scores - values) / (std::abs(scores) + std::abs(values));
    };
    balance.add(difference(regression::linear_attention_error_gradient(at.attention, at.task, l, b)), "l ", l);
    broken = std::min(broken, difference(regression::generalization_error_gradient(at.attention, at.task, l, b)));
  });
  CHECK(balance <= 1e-11);
  CHECK(broken > 1e-6);
}

TEST_CASE("the derivative by the inverse temperature vanishes at the optimal temperature", "") {
  const auto model = label_model(7, 3);
  const auto parabola = regression::generalization_error(model.attention, model.task, 12);
  REQUIRE(parabola.has_optimal_temperature());
  const double best = 1 / parabola.optimal_temperature();
  const auto at = regression::generalization_error_gradient(model.attention, model.task, 12, best);
  CHECK(std::abs(at.inverse_temperature) <= 1e-14 * parabola.linear);
  CHECK(std::abs(at.error - parabola.minimum()) <= 1e-14 * parabola.constant);
}

TEST_CASE("gradients refuse what the errors refuse, by name", "") {
  const auto model = label_model(8, 2);
  CHECK(refuses<std::invalid_argument>(
      [&] { (void)regression::generalization_error_gradient(model.attention, model.task, 1); },
      {"generalization_error_gradient", "context_length", "1"}));
  CHECK(refuses<std::domain_error>(
      [&] {
        (void)regression::linear_attention_error_gradient(model.attention, model.task, 4,
                                                          std::numeric_limits<double>::infinity());
      },
      {"linear_attention_error_gradient", "inverse_temperature", "inf"}));
}

}  // namespace incontext::testing
