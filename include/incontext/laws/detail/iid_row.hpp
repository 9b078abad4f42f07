#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/quadrature.hpp"
#include "incontext/scoring/detail/elementary.hpp"

/// Expectations over a row of n independent scores as integrals over one variable s:
/// E of a product of sums over j of w_j^k g_j^l / Z^k is int ds of products of T_k,l(s) and powers of psi(s).
namespace incontext::laws::detail {

template <Real T>
struct Interval {
  T low, high;
};

/// A point within about one nat of the maximum of a concave function: uphill by growing steps, then golden section.
template <Real T, class Function>
T near_maximum(const Function& f, T middle) {
  T best = f(middle), step = T(1);
  T low = middle - step, high = middle + step;
  for (int i = 0; i < 100 && best < f(high); ++i, step = step * T(2)) {
    low = middle;
    middle = high;
    best = f(middle);
    high = middle + step;
  }
  for (int i = 0; i < 100 && best < f(low); ++i, step = step * T(2)) {
    high = middle;
    middle = low;
    best = f(middle);
    low = middle - step;
  }
  for (int i = 0; i < 40 && T(1) < high - low; ++i) {
    const bool right = middle - low < high - middle;
    const T probe = middle + (right ? T(high - middle) : T(low - middle)) * T(0.381966);
    const T value = f(probe);
    if (best < value) {
      (right ? low : high) = middle;
      middle = probe;
      best = value;
    } else {
      (right ? high : low) = probe;
    }
  }
  return middle;
}

/// Where exp of a concave function has fallen by `drop` nats from its maximum.
template <Real T, class Function>
Interval<T> support(const Function& f, const T& start, const T& drop) {
  const T peak = near_maximum(f, start);
  const T threshold = f(peak) - drop;
  const auto edge = [&](const T& direction) {
    T inside = T(0), outside = T(2);
    for (int i = 0; i < 100 && threshold < f(T(peak + direction * outside)); ++i) {
      inside = outside;
      outside = outside * T(2);
    }
    for (int i = 0; i < 5; ++i) {
      const T middle = (inside + outside) / T(2);
      (threshold < f(T(peak + direction * middle)) ? inside : outside) = middle;
    }
    return T(peak + direction * outside);
  };
  return {edge(T(-1)), edge(T(1))};
}

template <Real T>
T negligible_drop() {
  using std::log;
  return T(3) - log(T(std::numeric_limits<T>::epsilon()));
}

/// About -E log Z of a row of normal scores, where psi(s)^n turns from 1 to 0.
template <Real T>
T turning_point(const T& count, const T& spread) {
  using std::log;
  using std::sqrt;
  const T l = log(count);
  return spread * spread < T(2) * l ? T(-l - spread * spread / T(2)) : T(-spread * sqrt(T(2) * l));
}

/// Integral over an interval outside of which f vanishes.
template <Real T, class Function>
Quadrature<T> integrate_over(std::string_view where, const Interval<T>& interval, const Function& f) {
  const T width = interval.high - interval.low;
  return integrate_bump<T>(where, [&](const T& u) { return T(width * f(T(interval.low + width * u))); });
}

/// int ds exp(log_density(s)), log_density concave.
template <Real T, class Function>
Quadrature<T> integrate_log_concave(std::string_view where, const Function& log_density, const T& start) {
  using std::exp;
  const auto interval = support(log_density, start, negligible_drop<T>());
  return integrate_over<T>(where, interval, [&](const T& s) { return T(exp(log_density(s))); });
}

/// log F_1(y), F_1(y) = e^(y - e^y).
template <Real T>
T log_gumbel(const T& y) {
  using std::exp;
  return y - exp(y);
}

/// int dy F_1(y) psi(y - exponent)^N: the weight of a signal e^exponent among N scores with this log psi. The integrand
/// peaks near `turn`, where psi^N begins to fall, or 0.
template <Real T, class Scores>
Quadrature<T> signal_integral(std::string_view where, const Scores& noise, const T& noise_count, const T& exponent,
                              const T& turn) {
  const auto log_density = [&](const T& y) { return T(log_gumbel(y) + noise_count * noise.log_psi(T(y - exponent))); };
  return integrate_log_concave<T>(where, log_density, turn < T(0) ? turn : T(0));
}

/// int dy F_1(y) (1 - psi(y - exponent)^N): the weight of the N scores together.
template <Real T, class Scores>
Quadrature<T> noise_integral(std::string_view where, const Scores& noise, const T& noise_count, const T& exponent) {
  using std::log;
  const auto log_density = [&](const T& y) {
    const T log_all_survive = noise_count * noise.log_psi(T(y - exponent));
    return T(log_gumbel(y) + log(T(-scoring::detail::exp_minus_one(log_all_survive))));
  };
  return integrate_log_concave<T>(where, log_density, T(0));
}

/// The s-integrals of one row, sharing the moments of the score law at the nodes.
template <class Scores>
class IidRow {
 public:
  using T = typename Scores::value_type;
  using Moments = decltype(std::declval<const Scores&>().moments(std::declval<T>()));

  IidRow(Scores scores, const T& count, const T& start)
      : scores_(std::move(scores)), count_(count), nodes_(finest + 1) {
    using std::log;
    const auto log_density = [this](const T& s) {
      return T(log(scores_.first(s)) + (count_ - T(1)) * scores_.log_psi(s));
    };
    interval_ = support(log_density, start, negligible_drop<T>());
  }

  const T& count() const { return count_; }
  const Scores& scores() const { return scores_; }
  const Interval<T>& interval() const { return interval_; }

  /// n (n - 1) ... (n - b + 1) / n^b: the share of b-tuples with distinct entries.
  T distinct(int b) const {
    T share = T(1);
    for (int j = 1; j < b; ++j) share = share * (count_ > T(double(j)) ? T((count_ - T(double(j))) / count_) : T(0));
    return share;
  }

  /// psi^(n - b), the tokens outside of b blocks; 0 where there are fewer than b tokens.
  T others(const Moments& m, int b) const {
    using std::exp;
    const T rest = count_ - T(double(b));
    return rest < T(0) ? T(0) : exp(T(rest * m.log_psi));
  }

  /// Integral of f(moments, s).
  template <class Function>
  Quadrature<T> integrate(std::string_view where, const Function& f) const {
    const T width = interval_.high - interval_.low;
    return integrate_bump<T>(
        where,
        [&](const T& u) {
          const T s = interval_.low + width * u;
          auto& node = nodes_[static_cast<std::size_t>(T(u * T(double(finest))))];
          if (!node) node = scores_.moments(s);
          return T(width * f(*node, s));
        },
        quadrature_tolerance<T>(), halvings);
  }

 private:
  static constexpr std::size_t halvings = std::numeric_limits<T>::digits > 64 ? 14 : 12;
  static constexpr std::size_t finest = std::size_t{1} << halvings;

  Scores scores_;
  T count_;
  Interval<T> interval_{};
  mutable std::vector<std::optional<Moments>> nodes_;
};

template <Real T>
IidRow<NormalScores<T>> normal_row(const T& count, const T& spread) {
  return {NormalScores<T>(spread), count, turning_point(count, spread)};
}

}  // namespace incontext::laws::detail
