#include "examples/softmax_error/theory.hpp"

#include <incontext/baselines/ridge_risk.hpp>
#include <incontext/regression/centered_ridge_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/inverse_temperature_parabola.hpp>
#include <incontext/regression/multihead_error.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/regression/softmax_error_isotropic.hpp>
#include <incontext/regression/softmax_optimum.hpp>
#include <incontext/regression/softmax_second_order.hpp>

#include <cmath>
#include <cstddef>
#include <variant>

#include "examples/support/text.hpp"

namespace incontext::examples::softmax_error {

numerics::Quadrature<double> exact_error(const Situation& at, const Map& map) {
  return maps::visit("exact_error", map, [&]<scoring::SoftmaxLike One>(const One& one) {
    if (at.isotropic) {
      return regression::softmax_error_isotropic(at.isotropic->attention, at.isotropic->task, at.context_length, one,
                                                 at.query);
    }
    return regression::softmax_error(at.attention, at.task, at.context_length, one, at.query);
  });
}

std::optional<double> equal_temperature(const Situation& at, const Map& map) {
  if (const auto* softmax = std::get_if<Softmax>(&map.chosen)) return softmax->temperature;
  if (const auto* ssmax = std::get_if<SSMax>(&map.chosen)) {
    return 1 / ssmax->inverse_temperature(static_cast<std::ptrdiff_t>(at.context_length));
  }
  return std::nullopt;
}

std::optional<double> second_order_error(const Situation& at, double temperature) {
  const auto lowest = second_order_temperature(at);
  if (!lowest || !(temperature > *lowest)) return std::nullopt;
  const auto at_length = [&](std::int64_t l) {
    return regression::softmax_error_second_order(at.attention, at.task, temperature, l);
  };
  constexpr std::int64_t long_context = std::int64_t{1} << 52;
  const double limit = at_length(long_context), second_order = at_length(at.context_length);
  if (!(std::abs(second_order - limit) <= largest_correction * limit)) return std::nullopt;
  return second_order;
}

std::optional<double> second_order_temperature(const Situation& at) {
  const bool included = at.query == regression::QueryToken::included;
  if (included || at.task.input_mean().squaredNorm() > 0 || at.attention.input_value.squaredNorm() > 0) return {};
  return std::sqrt(3) * regression::second_order_lowest_temperature(at.attention, at.task);
}

namespace {

regression::InverseTemperatureParabola<double> approximation(const Situation& at) {
  return regression::generalization_error(at.attention, at.task, at.context_length, {.query = at.query});
}

/// The least error over a positive parameter of a map, looked for from `start`.
template <class MakeMap>
Optimum least(const Situation& at, double start, const MakeMap& make) {
  return regression::minimize_softmax_error([&](double x) { return exact_error(at, Map{make(x)}).value; },
                                            regression::SearchRange<double>{start / 1e4, start, start * 1e6});
}

bool has_isotropic_optimum(const Situation& at) {
  return at.isotropic.has_value() && at.query == regression::QueryToken::excluded;
}

}  // namespace

double approximate_error(const Situation& at, double temperature) { return approximation(at)(temperature); }

double approximate_optimal_temperature(const Situation& at) {
  if (has_isotropic_optimum(at)) {
    return regression::optimal_temperature_isotropic(at.isotropic->attention, at.isotropic->task, at.context_length);
  }
  const double optimal = approximation(at).optimal_temperature();
  if (!std::isfinite(optimal)) {
    throw InputError("--attention: no positive temperature is optimal for approximate softmax under this law");
  }
  return optimal;
}

std::optional<double> bayes_risk(const Situation& at) {
  if (!at.task.input_mean().isZero(0)) return std::nullopt;
  constexpr std::int64_t longest_spectrum = 1'000'000;
  if (at.isotropic && at.context_length <= longest_spectrum) {
    const auto& task = at.isotropic->task;
    const incontext::baselines::WishartSpectrum<double> spectrum(at.context_length, task.dimension);
    return incontext::baselines::bayes_risk(spectrum, {task.noise_variance, task.input_variance * task.task_variance});
  }
  // Centering costs one example, and the posterior mean does not center.
  return regression::centered_ridge_risk_equivalent(at.task, at.context_length + 1).risk;
}

Heads best_heads(const Situation& at, std::int64_t count) {
  return regression::best_softmax_heads<double>(at.attention.key_query, at.task, at.context_length, count);
}

Optimum optimal_temperature(const Situation& at) {
  if (!has_isotropic_optimum(at)) {
    return least(at, approximate_optimal_temperature(at), [](double t) { return Softmax{t}; });
  }
  return regression::softmax_optimal_temperature_isotropic(at.isotropic->attention, at.isotropic->task,
                                                           at.context_length);
}

Optimum optimal_scale(const Situation& at) {
  if (!has_isotropic_optimum(at)) {
    const Optimum best = optimal_temperature(at);
    return {1 / (best.parameter * std::log(static_cast<double>(at.context_length))), best.error, best.place};
  }
  return regression::ssmax_optimal_scale_isotropic(at.isotropic->attention, at.isotropic->task, at.context_length);
}

Optimum optimal_base(const Situation& at, double exponent) {
  if (!has_isotropic_optimum(at)) {
    return least(at, 1 / (exponent * approximate_optimal_temperature(at)), [exponent](double b) {
      return SSA{b, exponent};
    });
  }
  return regression::ssa_optimal_base_isotropic(at.isotropic->attention, at.isotropic->task, at.context_length,
                                                exponent);
}

}  // namespace incontext::examples::softmax_error
