#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/interval.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/detail/row_contracts.hpp"
#include "incontext/laws/log_concave.hpp"
#include "incontext/numerics/quadrature.hpp"

/// A row of two groups of tokens, one of which is attended to: how much of the weight and how much of the gradient of
/// W_K each group has. Group k has n_k independent scores N(shift_k, x_k^2), times the inverse temperature.
namespace incontext::laws {

/// One group of scores.
///
/// Units     dimensionless: scores times the inverse temperature.
template <Real T>
struct ScoreGroup {
  T count, score_stddev, shift;
};

/// What one group has of a row.
///
/// Units     dimensionless, for tokens of unit variance per component and |h| = 1.
template <Real T>
struct GroupShare {
  T weight;            ///< E of the sum of the group's weights
  T ipr;               ///< E of the sum of their squares
  T squared_gradient;  ///< E of the sum of its (dS_j tau)^2 = (a_j h . (x_j - xbar_a))^2
};

/// Both groups of a row.
template <Real T>
struct TwoGroupRow {
  std::array<GroupShare<T>, 2> groups;
  T error_estimate;  ///< the largest relative one

  /// The share of a group in the squared gradient at the scores, of which dL/dW_K = sum_j dS_j x_j q^T is made.
  [[nodiscard]] T gradient_share(std::size_t group) const {
    return groups.at(group).squared_gradient / (groups[0].squared_gradient + groups[1].squared_gradient);
  }
};

/// Weights and gradients of two groups of tokens at one query, exactly.
///
/// \f[ E \sum_{j \in G} a_j,\qquad E \sum_{j \in G} a_j^2,\qquad
///     E \sum_{j \in G} (a_j\, h \cdot (x_j - \bar x_a))^2 = E \sum_{j \in G} a_j^2 (1 - 2 a_j + \sum_k a_k^2) \f]
///
/// for a unit vector h orthogonal to w = W_K q / tau: in a direction in which the scores say nothing about the tokens.
/// With one more component along w it is the gradient's share up to 1/d. Local uniform attention starves its group
/// twice: a group of lower scores has a share e^-gap of the weight, but e^-2gap of the squared gradient.
///
/// Source    derived: docs/theory/laws.md#two-groups; what arXiv 2310.12956, Fig. 3 measures in a trained model.
/// Domain    counts >= 1 and whole, 0 <= score_stddev <= 1e15 and, beyond 60, at most twice that of the other group;
///           shifts finite.
/// Limits    one law for both: GaussianRow's values, divided as the counts are; squared_gradient sums to
///           squared_frobenius. Equal scores: 1/n, 1/n^2 and (1 - 1/n)/n^2 for each token.
/// Errors    std::domain_error; numerics::QuadratureError where the weight of a group is carried by rare scores: from
///           widths of about 10 on that differ by a factor of 4.
/// Accuracy  1e-10 relative: tests/laws/two_group_row.cpp.
template <Real T>
TwoGroupRow<T> two_group_row(const ScoreGroup<T>& first, const ScoreGroup<T>& second);

// Integrals over a row of two groups of normal scores.
namespace detail {

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
      const T top = (std::max)(log_first[0], log_first[1]);
      return T(top + log(T(exp(T(log_first[0] - top)) + exp(T(log_first[1] - top)))) + groups_[0].count * log_psi[0] +
               groups_[1].count * log_psi[1]);
    };
    interval_ =
        log_concave_support(log_density, T(-(std::max)(groups[0].shift, groups[1].shift)), negligible_drop<T>());
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
    for (int j = 0; j < tokens; ++j) product = product * (std::max)(T(0), T(groups_[k].count - T(double(j))));
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

}  // namespace detail

template <Real T>
TwoGroupRow<T> two_group_row(const ScoreGroup<T>& first, const ScoreGroup<T>& second) {
  constexpr std::string_view where = "laws::two_group_row";
  const std::array<ScoreGroup<T>, 2> groups{first, second};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::string name = k == 0 ? "first." : "second.";
    detail::require_row(where, name + "count", groups[k].count, 4);
    detail::require_width(where, name + "score_stddev", groups[k].score_stddev, 1e15);
    require_finite(where, name + "shift", groups[k].shift);
  }
  const T wider = (std::max)(first.score_stddev, second.score_stddev),
          narrower = (std::min)(first.score_stddev, second.score_stddev);
  if (T(60) < wider && T(2) * narrower < wider) {
    throw_domain_error(where, "score_stddev of one group is too far above the other's", wider,
                       "at most 60, or at most twice the other's");
  }
  detail::TwoGroups<T> row(groups);
  TwoGroupRow<T> result{};
  const auto integral = [&](const auto& f) {
    const auto found = row.integrate(where, f);
    result.error_estimate = (std::max)(result.error_estimate, T(found.error_estimate / found.value));
    return found.value;
  };
  for (std::size_t k = 0; k < 2; ++k) {
    const std::size_t l = 1 - k;
    GroupShare<T>& share = result.groups[k];
    share.weight = integral([&](const auto& m) { return T(m[k].first * row.tuples(m, k, 1, 0)); });
    share.ipr = integral([&](const auto& m) { return T(m[k].second * row.tuples(m, k, 1, 0)); });
    // a_j^2 [(sum of the others)^2 + sum of their squares], by tuples of distinct tokens: no differences
    share.squared_gradient = integral([&](const auto& m) {
                               const T a = m[k].first, b = m[l].first, a2 = m[k].second, b2 = m[l].second;
                               const T pairs = a2 * row.tuples(m, k, 2, 0) + b2 * row.tuples(m, k, 1, 1);
                               const T triples = a * a * row.tuples(m, k, 3, 0) + b * b * row.tuples(m, k, 1, 2) +
                                                 T(2) * a * b * row.tuples(m, k, 2, 1);
                               return T(a2 * (T(2) * pairs + triples));
                             }) /
                             T(6);
  }
  return result;
}

INCONTEXT_COMPILED(laws_two_group_row, two_group_row<double>);

}  // namespace incontext::laws
