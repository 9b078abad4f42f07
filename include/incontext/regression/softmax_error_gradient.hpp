#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square_contour.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/compiled_maps.hpp"
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
                                        const T& inverse_temperature = T(1.0));

namespace detail {

/// The density of u, and what multiplies the second and the fourth moments of zeta given sigma: for centered zeta, E
/// zeta_i zeta_j is 0 or `second`(i), and E zeta_i^2 zeta_j^2 is `fourth`(i, j), times 3 if i = j.
///
/// Shapes    moments: 1, then second (d), then fourth by its lower triangle (d (d + 1) / 2), all times the density
template <Real T>
struct QueryMoments {
  T deviation;
  std::vector<T> moments;
};

/// Centered queries whose scores have the variance sigma^2 = sum_j lambda_j zeta_j^2, with all moments of zeta up to
/// the fourth.
template <Real T>
class WeightedChiSquareFourth : public WeightedChiSquareContour<T> {
 public:
  WeightedChiSquareFourth(std::string_view where, const Vector<T>& lambda)
      : WeightedChiSquareContour<T>(where, lambda, Vector<T>::Zero(lambda.size())) {}

  static std::size_t count(Eigen::Index d) { return static_cast<std::size_t>(1 + d + d * (d + 1) / 2); }

  QueryMoments<T> operator()(const T& u) const {
    using std::exp;
    const T r = radius(u), q = r * r;
    const auto saddle = this->saddle_at(q);
    const std::vector<T> zero(count(this->share_.size()), T(0.0));
    QueryMoments<T> query{T(this->deviation_ * r), this->contour(q, saddle, zero, [&](const auto& node) {
                            std::vector<T> values = zero;
                            std::size_t at = 0;
                            const auto add = [&](const T& re, const T& im) {
                              values[at++] = node.real * re - node.imaginary * im;
                            };
                            const Vector<T>&re = node.inverse_real, &im = node.inverse_imaginary;
                            add(T(1.0), T(0.0));
                            for (Eigen::Index i = 0; i < re.size(); ++i) add(re(i), im(i));
                            for (Eigen::Index i = 0; i < re.size(); ++i) {
                              for (Eigen::Index j = 0; j <= i; ++j)
                                add(T(re(i) * re(j) - im(i) * im(j)), T(re(i) * im(j) + im(i) * re(j)));
                            }
                            return values;
                          })};
    const T scale = exp(saddle.exponent) * q * radius_rate(u);
    for (T& moment : query.moments) moment *= scale;
    return query;
  }
};

}  // namespace detail

// Averages over queries from which the gradient of softmax attention's error follows.
namespace detail {

/// E f, E f zeta_i^2 and E f zeta_i^2 zeta_j^2 (a third of it if i = j) for a function f of the scores' deviation.
template <Real T>
struct WeightedMoments {
  T mean;
  Vector<T> second;
  Matrix<T> fourth;

