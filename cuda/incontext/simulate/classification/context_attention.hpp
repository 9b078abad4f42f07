#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/context_attention_trial.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"

/// Attention over literal tokens of the sphere task: what the simulations of the rules, and the weight constructions
/// that claim to be those rules, are judged by.
namespace incontext::simulate {

namespace detail {

/// A matrix by rows, in the scalar of the trials.
template <class T>
std::vector<T> matrix_rows(std::string_view where, const char* name, const classification::Matrix<double>& matrix,
                           std::int64_t width) {
  require_same_size(where, std::string(name) + ".rows()", std::int64_t{matrix.rows()}, width);
  require_same_size(where, std::string(name) + ".cols()", std::int64_t{matrix.cols()}, width);
  std::vector<T> numbers;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) {
      require_finite(where, std::string("an entry of ") + name, matrix(i, j));
      numbers.push_back(static_cast<T>(matrix(i, j)));
      require_holds<T>(where, std::string("an entry of ") + name, matrix(i, j), matrix(i, j));
    }
  }
  return numbers;
}

}  // namespace detail

/// Mean metrics of a layer of attention with these weights, over contexts of the sphere task; `activation` maps queries
/// and keys to weights: DotActivation, RadialActivation or one of your own.
///
///     const auto weights = classification::softmax_construction(3, 2, 4.0, 2.0);   // d, k, kappa, gain
///     using Activation = simulate::DotActivation<float>;
///     const Activation softmax{Activation::Kind::softmax, 1 / std::sqrt(5.0f)};
///     const auto run = simulate::context_attention({3, 2, 30}, weights, softmax, QueryToken::included,
///                                                  {.seed = 1, .trials = 4096});
///
/// Source    ContextAttentionTrial.
/// Shapes    weights: (d + k) x (d + k) each.
/// Domain    as SphereTask; finite weights.
/// Errors    std::invalid_argument for shapes, std::domain_error for values.
/// Accuracy  standard error in the result; rounding of 256 eps of a value's root mean square:
///           tests/simulate/classification/context_attention.cpp.
/// Random    as SphereTaskDraw: the same contexts as classification().
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, class Activation>
ContextAttentionSimulation context_attention(const SphereTask& task,
                                             const classification::ContextWeights<double>& weights,
                                             const Activation& activation, QueryToken query, const Options& options) {
  constexpr auto where = "simulate::context_attention";
  validate(options);
  validate(task, where);
  const std::int64_t width = task.dimension + task.classes;
  const auto by_query = detail::matrix_rows<T>(where, "query", weights.query, width),
             by_key = detail::matrix_rows<T>(where, "key", weights.key, width),
             by_value = detail::matrix_rows<T>(where, "value", weights.value, width),
             by_projection = detail::matrix_rows<T>(where, "projection", weights.projection, width);
  const Device device = resolve(options.device, options.gpu);
  return detail::with_system(device, [&](auto system) -> ContextAttentionSimulation {
    using System = decltype(system);
    using Memory = typename System::template Memory<T>;
    const Memory q(by_query.begin(), by_query.end()), k(by_key.begin(), by_key.end()),
        v(by_value.begin(), by_value.end()), p(by_projection.begin(), by_projection.end());
    const ContextMatrices<T> matrices{detail::address(q), detail::address(k), detail::address(v), detail::address(p),
                                      static_cast<int>(width)};
    const ContextAttentionTrial<T, Activation> trial{detail::draw_of<T>(task), matrices, activation, query};
    return {run_on<System>(device, trial, options)};
  });
}

}  // namespace incontext::simulate
