#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/scoring/checked.hpp"

/// Rows of scores whose tokens are drawn, with replacement, from a data set.
namespace incontext::regression::detail {

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
      const Vector<T> t = (exponents.array() + u).min(cap).exp(), kept = (-t.array()).exp();
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
    const auto place = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(rank_, sorted.size() - 1));
    std::nth_element(sorted.begin(), place, sorted.end());
    return *place;
  }

  T n_, l_, drop_, step_;
  std::size_t rank_;
};

/// The average over the query of noise (1 + v^2 E sum p^2) + E |sum p b|^2, with values(q) the b of query q.
template <Real T, class Map, class Values>
numerics::Quadrature<T> average_over_rows(std::string_view where, const Attention<T>& attention, const Matrix<T>& rows,
                                          std::int64_t context_length, const Map& map, const T& noise,
                                          const Values& values) {
  scoring::require_valid(map);
  const auto phi = map.elementwise(static_cast<std::ptrdiff_t>(context_length));
  if (!phi.in_domain()) {
    throw_domain_error(where, "the map is outside its domain in a row of context_length scores", context_length,
                       "parameters as the map's header states");
  }
  const DrawnRows<T> drawn(rows.rows(), context_length);
  const T v = attention.label_value, n = math::from_count<T>(rows.rows());
  numerics::Quadrature<T> error{T(0.0), T(0.0)};
  for (Eigen::Index q = 0; q < rows.rows(); ++q) {
    Vector<T> exponents = rows * (attention.key_query * rows.row(q).transpose());
    for (Eigen::Index i = 0; i < exponents.size(); ++i) exponents(i) = phi.value(exponents(i));
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

}  // namespace incontext::regression::detail
