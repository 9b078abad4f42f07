#pragma once

#include <Eigen/Eigenvalues>
#include <cstdint>
#include <string_view>

#include "incontext/core/math.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// What queries of any covariance need for the error of true softmax.
namespace incontext::regression::detail {

/// The queries' law for scores of white inputs, and the error at infinite context when attention reads with slope a_0.
template <Real T>
class ReadQueries {
 public:
  explicit ReadQueries(const WhiteAttention<T>& white)
      : white_(white), square_(product<T>(white.key_query.transpose(), white.key_query)) {}

  /// E sigma^2.
  T mean_square() const { return square_.trace() + (white_.key_query * white_.input_mean).squaredNorm(); }

  /// In the eigenvectors E of G^T G: zeta^T E[w p^T] G zeta - nu^T E[p p^T] G zeta, and zeta^T G^T E[p p^T] G zeta.
  WeightedChiSquareQueries<T> law(std::string_view where) const {
    const Eigen::SelfAdjointEigenSolver<Matrix<T>> spectrum(square_);
    const Matrix<T>& e = spectrum.eigenvectors();
    const Matrix<T> ge = white_.key_query * e, valued = white_.value_square() * ge;
    return {where,
            spectrum.eigenvalues(),
            e.transpose() * white_.input_mean,
            {e.transpose() * white_.task_with_value() * ge, -valued.transpose() * white_.input_mean},
            {ge.transpose() * valued, Vector<T>::Zero(e.rows())}};
  }

  /// E (w . x - p . (mu + a_0 Sigma M x))^2, as a sum of squares.
  T missed(const T& slope) const {
    const Matrix<T>& g = white_.key_query;
    const Vector<T>& nu = white_.input_mean;
    const Matrix<T> h = Matrix<T>::Identity(g.rows(), g.cols()) - (slope * white_.label_value) * g;
    const Vector<T> mean = h.transpose() * white_.task_mean - slope * (g.transpose() * white_.input_value);
    const Vector<T> read = nu + slope * (g * nu), left = nu - white_.label_value * read;
    const T at_mean = white_.task_mean.dot(left) - white_.input_value.dot(read);
    return trace_of_product<T>(white_.task_covariance * h, h.transpose()) + mean.squaredNorm() +
           left.dot(white_.task_covariance * left) + at_mean * at_mean;
  }

 private:
  const WhiteAttention<T>& white_;
  Matrix<T> square_;
};

/// The scores of inputs with a mean have one themselves, which only softmax of a linear map does not see.
template <class Phi, Real T>
void require_shift_invariance(std::string_view where, const LinearTask<T>& task) {
  if constexpr (!scoring::is_linear<Phi>) require_all_zero(where, "input_mean", task.input_mean());
}

/// The query's own score is a function of its scores' variance only if the white scores' matrix is a multiple of I;
/// then the error is that of the isotropic family with the labels' variance.
template <Real T, class Map>
numerics::Quadrature<T> query_included_softmax_error(std::string_view where, const Attention<T>& attention,
                                                     const LinearTask<T>& task, std::int64_t context_length,
                                                     const Map& map, const T& tolerance) {
  require_softmax_domain(where, attention, task, context_length);
  const auto white = white_attention(attention, task);
  const T d = math::from_count<T>(task.dimension()), gain = white.key_query.trace() / d;
  const Matrix<T> rest = white.key_query - gain * Matrix<T>::Identity(white.key_query.rows(), white.key_query.cols());
  const T off = rest.cwiseAbs().maxCoeff();
  if (!(off <= T(256.0) * Eigen::NumTraits<T>::epsilon() * white.key_query.cwiseAbs().maxCoeff())) {
    throw_invalid_argument(where,
                           "key_query is no multiple of the inverse of input_covariance and the query is included", off,
                           "0 off it, or QueryToken::excluded");
  }
  return softmax_error_isotropic<T>({gain, attention.label_value},
                                    {task.dimension(), T(1.0), T(white.task.trace() / d), task.noise_variance()},
                                    context_length, map, QueryToken::included, tolerance);
}

}  // namespace incontext::regression::detail