  /// E f (h (zeta zeta^T - I) - 2 H zeta zeta^T) for h = zeta^T H zeta with H symmetric: E f_i' h zeta_j by Stein's
  /// lemma.
  Matrix<T> stein_average(const Matrix<T>& h) const {
    const Matrix<T> whole = T(2.0) * h.cwiseProduct(fourth);
    Matrix<T> result = whole - T(2.0) * h * second.asDiagonal();
    result.diagonal() += fourth * h.diagonal();
    result.diagonal().array() -= h.diagonal().dot(second);
    return result;
  }
};

/// The averages over the queries that the gradient needs: of the IPR, and of the departures of both means.
template <Real T>
struct SoftmaxAverages {
  WeightedMoments<T> ipr, mean, square;
};

template <Real T>
WeightedMoments<T> unpacked(const std::vector<T>& sums, std::size_t at, Eigen::Index d, const T& mass) {
  WeightedMoments<T> result{sums[at++] / mass, Vector<T>(d), Matrix<T>(d, d)};
  for (Eigen::Index i = 0; i < d; ++i) result.second(i) = sums[at++] / mass;
  for (Eigen::Index i = 0; i < d; ++i) {
    for (Eigen::Index j = 0; j <= i; ++j) result.fourth(i, j) = result.fourth(j, i) = sums[at++] / mass;
  }
  return result;
}

template <Real T>
SoftmaxAverages<T> softmax_averages(std::string_view where, const QueryRows<T>& rows, const Vector<T>& eigenvalues,
                                    const T& reference) {
  const WeightedChiSquareFourth<T> law(where, eigenvalues);
  const auto interval = laws::log_concave_support([&](const T& u) { return law.log_density(u); }, law.start(),
                                                  laws::negligible_drop<T>());
  const T width = interval.upper - interval.lower;
  const std::size_t block = WeightedChiSquareFourth<T>::count(eigenvalues.size());
  const auto sums = numerics::integrate_bumps(
      where,
      [&](const T& u) {
        const QueryMoments<T> query = law(T(interval.lower + width * u));
        const auto row = rows.at(query.deviation);
        const auto off = departures(row, query.deviation, reference);
        std::vector<T> values{T(width * query.moments.front())};
        for (const T& f : {row.ipr, off.mean, off.square}) {
          for (const T& moment : query.moments) values.push_back(T(width * f * moment));
        }
        return values;
      },
      std::vector<T>(1 + 3 * block, T(0.0)), numerics::quadrature_tolerance<T>());
  const auto part = [&](std::size_t k) {
    return unpacked<T>(sums.value, 1 + k * block, eigenvalues.size(), sums.value[0]);
  };
  return {part(0), part(1), part(2)};
}

/// The error and its gradient in the coordinates of white inputs, from the averages in the eigenvectors of G^T G.
template <Real T>
class SoftmaxGradient {
 public:
  SoftmaxGradient(const WhiteAttention<T>& white, const numerics::SymmetricSpectrum<T>& spectrum, const T& reference,
                  const SoftmaxAverages<T>& averages)
      : white_(white), spectrum_(spectrum), reference_(reference), averages_(averages) {}

  T error() const {
    const Matrix<T>& g = white_.key_query;
    const T read = trace_of_product<T>(white_.task_with_value(), g);
    const T square = trace_of_product<T>(product<T>(white_.value_square(), g), g.transpose());
    return white_.noise_variance + white_.task.trace() + reference_ * (reference_ * square - T(2.0) * read) +
           white_.value_variance() * averages_.ipr.mean +
           T(2.0) * in_eigenvectors(product<T>(white_.task_with_value(), g)).diagonal().dot(averages_.mean.second) -
           in_eigenvectors(value_form()).diagonal().dot(averages_.square.second);
  }

  Matrix<T> by_key_query() const {
    const Matrix<T>& g = white_.key_query;
    const Matrix<T> read = product<T>(white_.task_with_value(), g);
    const Matrix<T> symmetric = T(0.5) * (read + read.transpose());
    const Matrix<T> valued = product<T>(white_.value_square(), g);
    Vector<T> ipr = averages_.ipr.second;
    ipr.array() -= averages_.ipr.mean;
    const Matrix<T> stein = white_.value_variance() * Matrix<T>(ipr.asDiagonal()) +
                            T(2.0) * averages_.mean.stein_average(in_eigenvectors(symmetric)) -
                            averages_.square.stein_average(in_eigenvectors(value_form()));
    const Matrix<T>& e = spectrum_.vectors;
    const Matrix<T> by_scores = product<T>(
        product<T>(product<T>(g, e), Matrix<T>(spectrum_.values.cwiseInverse().asDiagonal() * stein)), e.transpose());
    return by_scores + T(2.0) * (product<T>(white_.task_with_value().transpose(), second(averages_.mean, -reference_)) -
                                 product<T>(valued, second(averages_.square, -reference_ * reference_)));
  }

