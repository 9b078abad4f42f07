#pragma once

#include <array>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/iid_row.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/quadrature.hpp"
#include "incontext/scoring/detail/elementary.hpp"

namespace incontext::laws {

namespace detail {

/// Integral of the polynomial through 16 equidistant values over the middle one of the 15 steps: what the next node
/// adds to a running integral.
template <Real T>
class StepIntegral {
 public:
  StepIntegral() {
    for (int i = 0; i < points; ++i) {
      const auto basis = [i](const T& t) {
        T value = T(1);
        for (int j = 0; j < points; ++j) {
          if (j != i) value = value * (t - T(double(j))) / T(double(i - j));
        }
        return value;
      };
      const T left = T(double(points / 2 - 1));
      weight_[static_cast<std::size_t>(i)] =
          boost::math::quadrature::gauss<T, 15>::integrate(basis, left, T(left + T(1)));
    }
  }

  /// From node i - 1 to node i; values beyond the ends are 0.
  template <class Value>
  T up_to(std::ptrdiff_t i, std::ptrdiff_t size, const Value& value) const {
    T sum = T(0);
    for (std::ptrdiff_t k = 0; k < points; ++k) {
      const std::ptrdiff_t j = i - points / 2 + k;
      if (0 <= j && j < size) sum += weight_[static_cast<std::size_t>(k)] * value(j);
    }
    return sum;
  }

 private:
  static constexpr int points = 16;
  std::array<T, points> weight_{};
};

/// int dg phi(g) F_1(s + x g) [int_{-infinity}^g dg' phi(g') exp(-e^(s + x g'))]^(n - 1)
template <Real T>
T largest_share(const NormalScores<T>& scores, const T& count, const T& s, const StepIntegral<T>& step,
                std::vector<typename NormalScores<T>::Running>& nodes) {
  using std::exp;
  nodes.clear();
  scores.running_nodes(s, count, [&](const auto& node) { nodes.push_back(node); });
  const auto size = static_cast<std::ptrdiff_t>(nodes.size());
  const auto at = [&](std::ptrdiff_t i) -> const auto& { return nodes[static_cast<std::size_t>(i)]; };
  T sum = T(0), running = T(0);
  for (std::ptrdiff_t i = 0; i < size; ++i) {
    running += step.up_to(i, size, [&](std::ptrdiff_t j) { return at(j).inside; });
    const T missing = running + at(i).outside;
    if (missing < T(1)) sum += at(i).own * exp(T((count - T(1)) * scoring::detail::log_one_plus(T(-missing))));
  }
  return sum;
}

}  // namespace detail

/// Expected largest weight of a softmax row of n independent normal scores.
///
/// \f[ E \max_j a_j = n \int ds \int dg\, \varphi(g) F_1(s + x g)
///     \Bigl[\int_{-\infty}^g dg'\, \varphi(g') e^{-e^{s + x g'}}\Bigr]^{n-1},\qquad F_1(y) = e^{y - e^y} \f]
///
/// Source    derived: docs/derivations/gaussian_row.md; the running integral by local polynomials of degree 15.
/// Units     spread = beta times the standard deviation of the scores, dimensionless.
/// Domain    count >= 1 and whole, spread >= 0.
/// Limits    count = 1: 1; spread = 0: 1/n; spread -> infinity: 1.
/// Errors    std::domain_error; QuadratureError.
/// Accuracy  1e-11 relative: tests/laws/gaussian_maximum.cpp, precision_slow.cpp.
/// Runs on   host
template <Real T>
Quadrature<T> largest_weight(const T& count, const T& spread) {
  detail::require_whole("laws::largest_weight", "count", count, 1);
  require_non_negative("laws::largest_weight", "spread", spread);
  if (count <= T(1)) return {T(1), T(0)};
  const auto row = detail::normal_row(count, spread);
  const detail::StepIntegral<T> step;
  std::vector<typename detail::NormalScores<T>::Running> nodes;
  return detail::integrate_over<T>("laws::largest_weight", row.interval(), [&](const T& s) {
    return T(count * detail::largest_share(row.scores(), count, s, step, nodes));
  });
}

}  // namespace incontext::laws
