#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/interval.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

/// Expectations over a row of n independent scores as integrals over one variable s. As 1 / Z^k is the integral over s
/// of e^(k s) exp(-e^s Z) / Gamma(k), in which every score has a factor of its own, the expectation of a product of
/// sums over j of w_j^k g_j^l / Z^k becomes an integral of products of T_k,l(s) and powers of psi(s)
/// (normal_scores.hpp).
namespace incontext::laws::detail {

/// The s at which psi(s)^n turns from 1 to 0, which is about -E log Z of a row of normal scores.
template <Real T>
T turning_point(const T& count, const T& score_stddev) {
  using std::log;
  using std::sqrt;
  const T l = log(count);
  return score_stddev * score_stddev < T(2) * l ? T(-l - score_stddev * score_stddev / T(2))
                                                : T(-score_stddev * sqrt(T(2) * l));
}

/// log F_1(y), F_1(y) = e^(y - e^y).
template <Real T>
T log_gumbel(const T& y) {
  using std::exp;
  return y - exp(y);
}

/// int dy F_1(y) psi(y - exponent)^N: the expected share of a needle with the unnormalized weight e^exponent among N
/// scores with the given log psi. The integrand peaks near `turn`, where psi^N begins to fall, or near 0.
template <Real T, class Scores>
numerics::Quadrature<T> needle_integral(std::string_view where, const Scores& noise, const T& noise_count,
                                        const T& exponent, const T& turn) {
  const auto log_density = [&](const T& y) { return T(log_gumbel(y) + noise_count * noise.log_psi(T(y - exponent))); };
  return integrate_log_concave<T>(where, log_density, turn < T(0) ? turn : T(0));
}

/// int dy F_1(y) (1 - psi(y - exponent)^N): the expected weight of the N scores together.
template <Real T, class Scores>
numerics::Quadrature<T> noise_integral(std::string_view where, const Scores& noise, const T& noise_count,
                                       const T& exponent) {
  using std::log;
  const auto log_density = [&](const T& y) {
    const T log_all_survive = noise_count * noise.log_psi(T(y - exponent));
    return T(log_gumbel(y) + log(T(-math::exp_minus_one(log_all_survive))));
  };
  return integrate_log_concave<T>(where, log_density, T(0));
}

/// What the integrals of one row share: the number of its tokens.
template <Real T>
class RowOf {
 public:
  explicit RowOf(const T& count) : count_(count) {}

  const T& count() const { return count_; }

  /// n (n - 1) ... (n - b + 1) / n^b: the share of b-tuples with distinct entries.
  T distinct(int b) const {
    T share = T(1);
    for (int j = 1; j < b; ++j) share = share * (count_ > T(double(j)) ? T((count_ - T(double(j))) / count_) : T(0));
    return share;
  }

  /// psi^(n - b), the factor of the tokens outside of b blocks; 0 where there are fewer than b tokens.
  T others(const T& log_psi, int b) const {
    using std::exp;
    const T rest = count_ - T(double(b));
    return rest < T(0) ? T(0) : exp(T(rest * log_psi));
  }
  template <class Moments>
  T others(const Moments& m, int b) const {
    return others(m.log_psi, b);
  }

 private:
  T count_;
};

/// The integrals over s of one row; they share the moments of the score law at the nodes.
template <class Scores>
class IidRow : public RowOf<typename Scores::value_type> {
 public:
  using T = typename Scores::value_type;
  using Moments = decltype(std::declval<const Scores&>().moments(std::declval<T>()));

  IidRow(Scores scores, const T& count, const T& start)
      : RowOf<T>(count), scores_(std::move(scores)), nodes_(finest + 1) {
    using std::log;
    const auto log_density = [&](const T& s) { return T(log(scores_.first(s)) + (count - T(1)) * scores_.log_psi(s)); };
    interval_ = log_concave_support(log_density, start, negligible_drop<T>());
  }

  const Scores& scores() const { return scores_; }

  /// Integral of f(moments, s). Not const, because it keeps the moments at its nodes for the next integral.
  template <class Function>
  numerics::Quadrature<T> integrate(std::string_view where, const Function& f) {
    const T width = interval_.upper - interval_.lower;
    return numerics::integrate_bump<T>(
        where,
        [&](const T& u) {
          const T s = interval_.lower + width * u;
          auto& node = nodes_[static_cast<std::size_t>(T(u * T(double(finest))))];
          if (!node) node = scores_.moments(s);
          return T(width * f(*node, s));
        },
        numerics::quadrature_tolerance<T>(), halvings);
  }

 private:
  static constexpr std::size_t halvings = std::numeric_limits<T>::digits > 64 ? 14 : 12;
  static constexpr std::size_t finest = std::size_t{1} << halvings;

  Scores scores_;
  Interval<T> interval_{};
  std::vector<std::optional<Moments>> nodes_;
};

template <Real T>
IidRow<NormalScores<T>> normal_row(const T& count, const T& score_stddev) {
  return {NormalScores<T>(score_stddev), count, turning_point(count, score_stddev)};
}

}  // namespace incontext::laws::detail
