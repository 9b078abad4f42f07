#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "incontext/core/math.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square_contour.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/regression/softmax_error_isotropic.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/compiled_maps.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// The mean squared error of true softmax attention, or of any map that is softmax after an elementwise one, on
/// Gaussian inputs of any mean and covariance: exact at every context length and temperature.
///
/// \f[ G = E_{x_q}\left[ \sigma^2 (1 + v_y^2 p_2) + E_w (w^T x_q - p^T \mu)^2 - 2 \frac{Z_1}{q} E_w (w^T x_q - p^T\mu)
///     p^T \Sigma k + \frac{Z_2}{q^2} k^T \Sigma B \Sigma k + p_2 \left(\mathrm{tr}(B \Sigma)
///     - \frac{k^T \Sigma B \Sigma k}{q}\right)\right],\quad k = M x_q,\ q = k^T \Sigma k \f]
/// with p = v_x + v_y w, B = E[p p^T], mu the inputs' mean and p_2, Z_1, Z_2 the row moments of laws/row_moments.hpp,
/// functions of q alone. The average over the query is an integral over q, the weighted sum of noncentral chi squares,
/// by quadrature. The scores' mean k . mu is in none of the moments of softmax.
///
/// `tolerance` is the relative error at which the quadrature ends.
///
/// Source    derived: docs/theory/regression.md#softmax-error.
/// Shapes    (attention: d, task: d, context_length l, map) -> scalar; query: whether the query attends to itself, too
/// Units     label units squared; the map's parameters in units of the scores, a temperature included.
/// Domain    l >= 2; input_mean = 0 unless the map is softmax of a linear one (softmax, SSMax); map in its domain.
///           Query included: input_mean = 0, input_value = 0, and key_query a multiple of the inverse of
///           input_covariance, because the query's own score x_q . M x_q is then a function of q. Otherwise the average
///           is over two quadratic forms together, which no single integral does.
///           key_query of a DiagonalAttention: without a part of low rank.
/// Limits    as softmax_error_isotropic, which it is for isotropic parameters; softmax_error_second_order is its order
///           1/l for centered inputs and input_value = 0. temperature -> infinity: that of generalization_error.
/// Errors    std::invalid_argument for l < 2, shapes, and a mean of the inputs that the map would see;
///           std::domain_error for values; numerics::QuadratureError as softmax_error_isotropic.
/// Accuracy  in double 1e-10 relative (tests/regression/softmax_error.cpp, softmax_error_shifted.cpp).
template <Real T, scoring::SoftmaxLike Map, class M = Matrix<T>>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                      std::int64_t context_length, const Map& map,
                                      QueryToken query = QueryToken::excluded,
                                      const T& tolerance = numerics::quadrature_tolerance<T>());

namespace detail {

/// A polynomial of second degree, zeta^T A zeta + c . zeta.
template <Real T, class M = Matrix<T>>
struct QuadraticForm {
  M square;
  Vector<T> linear;
};

/// Queries whose scores have the variance sigma^2, and the moments of two polynomials of zeta given sigma.
template <Real T, class M = Matrix<T>>
class WeightedChiSquareQueries : public WeightedChiSquareContour<T> {
 public:
  /// lambda_j >= 0, not all zero; the moments wanted are those of two polynomials of zeta.
  WeightedChiSquareQueries(std::string_view where, const Vector<T>& lambda, Vector<T> mean,
                           const QuadraticForm<T, M>& linear, const QuadraticForm<T, M>& quadratic)
      : Contour(where, lambda, std::move(mean)),
        forms_{form(linear), form(quadratic)},
        centered_(!(T(0.0) < this->mean_.squaredNorm())) {}

  QueryDensity<T> operator()(const T& u) const {
    using std::exp;
    const T r = radius(u), q = r * r;
    const auto saddle = this->saddle_at(q);
    const std::array<T, 3> integrals =
        this->contour(q, saddle, std::array<T, 3>{}, [this](const auto& node) { return moments(node); });
    const T scale = exp(saddle.exponent) * q * radius_rate(u);
    return {T(this->deviation_ * r), T(scale * integrals[0]), T(scale * integrals[1]), T(scale * integrals[2])};
  }

