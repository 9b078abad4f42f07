#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"

/// Adam with decoupled weight decay, and clipping by the global norm.
namespace incontext::training {

/// The constants of Adam. With weight_decay > 0 it is AdamW.
///
/// Source    Kingma and Ba 2015; Loshchilov and Hutter 2019.
/// Domain    0 <= beta1, beta2 < 1; epsilon > 0; weight_decay >= 0.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

/// Refuses constants outside their domain.
///
/// Errors    std::domain_error that names the constant.
inline void validate(const AdamOptions& options) {
  constexpr std::string_view where = "training::AdamOptions";
  for (const auto& [name, beta] : {std::pair{"beta1", options.beta1}, std::pair{"beta2", options.beta2}}) {
    require_non_negative(where, name, beta);
    if (!(beta < 1)) throw_domain_error(where, std::string(name) + " is too large", beta, "less than 1");
  }
  require_positive(where, "epsilon", options.epsilon);
  require_non_negative(where, "weight_decay", options.weight_decay);
}

/// The state of Adam between two steps: the running means of the gradient and of its square, and the steps so far.
///
/// Shapes    first, second: one number per parameter, or empty before the first step.
struct AdamState {
  std::vector<double> first = {}, second = {};
  std::int64_t steps = 0;
};

/// One step of Adam or AdamW; changes the parameters and the state.
///
/// \f[ m \leftarrow \beta_1 m + (1-\beta_1) g,\quad v \leftarrow \beta_2 v + (1-\beta_2) g^2,\quad
///     \theta \leftarrow \theta
///     - r \Bigl(\frac{m/(1-\beta_1^t)}{\sqrt{v/(1-\beta_2^t)} + \epsilon} + w\,\theta\Bigr) \f]
///
/// Weight decay w acts on parameter i only if `decays` is empty or decays[i] is true.
///
/// Source    Kingma and Ba 2015, Algorithm 1; Loshchilov and Hutter 2019, Algorithm 2.
/// Shapes    parameters, gradient: equal lengths; decays: that length or empty.
/// Units     rate: of the parameters.
/// Domain    rate >= 0; finite gradient.
/// Limits    the first step moves a parameter by rate x sign(g), up to epsilon.
/// Errors    std::invalid_argument for lengths, std::domain_error for values.
/// Accuracy  exact but for rounding: tests/training/adam.cpp.
inline void adam_step(const AdamOptions& options, double rate, std::span<const double> gradient, AdamState& state,
                      std::span<double> parameters, const std::vector<bool>& decays = {}) {
  constexpr std::string_view where = "training::adam_step";
  require_same_size(where, "gradient", std::ssize(gradient), std::ssize(parameters));
  if (!decays.empty()) require_same_size(where, "decays", std::ssize(decays), std::ssize(parameters));
  require_non_negative(where, "rate", rate);
  if (state.steps == 0) {
    state.first.assign(parameters.size(), 0.0);
    state.second.assign(parameters.size(), 0.0);
  }
  require_same_size(where, "state", std::ssize(state.first), std::ssize(parameters));
  ++state.steps;
  const auto t = static_cast<double>(state.steps);
  const double first_scale = 1 / (1 - std::pow(options.beta1, t)), second_scale = 1 / (1 - std::pow(options.beta2, t));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const double g = gradient[i];
    state.first[i] += (1 - options.beta1) * (g - state.first[i]);
    state.second[i] += (1 - options.beta2) * (g * g - state.second[i]);
    const double direction =
        state.first[i] * first_scale / (std::sqrt(state.second[i] * second_scale) + options.epsilon);
    const double decay = decays.empty() || decays[i] ? options.weight_decay * parameters[i] : 0.0;
    parameters[i] -= rate * (direction + decay);
  }
}

/// Scales a gradient to a length of at most `largest_norm`, and returns the length that it had.
///
/// Source    Pascanu, Mikolov and Bengio 2013.
/// Shapes    the gradient of all parameters together.
/// Units     of the gradient.
/// Domain    largest_norm > 0; infinity leaves the gradient as it is.
/// Errors    std::domain_error for largest_norm <= 0.
/// Accuracy  exact but for rounding: tests/training/adam.cpp.
inline double clip_by_global_norm(std::span<double> gradient, double largest_norm) {
  if (!(largest_norm > 0)) {
    throw_domain_error("training::clip_by_global_norm", "largest_norm is not positive", largest_norm, "more than 0");
  }
  double square = 0;
  for (const double g : gradient) square += g * g;
  const double norm = std::sqrt(square);
  if (norm > largest_norm) {
    for (double& g : gradient) g *= largest_norm / norm;
  }
  return norm;
}

}  // namespace incontext::training
