#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Expectations of rational functions of the partition function as integrals over s = log t of its Laplace transform.
namespace incontext::classification::detail {

/// Refuses arguments for which the integrals over the angle and over s = log t would be too long: without the query's
/// key, s ranges over the kernel's logarithm, an interval of length 2 kappa.
template <Real T>
void require_partition_function_law(std::string_view where, std::int64_t dimension, const T& kappa, QueryToken query) {
  require_angle_dimension(where, dimension);
  require_non_negative(where, "kappa", kappa);
  const bool has_key = query == QueryToken::included;
  if (!(kappa <= T(has_key ? 1e5 : 1e4))) {
    throw_domain_error(where, "kappa is too large for its integral", kappa,
                       has_key ? "at most 1e5" : "at most 1e4 without the query's key");
  }
}

/// To rounding, and even for n points at once, e^(-e^y) is 0 above `high` and 1 below `low`. Up to moderate kappa all
/// of the lower side is kept, because where every weight is tiny there is no other contribution.
template <Real T>
struct Transition {
  T low, high;
};

template <Real T>
Transition<T> transition(const T& kappa, const T& count) {
  using std::log;
  if (kappa <= T(500)) return {T(-4000), T(5)};
  return {log(T(std::numeric_limits<T>::epsilon())) - T(2) - log(count), T(5)};
}

/// Expectations over the kernel w = e^(kappa (u.x - 1)) of one point at t = e^s.
template <Real T>
struct KernelMoments {
  T log_psi;          ///< log E e^(-t w)
  T first;            ///< E t w e^(-t w)
  T second;           ///< E (t w)^2 e^(-t w)
  T centered;         ///< E (t w - t b) e^(-t w), b the center
  T centered_square;  ///< E (t w - t b)^2 e^(-t w)
};

template <Real T>
T log_of_share(const T& share, const T& complement) {
  using std::log;
  using std::log1p;
  if (complement < T(0.5)) return log1p(T(-complement));
  return T(0) < share ? T(log(share)) : T(-std::numeric_limits<T>::infinity());
}

/// The indices of a falling sequence of exponents with low <= s + exponent <= high.
template <Real T>
std::pair<std::size_t, std::size_t> band(const std::vector<T>& exponents, const T& s, const Transition<T>& edge) {
  const auto first =
      std::partition_point(exponents.begin(), exponents.end(), [&](const T& e) { return edge.high < s + e; });
  const auto last = std::partition_point(first, exponents.end(), [&](const T& e) { return edge.low < s + e; });
  return {static_cast<std::size_t>(first - exponents.begin()), static_cast<std::size_t>(last - exponents.begin())};
}

/// The Laplace transform of one point's weight and its derivatives.
template <Real T>
class WeightLaw {
 public:
  WeightLaw(std::int64_t dimension, const T& kappa, const T& count)
      : rule_(dimension, kappa, angle_edges(dimension, kappa)), sums_(rule_.shares), edge_(transition(kappa, count)) {}

  KernelMoments<T> operator()(const T& s, const T& log_center) const {
    using std::exp;
    using std::expm1;
    const auto [first, last] = band(rule_.exponents, s, edge_);
    const T log_tb = s + log_center, tb = exp(log_tb);
    T share = sums_.from[last], complement = sums_.before[first];
    KernelMoments<T> m{T(0), T(0), T(0), -tb * share, tb * tb * share};
    for (std::size_t i = first; i < last; ++i) {
      const T y = s + rule_.exponents[i], tw = exp(y), fall = expm1(T(-tw)), f = rule_.shares[i];
      const T mass = f * (fall + T(1));
      const T above = rule_.exponents[i] - log_center;  // y - log_tb, without rounding s, which is far larger
      const T difference = -T(1) < above && above < T(1) ? T(tb * expm1(above)) : T(tw - tb);
      share += mass;
      complement -= f * fall;
      m.first += mass * tw;
      m.second += mass * tw * tw;
      m.centered += mass * difference;
      m.centered_square += mass * difference * difference;
    }
    m.log_psi = log_of_share(share, complement);
    return m;
  }

 private:
  AngleRule<T> rule_;
  PartialSums<T> sums_;
  Transition<T> edge_;
};

/// Integrates over s. A grid with step 1 finds the interval in which an integrand is not negligible; the grid misses
/// nothing, because integrands depend on s through t times the partition function and are mixtures of bumps at least
/// as wide as its step.
template <Real T>
class LocatedIntegrals {
 public:
  /// The partition function is between `least` and `most`, and t times it is about 1 wherever an integrand matters.
  LocatedIntegrals(const T& log_least, const T& log_most) {
    using std::log;
    for (T s = -log_most - T(3) + T(2) * log(T(std::numeric_limits<T>::epsilon())); s < T(7) - log_least; s += T(1)) {
      grid_.push_back(s);
    }
  }

  const std::vector<T>& grid() const { return grid_; }

  /// Integral of f over s, given log |f| on the grid.
  template <class Function>
  T operator()(std::string_view where, const std::vector<T>& log_size, const Function& f) const {
    using std::log;
    const T peak = *std::max_element(log_size.begin(), log_size.end());
    if (!(peak < log((std::numeric_limits<T>::max)()) - T(4))) return std::numeric_limits<T>::infinity();
    const T threshold = peak + log(T(std::numeric_limits<T>::epsilon())) - T(4);
    std::size_t first = 0, last = log_size.size() - 1;
    while (first + 1 < last && !(threshold < log_size[first + 1])) ++first;
    while (first + 1 < last && !(threshold < log_size[last - 1])) --last;
    const T low = grid_[first], width = grid_[last] - low;
    return numerics::integrate_bump<T>(
               where, [&](const T& u) { return T(width * f(T(low + width * u))); }, numerics::quadrature_tolerance<T>(),
               17)
        .value;
  }

 private:
  std::vector<T> grid_;
};

}  // namespace incontext::classification::detail
