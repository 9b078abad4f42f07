#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "incontext/core/math.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square_contour.hpp"
#include "incontext/regression/linear_algebra.hpp"

namespace incontext::regression::detail {

/// A polynomial of second degree, zeta^T A zeta + c . zeta.
template <Real T>
struct QuadraticForm {
  Matrix<T> square;
  Vector<T> linear;
};

/// Queries whose scores have the variance sigma^2, and the moments of two polynomials of zeta given sigma.
template <Real T>
class WeightedChiSquareQueries : public WeightedChiSquareContour<T> {
 public:
  /// lambda_j >= 0, not all zero; the moments wanted are those of two polynomials of zeta.
  WeightedChiSquareQueries(std::string_view where, const Vector<T>& lambda, Vector<T> mean,
                           const QuadraticForm<T>& linear, const QuadraticForm<T>& quadratic)
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
    Vector<T> once;   // A_jj + c_j nu_j
    Matrix<T> twice;  // nu_j A_jk nu_k
  };
  Form form(const QuadraticForm<T>& polynomial) const {
    return {polynomial.square.diagonal() + polynomial.linear.cwiseProduct(this->mean_),
            this->mean_.asDiagonal() * polynomial.square * this->mean_.asDiagonal()};
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

}  // namespace incontext::regression::detail