  /// By L^T v_x and by v_y: docs/theory/training.md#population-gradients has q = Q_p p + Q_w w.
  AffineInTask<T> by_value() const {
    const Matrix<T>& g = white_.key_query;
    const Vector<T>& m = white_.task_mean;
    Matrix<T> by_p =
        T(-2.0) * product<T>(product<T>(g, second(averages_.square, -reference_ * reference_)), g.transpose());
    by_p.diagonal().array() += T(2.0) * averages_.ipr.mean;
    const Matrix<T> by_w = T(2.0) * product<T>(g, second(averages_.mean, -reference_));
    const Vector<T> constant = by_p * white_.input_value;
    const Matrix<T> in_task = white_.label_value * by_p + by_w;
    return {constant + in_task * m, m.dot(constant) + trace_of_product<T>(in_task, white_.task) +
                                        T(2.0) * white_.label_value * white_.noise_variance * averages_.ipr.mean};
  }

 private:
  Matrix<T> value_form() const {
    const Matrix<T>& g = white_.key_query;
    return product<T>(g.transpose(), product<T>(white_.value_square(), g));
  }
  Matrix<T> in_eigenvectors(const Matrix<T>& form) const {
    const Matrix<T>& e = spectrum_.vectors;
    return product<T>(product<T>(e.transpose(), form), e);
  }
  /// E f zeta zeta^T, with a constant added to f.
  Matrix<T> second(const WeightedMoments<T>& moments, const T& constant) const {
    const Matrix<T>& e = spectrum_.vectors;
    return product<T>(e, Matrix<T>((moments.second.array() + constant).matrix().asDiagonal() * e.transpose()));
  }

  const WhiteAttention<T>& white_;
  const numerics::SymmetricSpectrum<T>& spectrum_;
  T reference_;
  const SoftmaxAverages<T>& averages_;
};

/// softmax_error_gradient from the rows of a map.
template <Real T>
ErrorGradient<T> softmax_error_gradient_of_rows(std::string_view where, const Attention<T>& attention,
                                                const LinearTask<T>& task, const QueryRows<T>& rows,
                                                const T& inverse_temperature) {
  using std::sqrt;
  auto scaled = attention;
  scaled.key_query *= inverse_temperature;
  const auto white = white_attention(scaled, task);
  const Matrix<T> square = product<T>(white.key_query.transpose(), white.key_query);
  const auto spectrum = numerics::symmetric_spectrum(square);
  const Vector<T>& eigenvalues = spectrum.values;
  if (!(T(64.0) * Eigen::NumTraits<T>::epsilon() * eigenvalues.maxCoeff() < eigenvalues.minCoeff())) {
    throw_domain_error(where, "inverse_temperature times key_query is singular: the least eigenvalue of its square",
                       eigenvalues.minCoeff(), "an invertible matrix");
  }
  const T reference = mean_reference(rows, T(sqrt(square.trace())));
  const auto averages = softmax_averages<T>(where, rows, eigenvalues, reference);
  const SoftmaxGradient<T> gradient(white, spectrum, reference, averages);
  const Matrix<T> root = numerics::Cholesky<T>(task.input_covariance()).lower();
  const Matrix<T> by_scaled = product<T>(product<T>(root, gradient.by_key_query()), root.transpose());
  const auto by_value = gradient.by_value();
  return {gradient.error(),
          {inverse_temperature * by_scaled, root * by_value.input_part, by_value.label_part},
          by_scaled.cwiseProduct(attention.key_query).sum()};
}

}  // namespace detail

template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
ErrorGradient<T> softmax_error_gradient(const Attention<T>& attention, const LinearTask<T>& task,
                                        std::int64_t context_length, const Map& map, const T& inverse_temperature) {
  constexpr auto where = "softmax_error_gradient";
  detail::require_gradient(where, attention, task, context_length, inverse_temperature);
  detail::require_all_zero(where, "input_mean", task.input_mean());
  scoring::require_valid(map);
  const laws::StandardRows rows(where, map.elementwise(static_cast<std::ptrdiff_t>(context_length)),
                                math::from_count<T>(context_length));
  return detail::softmax_error_gradient_of_rows(where, attention, task, detail::query_rows(rows), inverse_temperature);
}

INCONTEXT_COMPILED(regression_softmax_error_gradient, detail::softmax_error_gradient_of_rows<double>);
INCONTEXT_COMPILED_OF_MAPS(regression_softmax_error_gradient, softmax_error_gradient, double);

}  // namespace incontext::regression
