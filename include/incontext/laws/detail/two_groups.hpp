#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/interval.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/contracts.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

namespace incontext::laws {

template <Real T>
struct ScoreGroup;

}  // namespace incontext::laws

/// Integrals over a row of two groups of normal scores.
namespace incontext::laws::detail {

template <Real T>
class TwoGroups {
 public:
  using Moments = std::array<ScoreMoments<T>, 2>;

  explicit TwoGroups(const std::array<ScoreGroup<T>, 2>& groups)
      : groups_(groups),
        scores_{NormalScores<T>(groups[0].score_stddev), NormalScores<T>(groups[1].score_stddev)},
        nodes_(finest + 1) {
    using std::exp;
    using std::log;
    const auto log_density = [this](const T& s) {
      std::array<T, 2> log_psi, log_first;
      for (std::size_t k = 0; k < 2; ++k) {
        const T y = s + groups_[k].shift;
        log_psi[k] = scores_[k].log_psi(y);
        log_first[k] = log(T(groups_[k].count * scores_[k].first(y))) - log_psi[k];
      }
      const T top = std::max(log_first[0], log_first[1]);
      return T(top + log(T(exp(T(log_first[0] - top)) + exp(T(log_first[1] - top)))) + groups_[0].count * log_psi[0] +
               groups_[1].count * log_psi[1]);
    };
    interval_ = log_concave_support(log_density, T(-std::max(groups[0].shift, groups[1].shift)), negligible_drop<T>());
  }

  /// int ds f(moments of both groups at s). Not const: it keeps the moments of its nodes for the next integral.
  template <class Function>
  numerics::Quadrature<T> integrate(std::string_view where, const Function& f) {
    const T width = interval_.upper - interval_.lower;
    return numerics::integrate_bump<T>(
        where,
        [&](const T& u) {
          const T s = interval_.lower + width * u;
          auto& node = nodes_[static_cast<std::size_t>(T(u * T(double(finest))))];
          if (!node) {
            node = Moments{scores_[0].moments(T(s + groups_[0].shift)), scores_[1].moments(T(s + groups_[1].shift))};
          }
          return T(width * f(*node));
        },
        numerics::quadrature_tolerance<T>(), halvings);
  }

  /// Ordered tuples of `own` distinct tokens of group k and `other` of the other one, all others left alone.
  T tuples(const Moments& m, std::size_t k, int own, int other) const {
    return falling(k, own) * survive(m, k, own) * falling(1 - k, other) * survive(m, 1 - k, other);
  }

 private:
  T falling(std::size_t k, int tokens) const {
    T product = T(1);
    for (int j = 0; j < tokens; ++j) product = product * std::max(T(0), T(groups_[k].count - T(double(j))));
    return product;
  }

  T survive(const Moments& m, std::size_t k, int without) const {
    using std::exp;
    const T rest = groups_[k].count - T(double(without));
    return rest < T(0) ? T(0) : T(exp(T(rest * m[k].log_psi)));
  }

  static constexpr std::size_t halvings = std::numeric_limits<T>::digits > 64 ? 14 : 12;
  static constexpr std::size_t finest = std::size_t{1} << halvings;

  std::array<ScoreGroup<T>, 2> groups_;
  std::array<NormalScores<T>, 2> scores_;
  std::vector<std::optional<Moments>> nodes_;
  Interval<T> interval_{};
};

}  // namespace incontext::laws::detail
