#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/compiled_maps.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// The mean squared error of true softmax attention, or of any map that is softmax after an elementwise one, when
/// contexts and queries are drawn, with replacement, from the rows of a data set and the labels are linear with
/// Gaussian noise: exact at every context length and temperature, for any data.
///
/// \f[ G = \frac1n \sum_q \left[ \sigma^2 (1 + v_y^2 E p_2) + E_w E\left(\textstyle\sum_j p_j
///     (v_x^T x_j + v_y w^T x_j - w^T x_q)\right)^2 \right] \f]
/// \f[ E\left|\textstyle\sum_j p_j b_j\right|^2 = \int du \left( \frac l n \sum_i t_i^2 e^{-t_i} |b_i|^2 \psi^{l-1}
///     + \frac{l(l-1)}{n^2} \Big|\sum_i t_i e^{-t_i} b_i\Big|^2 \psi^{l-2} \right) \f]
/// \f[ t_i = e^{u + \phi(z_i)},\quad \psi = \frac1n \sum_i e^{-t_i} \f]
///
/// The cost is that of n^2 (d + 1) multiplications for each of about 150 values of u.
///
/// Source    derived: docs/theory/regression.md#softmax-on-rows.
/// Shapes    (attention: d, rows: n x d, task_mean: d, task_covariance: d x d, context_length l, map) -> scalar
/// Units     label units squared; the map's parameters in units of the scores.
/// Domain    l >= 2; task_covariance positive semidefinite (0: one known task); noise_variance >= 0; map in its domain;
///           query excluded and drawn independently of its context. Inputs need not be centered, whatever the map.
/// Limits    temperature -> infinity: any_law_error. Rows drawn from a normal law, n -> infinity: softmax_error.
/// Errors    std::invalid_argument for l < 2 and shapes; std::domain_error for values; numerics::QuadratureError.
/// Accuracy  1e-12 relative in double for l to 10^3, of the enumeration of every context
///           (tests/regression/softmax_rows_error.cpp).
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_any_law_error(const Attention<T>& attention, const Matrix<T>& rows,
                                              const Vector<T>& task_mean, const Matrix<T>& task_covariance,
                                              const T& noise_variance, std::int64_t context_length, const Map& map);

/// The mean squared error of true softmax attention when contexts and queries are drawn, with replacement, from the
/// rows of a data set together with their own labels: no model of the labels at all.
///
/// \f[ G = \frac1n \sum_q E\left(\textstyle\sum_j p_j (v_x^T x_j + v_y y_j - y_q)\right)^2 \f]
///
/// Source    derived: docs/theory/regression.md#softmax-on-rows.
/// Shapes    (attention: d, rows: n x d, labels: n, context_length l, map) -> scalar
/// Units     label units squared.
/// Domain    as softmax_any_law_error.
/// Errors    as softmax_any_law_error; std::domain_error for labels that are not finite.
/// Accuracy  as softmax_any_law_error.
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_labeled_rows_error(const Attention<T>& attention, const Matrix<T>& rows,
                                                   const Vector<T>& labels, std::int64_t context_length,
                                                   const Map& map);

// Rows of scores whose tokens are drawn, with replacement, from a data set.
namespace detail {

/// One query's rows of l weights p over draws from n tokens with exponents a: E sum p^2 and E |sum p b|^2.
template <Real T>
struct DrawnRow {
  T ipr, mean_square, error_estimate;
};

/// 1/Z^2 = int du e^(2 u) e^(-e^u Z), by the trapezoidal rule in u: docs/theory/regression.md#softmax-on-rows.
template <Real T>
class DrawnRows {
 public:
  DrawnRows(Eigen::Index tokens, std::int64_t draws) : n_(math::from_count<T>(tokens)), l_(math::from_count<T>(draws)) {
    using std::exp;
    using std::log;
    const T log_eps = log(T(std::numeric_limits<T>::epsilon()));
    drop_ = T(-0.8) * log_eps;  // eps^0.8 is left out on the left, and missed between the nodes
    // a bump e^(2 y - e^y) has the transform Gamma(2 - i w), about 200 e^(-pi w / 2) there
    step_ = math::pi<T>() * math::pi<T>() / (drop_ + T(6.0));
    rank_ = static_cast<std::size_t>(T(n_ * exp(T(log_eps / l_))));
  }

