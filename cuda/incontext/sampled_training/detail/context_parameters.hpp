#pragma once

#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/classification/context_attention.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::training {

/// What is trained: the two products M = W_K^T W_Q and P = W_P W_V themselves, or the four factors; or P alone, with M
/// as it is at the start. The layers that can be reached are the same; the ways to them are not.
enum class ContextParameters { merged, factored, merged_output };

/// One head's matrices.
///
/// Shapes    (d + k) x (d + k) each; rows and columns on which the logits do not depend are 0 in a gradient.
using ContextHead = classification::ContextAttention<double>;

namespace detail {

/// The parameters of a layer as one vector: head after head, M and P, or W_Q, W_K, W_V and W_P, each by columns.
class ContextParameterMap {
  // Functions that return what is deduced come before those that call them.
  template <class Number>
  [[nodiscard]] auto matrix(Number* numbers) const {
    using Matrix = numerics::Matrix<double>;
    using Stored = std::conditional_t<std::is_const_v<Number>, const Matrix, Matrix>;
    return Eigen::Map<Stored>(numbers, width_, width_);
  }
  /// W_Q, W_K, W_V, W_P.
  [[nodiscard]] auto factors(const double* numbers) const {
    return std::array{matrix(numbers), matrix(numbers + square()), matrix(numbers + 2 * square()),
                      matrix(numbers + 3 * square())};
  }

 public:
  ContextParameterMap(ContextParameters kind, int heads, std::int64_t width)
      : kind_(kind), heads_(heads), width_(width) {}

  [[nodiscard]] std::int64_t size() const { return heads_ * head_size(); }

  /// The matrices of every head that these parameters stand for.
  [[nodiscard]] std::vector<ContextHead> heads(std::span<const double> parameters) const {
    require_parameters(parameters);
    std::vector<ContextHead> heads;
    for (const double* at = parameters.data(); at != parameters.data() + size(); at += head_size()) {
      if (is_factored()) {
        const auto [query, key, value, projection] = factors(at);
        heads.push_back({key.transpose() * query, projection * value});
      } else {
        heads.push_back({matrix(at), matrix(at + square())});
      }
    }
    return heads;
  }

  /// The gradient by the parameters, from the gradient by the matrices of every head.
  [[nodiscard]] std::vector<double> pull_back(std::span<const double> parameters,
                                              const std::vector<ContextHead>& gradient) const {
    require_parameters(parameters);
    std::vector<double> result(parameters.size(), 0.0);
    const double* at = parameters.data();
    double* out = result.data();
    for (const ContextHead& head : gradient) {
      if (is_factored()) {
        const auto [query, key, value, projection] = factors(at);
        matrix(out) = key * head.key_query;
        matrix(out + square()) = query * head.key_query.transpose();
        matrix(out + 2 * square()) = projection.transpose() * head.output;
        matrix(out + 3 * square()) = head.output * value.transpose();
      } else {
        if (kind_ == ContextParameters::merged) matrix(out) = head.key_query;
        matrix(out + square()) = head.output;
      }
      at += head_size();
      out += head_size();
    }
    return result;
  }

 private:
  [[nodiscard]] bool is_factored() const { return kind_ == ContextParameters::factored; }
  [[nodiscard]] std::int64_t square() const { return width_ * width_; }
  [[nodiscard]] std::int64_t head_size() const { return square() * (is_factored() ? 4 : 2); }

  void require_parameters(std::span<const double> parameters) const {
    require_same_size("training::ContextTraining", "parameters", std::ssize(parameters),
                      static_cast<std::ptrdiff_t>(size()));
  }

  ContextParameters kind_;
  int heads_;
  std::int64_t width_;
};

}  // namespace detail

}  // namespace incontext::training