 private:
  using Contour = WeightedChiSquareContour<T>;

  /// Of a polynomial: E zeta_j^2, E zeta_j zeta_k and E zeta_j of the tilted law are 1/f_j + (nu_j/f_j)^2,
  /// (nu_j/f_j)(nu_k/f_k) and nu_j/f_j.
  struct Form {
    Vector<T> once;  // A_jj + c_j nu_j
    M twice;         // nu_j A_jk nu_k
  };
  Form form(const QuadraticForm<T, M>& polynomial) const {
    const M scale(this->mean_.asDiagonal());
    return {polynomial.square.diagonal() + polynomial.linear.cwiseProduct(this->mean_),
            product<T>(product<T>(scale, polynomial.square), scale)};
  }

  std::array<T, 3> moments(const typename Contour::Node& node) const {
    const Vector<T>&re = node.inverse_real, &im = node.inverse_imaginary;
    std::array<T, 3> values{node.real, T(0.0), T(0.0)};
    for (std::size_t k = 0; k < 2; ++k) {
      const Form& form = forms_[k];
      T moment_re = form.once.dot(re), moment_im = form.once.dot(im);
      if (!centered_) {
        const Vector<T> twice_re = form.twice * re, twice_im = form.twice * im;
        moment_re += re.dot(twice_re) - im.dot(twice_im);
        moment_im += re.dot(twice_im) + im.dot(twice_re);
      }
      values[k + 1] = node.real * moment_re - node.imaginary * moment_im;
    }
    return values;
  }

  std::array<Form, 2> forms_;
  bool centered_;
};

}  // namespace detail

// What queries of any covariance need for the error of true softmax.
namespace detail {

/// The queries' law for scores of white inputs, and the error at infinite context when attention reads with slope a_0.
template <Real T, class M = Matrix<T>>
class ReadQueries {
 public:
  explicit ReadQueries(const WhiteAttention<T, M>& white)
      : white_(white), square_(product<T>(white.key_query.transpose(), white.key_query)) {}

  /// E sigma^2.
  T mean_square() const { return square_.trace() + (white_.key_query * white_.input_mean).squaredNorm(); }

  /// In the eigenvectors E of G^T G: zeta^T E[w p^T] G zeta - nu^T E[p p^T] G zeta, and zeta^T G^T E[p p^T] G zeta.
  WeightedChiSquareQueries<T, M> law(std::string_view where) const {
    const auto spectrum = numerics::symmetric_spectrum(square_);
    const M& e = spectrum.vectors;
    const M ge = product<T>(white_.key_query, e), valued = product<T>(white_.value_square(), ge);
    return {
        where,
        spectrum.values,
        e.transpose() * white_.input_mean,
        {product<T>(product<T>(e.transpose(), white_.task_with_value()), ge), -valued.transpose() * white_.input_mean},
        {product<T>(ge.transpose(), valued), Vector<T>::Zero(e.rows())}};
  }

  /// E (w . x - p . (mu + a_0 Sigma M x))^2, as a sum of squares.
  T missed(const T& slope) const {
    const M& g = white_.key_query;
    const Vector<T>& nu = white_.input_mean;
    const M h = M::Identity(g.rows(), g.cols()) - (slope * white_.label_value) * g;
    const Vector<T> mean = h.transpose() * white_.task_mean - slope * (g.transpose() * white_.input_value);
    const Vector<T> read = nu + slope * (g * nu), left = nu - white_.label_value * read;
    const T at_mean = white_.task_mean.dot(left) - white_.input_value.dot(read);
    return trace_of_product<T>(product<T>(white_.task_covariance, h), h.transpose()) + mean.squaredNorm() +
           left.dot(white_.task_covariance * left) + at_mean * at_mean;
  }

