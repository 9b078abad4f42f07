#pragma once

#include <concepts>

#include "incontext/adapters/detail/torch_nodes.hpp"
#include "incontext/adapters/detail/torch_rows.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/scoring.hpp"

/// The scoring maps as differentiable operations of LibTorch. Optional: no other header includes this one.
namespace incontext::adapters {

/// A map that a tensor can go through: any Scoring on float or double.
template <class Map>
concept TensorScoring =
    scoring::Scoring<Map> && DevicePlain<Map> &&
    (std::same_as<typename Map::value_type, float> || std::same_as<typename Map::value_type, double>);

/// A parameter of the map that can be given as a tensor and trained: a member with a derivative.
template <class Map, class Parameter>
concept Trainable = scoring::HasParameter<Map, Parameter> && requires(Map& map) {
  { Parameter::of(map) } -> std::same_as<typename Map::value_type&>;
};

/// Weights of every row of a tensor, a row being a slice along its last dimension, as an operation that torch
/// differentiates with respect to the scores and to the parameters given as tensors.
///
/// \f[ \frac{\partial L}{\partial z} = J^T \frac{\partial L}{\partial a}, \qquad
///     \frac{\partial L}{\partial \theta} = \sum_i \frac{\partial L}{\partial a_i} \frac{\partial a_i}{\partial \theta}
///     \f]
///
/// `weights<parameter::Scale, parameter::Bias>(map, scores, s, b)` takes these two parameters from tensors, and the
/// others from the map. A value is one number, or a tensor that broadcasts against the scores with 1 in the last
/// dimension, such as one scale per head.
///
/// The gradient by the scores can be differentiated once more: by the cotangent for every map (its `jvp`), by the
/// scores for maps that are softmax after an elementwise map (their `hessian_product`).
///
/// Source    the map: its weights, vjp and derivatives.
/// Shapes    (scores: ... x n, values: each broadcasts to ... x 1) -> ... x n, contiguous
/// Domain    the map's; dense CPU tensors of the map's scalar, strided or not. Masked scores are -infinity.
/// Errors    std::invalid_argument naming the argument for another type, device or shape, and for a second derivative
///           that is not by scores and cotangents of a softmax-like map, and for any third one;
///           std::domain_error for a map outside its domain; c10::Error for forward mode, which torch does not offer
///           here. Rows without visible scores, and parameters from tensors outside the domain, give NaN rows as in the
///           map.
/// Accuracy  the map's: every row has the bits that the map gives it alone (tests/adapters/torch.cpp); the gradient by
///           a parameter is the map's derivative_along, where it has one, else a sum over a row in double.
template <class... Parameters, TensorScoring Map, std::same_as<at::Tensor>... Values>
  requires(sizeof...(Parameters) == sizeof...(Values) && (Trainable<Map, Parameters> && ...))
at::Tensor weights(const Map& map, const at::Tensor& scores, const Values&... values) {
  using T = typename Map::value_type;
  scoring::require_valid(map);
  detail::require_scores<T>(scores);
  return detail::Weights<Map, Parameters...>::apply(map, scores, detail::one_a_row<Parameters, T>(scores, values)...);
}

}  // namespace incontext::adapters
