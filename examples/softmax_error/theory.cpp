#include "examples/softmax_error/theory.hpp"

#include <incontext/regression/bayes_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/softmax_error_isotropic.hpp>
#include <incontext/regression/softmax_optimum.hpp>
#include <incontext/regression/softmax_second_order.hpp>

#include <cmath>
#include <cstddef>

namespace incontext::examples::softmax_error {

regression::Attention<double> Situation::general_attention() const {
  const auto d = task.dimension;
  return {attention.key_query_scale * regression::Matrix<double>::Identity(d, d), regression::Vector<double>::Zero(d),
          attention.label_value};
}

regression::LinearTask<double> Situation::general_task() const {
  return regression::LinearTask<double>::isotropic(task);
}

laws::Quadrature<double> exact_error(const Situation& at, const Map& map) {
  return std::visit(
      [&](const auto& one) {
        return regression::softmax_error_isotropic(at.attention, at.task, at.context_length, one);
      },
      map);
}

std::optional<double> equal_temperature(const Situation& at, const Map& map) {
  if (const auto* softmax = std::get_if<Softmax>(&map)) return softmax->temperature;
  if (const auto* ssmax = std::get_if<SSMax>(&map)) {
    return 1 / ssmax->inverse_temperature(static_cast<std::ptrdiff_t>(at.context_length));
  }
  return std::nullopt;
}

std::optional<double> second_order_error(const Situation& at, double temperature) {
  if (!(temperature > second_order_temperature(at))) return std::nullopt;
  return regression::softmax_error_second_order(at.general_attention(), at.general_task(), temperature,
                                                at.context_length);
}

double second_order_temperature(const Situation& at) {
  return std::sqrt(3) * regression::second_order_lowest_temperature(at.general_attention(), at.general_task());
}

double approximate_error(const Situation& at, double temperature) {
  return regression::generalization_error(at.general_attention(), at.general_task(), at.context_length)(temperature);
}

double approximate_optimal_temperature(const Situation& at) {
  return regression::optimal_temperature_isotropic(at.attention, at.task, at.context_length);
}

double bayes_risk(const Situation& at) { return regression::bayes_risk_isotropic_limit(at.task, at.context_length); }

Optimum optimal_temperature(const Situation& at) {
  const auto best = regression::softmax_optimal_temperature_isotropic(at.attention, at.task, at.context_length);
  return {best.parameter, best.error};
}

Optimum optimal_scale(const Situation& at) {
  const auto best = regression::ssmax_optimal_scale_isotropic(at.attention, at.task, at.context_length);
  return {best.parameter, best.error};
}

Optimum optimal_base(const Situation& at, double exponent) {
  const auto best = regression::ssa_optimal_base_isotropic(at.attention, at.task, at.context_length, exponent);
  return {best.parameter, best.error};
}

}  // namespace incontext::examples::softmax_error