 private:
  const WhiteAttention<T, M>& white_;
  M square_;
};

/// The scores of inputs with a mean have one themselves, which only softmax of a linear map does not see.
template <class Phi, Real T, class M>
void require_shift_invariance(std::string_view where, const LinearTask<T, M>& task) {
  if constexpr (!scoring::is_linear<Phi>) {
    require_all_zero(where, "input_mean", task.input_mean(),
                     ", and the map is not softmax of a multiple of the scores");
  }
}

template <Real T>
struct IsotropicEquivalent {
  IsotropicAttention<T> attention;
  IsotropicTask<T> task;
};

/// The query's own score is a function of its scores' variance only if the white scores' matrix is a multiple of I;
/// then the error is that of the isotropic family with the labels' variance.
template <Real T, class M = Matrix<T>>
IsotropicEquivalent<T> isotropic_equivalent(std::string_view where, const Attention<T, M>& attention,
                                            const LinearTask<T, M>& task, std::int64_t context_length) {
  require_softmax_domain(where, attention, task, context_length);
  const auto white = white_attention(attention, task);
  const T d = math::from_count<T>(task.dimension()), gain = white.key_query.trace() / d;
  const M rest = white.key_query - gain * M::Identity(white.key_query.rows(), white.key_query.cols());
  const T off = entry_bound<T>(rest);
  if (!(off <= T(256.0) * Eigen::NumTraits<T>::epsilon() * entry_bound<T>(white.key_query))) {
    throw_invalid_argument(where,
                           "key_query is no multiple of the inverse of input_covariance and the query is included", off,
                           "0 off it, or QueryToken::excluded");
  }
  return {{gain, attention.label_value}, {task.dimension(), T(1.0), T(white.task.trace() / d), task.noise_variance()}};
}

/// softmax_error from the rows of a map, the query excluded.
template <Real T, class M = Matrix<T>>
numerics::Quadrature<T> softmax_error_of_rows(std::string_view where, const Attention<T, M>& attention,
                                              const LinearTask<T, M>& task, const QueryRows<T>& rows,
                                              const T& tolerance) {
  using std::sqrt;
  numerics::require_diagonal(where, "key_query", attention.key_query);
  const auto white = white_attention(attention, task);
  const ReadQueries<T, M> queries(white);
  const T value_variance = white.value_variance();
  if (!(T(0.0) < queries.mean_square())) {
    const auto row = rows.at(T(0.0));
    return {T(task.noise_variance() + queries.missed(T(0.0)) + value_variance * row.ipr), row.error_estimate};
  }
  const T reference = mean_reference(rows, T(sqrt(queries.mean_square())));
  const T without_context = task.noise_variance() + queries.missed(reference);
  return average_over_queries(where, rows, queries.law(where),
                              QueryTerms<T>{without_context, reference, value_variance}, tolerance);
}

}  // namespace detail

template <Real T, scoring::SoftmaxLike Map, class M>
  requires std::same_as<T, scoring::Value<Map>>
numerics::Quadrature<T> softmax_error(const Attention<T, M>& attention, const LinearTask<T, M>& task,
                                      std::int64_t context_length, const Map& map, QueryToken query,
                                      const T& tolerance) {
  constexpr auto where = "softmax_error";
  if (query == QueryToken::included) {
    const auto same = detail::isotropic_equivalent(where, attention, task, context_length);
    return softmax_error_isotropic(same.attention, same.task, context_length, map, query, tolerance);
  }
  scoring::require_valid(map);
  const auto phi = map.elementwise(static_cast<std::ptrdiff_t>(context_length));
  require_context_length(where, context_length);
  validate(attention, task.dimension(), where);
  detail::require_shift_invariance<std::remove_cvref_t<decltype(phi)>>(where, task);
  const laws::StandardRows rows(where, phi, math::from_count<T>(context_length), math::infinity<T>());
  return detail::softmax_error_of_rows(where, attention, task, detail::query_rows(rows), tolerance);
}

INCONTEXT_COMPILED(regression_softmax_error, detail::isotropic_equivalent<double>);
INCONTEXT_COMPILED(regression_softmax_error, detail::isotropic_equivalent<double, DiagonalPlusLowRank<double>>);
INCONTEXT_COMPILED(regression_softmax_error, detail::softmax_error_of_rows<double>);
INCONTEXT_COMPILED(regression_softmax_error, detail::softmax_error_of_rows<double, DiagonalPlusLowRank<double>>);
INCONTEXT_COMPILED_OF_MAPS(regression_softmax_error, softmax_error, double);

}  // namespace incontext::regression
