#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "incontext/adapters/detail/torch_rows.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/scoring.hpp"

/// The scoring maps as differentiable operations of LibTorch. Optional: no other header includes this one.
namespace incontext::adapters {

/// A map that a tensor can go through: any Scoring on float or double.
///
/// Runs on   host
template <class Map>
concept TensorScoring =
    scoring::Scoring<Map> && DevicePlain<Map> &&
    (std::same_as<typename Map::value_type, float> || std::same_as<typename Map::value_type, double>);

/// A parameter of the map that can be given as a tensor and trained: a member with a derivative.
///
/// Runs on   host
template <class Map, class Parameter>
concept Trainable = scoring::HasParameter<Map, Parameter> && requires(Map& map) {
  { Parameter::of(map) } -> std::same_as<typename Map::value_type&>;
};

namespace detail {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// A gradient that this library computes is not made of torch's operations. As a node of torch's graph it refuses to be
/// differentiated again; torch would otherwise take its derivative for zero.
template <class Compute>
struct Gradient : torch::autograd::Function<Gradient<Compute>> {
  template <class... Inputs>
  static Tensor forward(AutogradContext*, const Compute& compute, const Inputs&...) {
    return compute();
  }
  static variable_list backward(AutogradContext*, const variable_list&) {
    throw_invalid_argument(where, "second derivatives do not exist", "double backward", "to be differentiated once");
  }
};

/// The node of torch's graph. It keeps the map for the backward pass as a string of bytes, because saved_data takes
/// types that torch knows.
template <class Map, class... Parameters>
struct Weights : torch::autograd::Function<Weights<Map, Parameters...>> {
  using Bytes = std::array<unsigned char, sizeof(Map)>;

  static Tensor forward(AutogradContext* context, const Map& map, const Tensor& scores,
                        const TensorFor<Parameters>&... values) {
    const auto bytes = std::bit_cast<Bytes>(map);
    context->saved_data["map"] = std::string(bytes.begin(), bytes.end());
    context->save_for_backward({scores, values...});
    return weights_of_rows(MapOfRow<Map, Parameters...>(map, values...), scores);
  }

  static variable_list backward(AutogradContext* context, const variable_list& cotangents) {
    const std::string& text = context->saved_data["map"].toStringRef();
    Bytes bytes;
    std::copy_n(text.data(), bytes.size(), bytes.begin());
    return gradients(std::bit_cast<Map>(bytes), context->get_saved_variables(), cotangents.front(),
                     std::index_sequence_for<Parameters...>{});
  }

 private:
  template <std::size_t... k>
  static variable_list gradients(const Map& map, const variable_list& saved, const Tensor& cotangent,
                                 std::index_sequence<k...>) {
    const Tensor& scores = saved[0];
    const MapOfRow<Map, Parameters...> of_row(map, saved[1 + k]...);
    const auto wanted = [&](const Tensor& input, const auto& compute) {
      if (!input.requires_grad()) return Tensor();
      return Gradient<std::decay_t<decltype(compute)>>::apply(compute, cotangent, scores, saved[1 + k]...);
    };
    return {Tensor(), wanted(scores, [&] { return gradient_by_scores(of_row, scores, cotangent); }),
            wanted(saved[1 + k], [&] { return gradient_by(Parameters{}, of_row, scores, cotangent); })...};
  }
};

}  // namespace detail

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
/// Source    the map: its weights, vjp and derivatives.
/// Shapes    (scores: ... x n, values: each broadcasts to ... x 1) -> ... x n, contiguous
/// Domain    the map's; dense CPU tensors of the map's scalar, strided or not. Masked scores are -infinity.
/// Errors    std::invalid_argument naming the argument for another type, device or shape, and for a second derivative;
///           std::domain_error for a map outside its domain; c10::Error for forward mode, which torch does not offer
///           here. Rows without visible scores, and parameters from tensors outside the domain, give NaN rows as in the
///           map.
/// Accuracy  the map's: every row has the bits that the map gives it alone (tests/adapters/torch.cpp); the gradient by
///           a parameter is summed over a row in double.
/// Runs on   host
template <class... Parameters, TensorScoring Map, std::same_as<at::Tensor>... Values>
  requires(sizeof...(Parameters) == sizeof...(Values) && (Trainable<Map, Parameters> && ...))
at::Tensor weights(const Map& map, const at::Tensor& scores, const Values&... values) {
  using T = typename Map::value_type;
  scoring::require_valid(map);
  detail::require_scores<T>(scores);
  return detail::Weights<Map, Parameters...>::apply(map, scores, detail::one_a_row<Parameters, T>(scores, values)...);
}

}  // namespace incontext::adapters
