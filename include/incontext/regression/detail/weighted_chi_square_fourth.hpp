#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/regression/detail/softmax_query_average.hpp"
#include "incontext/regression/detail/weighted_chi_square_contour.hpp"
#include "incontext/regression/linear_algebra.hpp"

namespace incontext::regression::detail {

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

}  // namespace incontext::regression::detail
