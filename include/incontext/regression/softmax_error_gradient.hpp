#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/softmax_gradient_averages.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square_fourth.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// The error of true softmax attention at inverse temperature b, or of any map that is softmax after an elementwise
/// one, and its gradient by M, v_x, v_y and b: exact at every context length.
///
/// \f[ E\left[ \frac{\partial f(\varsigma)}{\partial \Gamma} h \right]
///     = \Gamma^{-T} E\left[ f (h (\zeta \zeta^T - I) - 2 H \zeta \zeta^T) \right],\quad
///     \varsigma^2 = |\Gamma \zeta|^2,\ h = \zeta^T H \zeta \f]
///
/// Scores are b x_j^T M x_q, before the map. By Stein's lemma no derivative of the row moments is needed: the moments
/// of softmax_error, averaged with second and fourth moments of the query, give the whole gradient.
///
/// Source    derived: docs/theory/training.md#population-gradients.
/// Shapes    (attention: d, task: d, context_length l, map, inverse_temperature b) -> as ErrorGradient
/// Units     label units squared, over those of each parameter.
/// Domain    l >= 2; input_mean = 0; b M invertible; the query excluded.
/// Limits    b -> 0: the gradient by M of generalization_error_gradient, because softmax is then approximate softmax.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for values, a singular M among them;
///           numerics::QuadratureError as softmax_error.
/// Accuracy  in double 1e-8 of the largest entry where b M has a condition below 100:
///           tests/regression/softmax_error_gradient.cpp.
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
ErrorGradient<T> softmax_error_gradient(const Attention<T>& attention, const LinearTask<T>& task,
                                        std::int64_t context_length, const Map& map,
                                        const T& inverse_temperature = T(1.0)) {
  using std::sqrt;
  constexpr auto where = "softmax_error_gradient";
  detail::require_gradient(where, attention, task, context_length, inverse_temperature);
  detail::require_all_zero(where, "input_mean", task.input_mean());
  scoring::require_valid(map);
  const laws::StandardRows rows(where, map.elementwise(static_cast<std::ptrdiff_t>(context_length)),
                                math::from_count<T>(context_length));
  auto scaled = attention;
  scaled.key_query *= inverse_temperature;
  const auto white = detail::white_attention(scaled, task);
  const Matrix<T> square = product<T>(white.key_query.transpose(), white.key_query);
  const Eigen::SelfAdjointEigenSolver<Matrix<T>> spectrum(square);
  const Vector<T>& eigenvalues = spectrum.eigenvalues();
  if (!(T(64.0) * Eigen::NumTraits<T>::epsilon() * eigenvalues.maxCoeff() < eigenvalues.minCoeff())) {
    throw_domain_error(where, "inverse_temperature times key_query is singular: the least eigenvalue of its square",
                       eigenvalues.minCoeff(), "an invertible matrix");
  }
  const T reference = detail::mean_reference(rows, T(sqrt(square.trace())));
  const auto averages =
      detail::softmax_averages<std::remove_cvref_t<decltype(rows)>, T>(where, rows, eigenvalues, reference);
  const detail::SoftmaxGradient<T> gradient(white, spectrum, reference, averages);
  const Matrix<T> root = Eigen::LLT<Matrix<T>>(task.input_covariance()).matrixL();
  const Matrix<T> by_scaled = product<T>(product<T>(root, gradient.by_key_query()), root.transpose());
  const auto by_value = gradient.by_value();
  return {gradient.error(),
          {inverse_temperature * by_scaled, root * by_value.input_part, by_value.label_part},
          by_scaled.cwiseProduct(attention.key_query).sum()};
}

}  // namespace incontext::regression