  /// exponents: n; values b: n x m, those of one token in a row.
  DrawnRow<T> operator()(Vector<T> exponents, const Matrix<T>& values) const {
    using std::exp;
    using std::log;
    exponents.array() -= exponents.maxCoeff();
    const Vector<T> squares = values.rowwise().squaredNorm();
    const T lowest = -log(l_) - T(0.5) * drop_ - T(1.0), cap = log(T(T(4.0) * drop_));
    const T highest = cap - lowest_likely(exponents);
    T mass = T(0.0), ipr = T(0.0), mean_square = T(0.0);
    for (int i = 0; T(double(i)) * step_ < highest - lowest; ++i) {
      const T u = lowest + T(double(i)) * step_;
      const Vector<T> t = ((exponents.array() + u).min)(cap).exp(), kept = (-t.array()).exp();
      const Vector<T> once = t.cwiseProduct(kept), twice = t.cwiseProduct(once);
      const T complement = (T(1.0) - kept.array()).sum() / n_;
      const T log_psi = complement < T(0.5) ? math::log_one_plus(T(-complement)) : T(log(T(kept.sum() / n_)));
      if (i > 0 && (l_ - T(2.0)) * log_psi < T(-4.0) * drop_) break;
      const T pairs = l_ * (l_ - T(1.0)) * exp(T((l_ - T(2.0)) * log_psi)) / (n_ * n_);
      const T single = l_ * exp(T((l_ - T(1.0)) * log_psi)) / n_;
      const T first = once.sum(), second = twice.sum();
      ipr += single * second;
      mass += single * second + pairs * first * first;
      mean_square += single * twice.dot(squares) + pairs * (values.transpose() * once).squaredNorm();
    }
    return {T(ipr * step_), T(mean_square * step_), math::magnitude(T(mass * step_ - T(1.0)))};
  }

 private:
  /// The exponent that the largest of l draws falls below with a probability beyond the last digit.
  T lowest_likely(const Vector<T>& exponents) const {
    std::vector<T> sorted(exponents.data(), exponents.data() + exponents.size());
    const auto place = sorted.begin() + static_cast<std::ptrdiff_t>((std::min)(rank_, sorted.size() - 1));
    std::nth_element(sorted.begin(), place, sorted.end());
    return *place;
  }

