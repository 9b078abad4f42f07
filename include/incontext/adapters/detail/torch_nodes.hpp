#pragma once

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <string>
#include <utility>

#include "incontext/adapters/detail/torch_rows.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// The nodes of torch's graph for torch.hpp.
namespace incontext::adapters::detail {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

[[noreturn]] inline void refuse_to_differentiate(const char* what) {
  throw_invalid_argument(where, "second derivatives do not exist", what,
                         "those by scores and cotangents of a map that is softmax after an elementwise map");
}

/// A derivative that this library computes is not made of torch's operations. As a node of torch's graph this one
/// refuses to be differentiated again; torch would otherwise take its derivative for zero.
template <class Compute>
struct Last : torch::autograd::Function<Last<Compute>> {
  template <class... Inputs>
  static Tensor forward(AutogradContext*, const Compute& compute, const Inputs&...) {
    return compute();
  }
  static variable_list backward(AutogradContext*, const variable_list&) {
    refuse_to_differentiate("a derivative by a parameter, or a third one");
  }
};

/// What `compute` returns, as the last node that depends on `inputs`.
template <class Compute, class... Inputs>
Tensor last(const Compute& compute, const Inputs&... inputs) {
  return Last<Compute>::apply(compute, inputs...);
}

/// Keeps a map for the backward pass as a string of bytes, because saved_data takes types that torch knows.
template <class Map>
void save(AutogradContext* context, const Map& map) {
  const auto bytes = std::bit_cast<std::array<unsigned char, sizeof(Map)>>(map);
  context->saved_data["map"] = std::string(bytes.begin(), bytes.end());
}
template <class Map>
Map saved(AutogradContext* context) {
  const std::string& text = context->saved_data["map"].toStringRef();
  std::array<unsigned char, sizeof(Map)> bytes;
  std::copy_n(text.data(), bytes.size(), bytes.begin());
  return std::bit_cast<Map>(bytes);
}

/// The gradient by the scores, J^T g, as a node that torch differentiates once more: by the cotangent g and by the
/// scores.
template <class Map, class... Parameters>
struct ScoresGradient : torch::autograd::Function<ScoresGradient<Map, Parameters...>> {
  static Tensor forward(AutogradContext* context, const Map& map, const Tensor& cotangent, const Tensor& scores,
                        const TensorFor<Parameters>&... values) {
    save(context, map);
    context->save_for_backward({cotangent, scores, values...});
    return gradient_by_scores(MapOfRow<Map, Parameters...>(map, values...), scores, cotangent);
  }

  static variable_list backward(AutogradContext* context, const variable_list& directions) {
    return gradients(context, directions.front(), std::index_sequence_for<Parameters...>{});
  }

 private:
  template <std::size_t... k>
  static variable_list gradients(AutogradContext* context, const Tensor& direction, std::index_sequence<k...>) {
    const variable_list inputs = context->get_saved_variables();
    const Tensor &cotangent = inputs[0], &scores = inputs[1];
    const MapOfRow<Map, Parameters...> of_row(saved<Map>(context), inputs[2 + k]...);
    if ((context->needs_input_grad(2 + k) || ...)) refuse_to_differentiate("a derivative by scores and a parameter");
    Tensor by_cotangent, by_scores;
    if (context->needs_input_grad(0)) {
      by_cotangent = last([&] { return change_along(of_row, scores, direction); }, direction, scores, inputs[2 + k]...);
    }
    if (context->needs_input_grad(1)) {
      if constexpr (scoring::SoftmaxLike<Map>) {
        by_scores = last([&] { return hessian_times(of_row, scores, cotangent, direction); }, direction, cotangent,
                         scores, inputs[2 + k]...);
      } else {
        refuse_to_differentiate("the second derivative by scores");
      }
    }
    return {Tensor(), by_cotangent, by_scores, TensorFor<Parameters>()...};
  }
};

/// The weights as a node of torch's graph.
template <class Map, class... Parameters>
struct Weights : torch::autograd::Function<Weights<Map, Parameters...>> {
  static Tensor forward(AutogradContext* context, const Map& map, const Tensor& scores,
                        const TensorFor<Parameters>&... values) {
    save(context, map);
    context->save_for_backward({scores, values...});
    return weights_of_rows(MapOfRow<Map, Parameters...>(map, values...), scores);
  }

  static variable_list backward(AutogradContext* context, const variable_list& cotangents) {
    return gradients(saved<Map>(context), context->get_saved_variables(), cotangents.front(),
                     std::index_sequence_for<Parameters...>{});
  }

 private:
  template <std::size_t... k>
  static variable_list gradients(const Map& map, const variable_list& inputs, const Tensor& cotangent,
                                 std::index_sequence<k...>) {
    const Tensor& scores = inputs[0];
    const MapOfRow<Map, Parameters...> of_row(map, inputs[1 + k]...);
    [[maybe_unused]] const auto by_value = [&](const Tensor& value, auto name) {
      if (!value.requires_grad()) return Tensor();
      return last([&] { return gradient_by(name, of_row, scores, cotangent); }, cotangent, scores, inputs[1 + k]...);
    };
    Tensor by_scores;
    if (scores.requires_grad()) {
      by_scores = ScoresGradient<Map, Parameters...>::apply(map, cotangent, scores, inputs[1 + k]...);
    }
    return {Tensor(), by_scores, by_value(inputs[1 + k], Parameters{})...};
  }
};

}  // namespace incontext::adapters::detail
