#pragma once

#include <incontext/maps/any_map.hpp>
#include <incontext/numerics/quadrature.hpp>
#include <incontext/regression/attention.hpp>
#include <incontext/regression/linear_task.hpp>
#include <incontext/regression/multihead_error.hpp>
#include <incontext/regression/optimal_temperature.hpp>
#include <incontext/regression/softmax_optimum.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/scoring/ssa.hpp>
#include <incontext/scoring/ssmax.hpp>

#include <cstdint>
#include <optional>

/// The isotropic family and its errors; their templates are compiled in theory.cpp alone.
namespace incontext::examples::softmax_error {

using Softmax = scoring::Softmax<double>;
using SSMax = scoring::SSMax<double>;
using SSA = scoring::SSA<double>;
/// One of those three.
using Map = maps::AnyMap<double>;

/// Scores m x_j . x_q and values v y_j on inputs N(0, a I) and tasks N(0, b I).
struct IsotropicFamily {
  regression::IsotropicAttention<double> attention;
  regression::IsotropicTask<double> task;
};

struct Situation {
  regression::Attention<double> attention;
  regression::LinearTask<double> task;
  std::int64_t context_length;
  regression::QueryToken query = regression::QueryToken::excluded;
  std::optional<IsotropicFamily> isotropic = {};  ///< the same, where it is isotropic
};

/// The best value of a map's free parameter, and the error there. At an end of its search it is no optimum.
using Optimum = regression::SoftmaxOptimum<double>;

numerics::Quadrature<double> exact_error(const Situation& at, const Map& map);

/// The temperature at which softmax has the weights of this map in rows of this length; nothing for SSA.
std::optional<double> equal_temperature(const Situation& at, const Map& map);

/// The largest term in 1/l, over the error of endless contexts, with which the expansion is shown.
inline constexpr double largest_correction = 0.5;

/// Empty below second_order_temperature, where the remainder of the expansion does not fall like 1/l^2, and where the
/// term in 1/l is too large for the terms after it to be small.
std::optional<double> second_order_error(const Situation& at, double temperature);

/// Empty where there is no second order: for inputs with a mean, values of inputs, and the query among the keys.
std::optional<double> second_order_temperature(const Situation& at);

double approximate_error(const Situation& at, double temperature);
double approximate_optimal_temperature(const Situation& at);

/// The limit of the Bayes risk for large l and d, where the inputs are centered.
std::optional<double> bayes_risk(const Situation& at);

using Heads = regression::HeadsOptimum<double>;

/// The scales and values of so many softmax heads with which the layer errs least.
Heads best_heads(const Situation& at, std::int64_t count);

Optimum optimal_temperature(const Situation& at);
Optimum optimal_scale(const Situation& at);
Optimum optimal_base(const Situation& at, double exponent);

}  // namespace incontext::examples::softmax_error