  T n_, l_, drop_, step_;
  std::size_t rank_;
};

/// All that the averages need of a map: what makes exponents of a row's scores.
template <Real T>
using RowExponents = std::function<void(Vector<T>& scores)>;

template <Real T, class Map>
RowExponents<T> row_exponents(std::string_view where, std::int64_t context_length, const Map& map) {
  scoring::require_valid(map);
  const auto phi = map.elementwise(static_cast<std::ptrdiff_t>(context_length));
  if (!phi.in_domain()) {
    throw_domain_error(where, "the map is outside its domain in a row of context_length scores", context_length,
                       "parameters as the map's header states");
  }
  return [phi](Vector<T>& scores) {
    for (Eigen::Index i = 0; i < scores.size(); ++i) scores(i) = phi.value(scores(i));
  };
}

/// The average over the query of noise (1 + v^2 E sum p^2) + E |sum p b|^2, with values(q) the b of query q.
template <Real T>
numerics::Quadrature<T> average_over_rows(std::string_view where, const Attention<T>& attention, const Matrix<T>& rows,
                                          std::int64_t context_length, const RowExponents<T>& make_exponents,
                                          const T& noise, const std::function<Matrix<T>(Eigen::Index query)>& values) {
  const DrawnRows<T> drawn(rows.rows(), context_length);
  const T v = attention.label_value, n = math::from_count<T>(rows.rows());
  numerics::Quadrature<T> error{T(0.0), T(0.0)};
  for (Eigen::Index q = 0; q < rows.rows(); ++q) {
    Vector<T> exponents = rows * (attention.key_query * rows.row(q).transpose());
    make_exponents(exponents);
    const DrawnRow<T> row = drawn(std::move(exponents), values(q));
    const T value = noise * (T(1.0) + v * v * row.ipr) + row.mean_square;
    error.value += value / n;
    error.error_estimate += value * row.error_estimate / n;
  }
  if (!(error.error_estimate <= numerics::quadrature_tolerance<T>() * error.value)) {
    throw numerics::QuadratureError(where, static_cast<double>(T(error.error_estimate / error.value)),
                                    static_cast<double>(numerics::quadrature_tolerance<T>()));
  }
  return error;
}

template <Real T>
void require_rows(std::string_view where, const Attention<T>& attention, const Matrix<T>& rows,
                  std::int64_t context_length) {
  require_context_length(where, context_length);
  require_at_least(where, "rows.rows()", rows.rows(), Eigen::Index{1});
  validate(attention, rows.cols(), where);
  require_finite_entries(where, "rows", rows);
}

template <Real T>
void require_task(std::string_view where, const Matrix<T>& rows, const Vector<T>& task_mean,
                  const Matrix<T>& task_covariance, const T& noise_variance) {
  require_shape(where, "task_mean", task_mean, rows.cols(), 1);
  require_finite_entries(where, "task_mean", task_mean);
  require_positive_semidefinite(where, "task_covariance", task_covariance, rows.cols());
  require_non_negative(where, "noise_variance", noise_variance);
}

/// softmax_any_law_error from the exponents of a map.
template <Real T>
numerics::Quadrature<T> any_law_error_of_exponents(std::string_view where, const Attention<T>& attention,
                                                   const Matrix<T>& rows, const Vector<T>& task_mean,
                                                   const Matrix<T>& task_covariance, const T& noise_variance,
                                                   std::int64_t context_length, const RowExponents<T>& exponents) {
  // the square root of a covariance that may be singular
  const Eigen::LDLT<Matrix<T>> factor(task_covariance);
  const Matrix<T> unscaled = factor.transpositionsP().transpose() * Matrix<T>(factor.matrixL());
  const Matrix<T> root = unscaled * factor.vectorD().cwiseMax(T(0.0)).cwiseSqrt().asDiagonal();
  const T v = attention.label_value;
  return average_over_rows<T>(where, attention, rows, context_length, exponents, noise_variance, [&](Eigen::Index q) {
    const Matrix<T> missed = (v * rows).rowwise() - rows.row(q);
    Matrix<T> values(rows.rows(), rows.cols() + 1);
    values << rows * attention.input_value + missed * task_mean, missed * root;
    return values;
  });
}

/// softmax_labeled_rows_error from the exponents of a map.
template <Real T>
numerics::Quadrature<T> labeled_rows_error_of_exponents(std::string_view where, const Attention<T>& attention,
                                                        const Matrix<T>& rows, const Vector<T>& labels,
                                                        std::int64_t context_length, const RowExponents<T>& exponents) {
  const Vector<T> read = rows * attention.input_value + attention.label_value * labels;
  return average_over_rows<T>(where, attention, rows, context_length, exponents, T(0.0),
                              [&](Eigen::Index q) { return Matrix<T>(read.array() - labels(q)); });
}

}  // namespace detail

template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_any_law_error(const Attention<T>& attention, const Matrix<T>& rows,
                                              const Vector<T>& task_mean, const Matrix<T>& task_covariance,
                                              const T& noise_variance, std::int64_t context_length, const Map& map) {
  constexpr auto where = "softmax_any_law_error";
  detail::require_rows(where, attention, rows, context_length);
  detail::require_task(where, rows, task_mean, task_covariance, noise_variance);
  return detail::any_law_error_of_exponents(where, attention, rows, task_mean, task_covariance, noise_variance,
                                            context_length, detail::row_exponents<T>(where, context_length, map));
}

template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_labeled_rows_error(const Attention<T>& attention, const Matrix<T>& rows,
                                                   const Vector<T>& labels, std::int64_t context_length,
                                                   const Map& map) {
  constexpr auto where = "softmax_labeled_rows_error";
  detail::require_rows(where, attention, rows, context_length);
  require_shape(where, "labels", labels, rows.rows(), 1);
  require_finite_entries(where, "labels", labels);
  return detail::labeled_rows_error_of_exponents(where, attention, rows, labels, context_length,
                                                 detail::row_exponents<T>(where, context_length, map));
}

INCONTEXT_COMPILED(regression_softmax_rows_error, detail::any_law_error_of_exponents<double>);
INCONTEXT_COMPILED(regression_softmax_rows_error, detail::labeled_rows_error_of_exponents<double>);
INCONTEXT_COMPILED_OF_MAPS(regression_softmax_rows_error, softmax_any_law_error, double);
INCONTEXT_COMPILED_OF_MAPS(regression_softmax_rows_error, softmax_labeled_rows_error, double);

}  // namespace incontext::regression
