#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/error_gradient.hpp"
#include "incontext/training/gradient_flow.hpp"

/// The numbers that training changes in a layer for regression in context, whether by sampled or by exact gradients.
namespace incontext::training {

/// What is trained: M, v_x and v_y at inverse temperature 1; M alone, with v_x and v_y given; or the inverse
/// temperature of a given layer.
enum class RegressionParameters { layer, scores, temperature };

/// A layer and the inverse temperature of its scores.
struct RegressionLayer {
  regression::Attention<double> attention;
  double inverse_temperature = 1;
};

/// How many numbers are trained.
inline std::size_t parameter_count(RegressionParameters parameters, std::int64_t dimension) {
  const auto d = static_cast<std::size_t>(dimension);
  if (parameters == RegressionParameters::temperature) return 1;
  return parameters == RegressionParameters::layer ? d * d + d + 1 : d * d;
}

namespace detail {

using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

}  // namespace detail

/// The numbers of a layer: M by rows, then v_x, then v_y.
///
/// Shapes    d -> d^2 + d + 1
inline std::vector<double> layer_parameters(const regression::Attention<double>& attention) {
  const detail::ByRows by_rows = attention.key_query;
  std::vector<double> numbers(by_rows.data(), by_rows.data() + by_rows.size());
  numbers.insert(numbers.end(), attention.input_value.data(),
                 attention.input_value.data() + attention.input_value.size());
  numbers.push_back(attention.label_value);
  return numbers;
}

/// The layer that these numbers stand for: `fixed`, with the trained numbers in the place of its own.
///
/// Errors    std::invalid_argument for another number of parameters.
inline RegressionLayer regression_layer(RegressionParameters parameters, const regression::Attention<double>& fixed,
                                        std::int64_t dimension, std::span<const double> numbers) {
  require_same_size("training::regression_layer", "parameters", std::ssize(numbers),
                    static_cast<std::ptrdiff_t>(parameter_count(parameters, dimension)));
  if (parameters == RegressionParameters::temperature) return {fixed, numbers.front()};
  const Eigen::Index d = dimension;
  RegressionLayer layer{fixed, 1.0};
  layer.attention.key_query = Eigen::Map<const detail::ByRows>(numbers.data(), d, d);
  if (parameters == RegressionParameters::layer) {
    layer.attention.input_value = Eigen::Map<const numerics::Vector<double>>(numbers.data() + d * d, d);
    layer.attention.label_value = numbers.back();
  }
  return layer;
}

/// The numbers of a gradient, in the order of the parameters.
inline std::vector<double> gradient_numbers(RegressionParameters parameters,
                                            const regression::ErrorGradient<double>& gradient) {
  if (parameters == RegressionParameters::temperature) return {gradient.inverse_temperature};
  std::vector<double> numbers = layer_parameters(gradient.attention);
  numbers.resize(parameter_count(parameters, gradient.attention.input_value.size()));
  return numbers;
}

/// The exact loss of a layer as a function of the trained numbers. `error` is called with a layer and an inverse
/// temperature, and returns the error with its gradient: regression::generalization_error_gradient and its relatives.
///
///     const auto loss = training::population_loss(training::RegressionParameters::layer, {}, task.dimension(),
///         [&](const auto& layer, double b) { return regression::generalization_error_gradient(layer, task, 40, b); });
///
/// Source    derived: docs/theory/training.md#population-gradients.
template <class Error>
ExactLoss population_loss(RegressionParameters parameters, const regression::Attention<double>& fixed,
                          std::int64_t dimension, Error error) {
  return [=](std::span<const double> numbers) {
    const RegressionLayer at = regression_layer(parameters, fixed, dimension, numbers);
    const regression::ErrorGradient<double> here = error(at.attention, at.inverse_temperature);
    return LossAndGradient{here.error, gradient_numbers(parameters, here)};
  };
}

}  // namespace incontext::training
