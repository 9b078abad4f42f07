#pragma once

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::laws::detail {

/// Panels for the Gauss-Legendre rule, on each of which an elementwise map phi of a normal score is a polynomial to
/// what the rule can integrate. Its singularities may be anywhere near the real axis, and kinks on it.
template <Real T>
class PolynomialPanels {
 public:
  static constexpr int order = 15;

  struct Values {
    T at[order] = {};
    T& operator[](int i) { return at[i]; }
    const T& operator[](int i) const { return at[i]; }
  };

  /// phi and d phi / d x at the nodes x of the panel from g = low to high, x from -1 to 1, and d phi / d x just within
  /// its ends.
  struct Piece {
    Values g, phi, rate;
    T least, largest, rate_low, rate_high;
  };

  static T weight(int i) {
    const int k = i - order / 2;
    return Rule::weights()[static_cast<std::size_t>(k < 0 ? -k : k)];
  }

  template <class Phi>
  static Piece piece(const Phi& phi, const T& deviation, const T& low, const T& high) {
    const T center = (low + high) / T(2), half = (high - low) / T(2);
    Piece p;
    p.least = p.largest = phi.value(T(deviation * high));
    const auto meet = [&p](const T& value) {
      if (value < p.least) p.least = value;
      if (p.largest < value) p.largest = value;
    };
    meet(phi.value(T(deviation * low)));
    const T within = half * T(1 - 1e-12);
    p.rate_low = deviation * half * phi.slope(T(deviation * (center - within)));
    p.rate_high = deviation * half * phi.slope(T(deviation * (center + within)));
    for (int i = 0; i < order; ++i) {
      p.g[i] = center + half * abscissa(i);
      const T z = deviation * p.g[i];
      p.phi[i] = phi.value(z);
      p.rate[i] = deviation * half * phi.slope(z);
      meet(p.phi[i]);
    }
    return p;
  }

  /// 0 and the ends of the panels out to `end`, in the direction of the deviation's sign; empty if they are too many.
  /// At a kink of phi panels halve until what the rule misses of it is below rounding. A phi that has no digits enough
  /// to be resolved anywhere uses `halvings` up, and its panels then follow its changes alone.
  template <class Phi>
  static std::vector<T> edges(const Phi& phi, const T& deviation, const T& end, const T& longest) {
    constexpr std::size_t most = 20000;
    const T shortest = longest * T(1024) * std::numeric_limits<T>::epsilon();
    int halvings = 1000;
    const auto fits = [&](const T& low, const T& high) {
      const Piece p = piece(phi, deviation, low, high);
      if (!(p.largest - p.least <= longest)) return false;
      if (halvings == 0 || high - low < shortest) return true;
      if (resolved(p)) return true;
      --halvings;
      return false;
    };
    std::vector<T> result{T(0)};
    T step = longest;
    while (result.back() < end) {
      if (result.size() == most) return {};
      const T from = result.back();
      step = step + step < longest ? T(step + step) : longest;
      while (from < from + step && !fits(from, T(from + step))) step = step / T(2);
      if (!(from < from + step)) return {};
      result.push_back(from + step);
    }
    return result;
  }

 private:
  using Rule = boost::math::quadrature::gauss<T, order>;

  static T abscissa(int i) {
    const int k = i - order / 2;
    return k < 0 ? T(-Rule::abscissa()[static_cast<std::size_t>(-k)]) : Rule::abscissa()[static_cast<std::size_t>(k)];
  }

  /// Coefficients of Legendre polynomials through values at the nodes.
  static Values coefficients(const Values& values) {
    Values sums{};
    for (int i = 0; i < order; ++i) {
      const T x = abscissa(i);
      T before = T(0), here = T(1);
      for (int k = 0; k < order; ++k) {
        sums[k] += weight(i) * values[i] * here * T(double(k) + 0.5);
        const T next = (T(double(2 * k + 1)) * x * here - T(double(k)) * before) / T(double(k + 1));
        before = here;
        here = next;
      }
    }
    return sums;
  }

  /// Whether phi and its slope are functions whose Legendre coefficients fall so fast that the rule, whose error is
  /// about the square of the last of them, is exact to rounding, and whose slope has no kink between the last node and
  /// an end.
  static bool resolved(const Piece& p) {
    using std::sqrt;
    const T eps = std::numeric_limits<T>::epsilon(), root = sqrt(eps);
    const T rounding = T(64) * eps * std::max(T(1), std::max(math::magnitude(p.least), math::magnitude(p.largest)));
    const auto of_phi = coefficients(p.phi), of_rate = coefficients(p.rate);
    T low = -p.rate_low, high = -p.rate_high;
    for (int k = 0; k < order; ++k) {
      low += k % 2 == 0 ? of_rate[k] : T(-of_rate[k]);
      high += of_rate[k];
    }
    T size = T(0);
    for (const auto* c : {&of_phi, &of_rate}) {
      T largest = T(0);
      for (int k = 1; k < order; ++k) largest = std::max(largest, math::magnitude((*c)[k]));
      const T last = std::max(math::magnitude((*c)[order - 1]), math::magnitude((*c)[order - 2]));
      if (!(last <= std::max(rounding, T(root * largest)))) return false;
      size = std::max(size, largest);
    }
    return std::max(math::magnitude(low), math::magnitude(high)) <=
           std::max(T(T(64) * rounding), T(T(1e3) * root * size));
  }
};

}  // namespace incontext::laws::detail
