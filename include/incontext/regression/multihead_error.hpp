#pragma once

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/laws/pair_row.hpp"
#include "incontext/laws/standard_row.hpp"
#include "incontext/numerics/minimum.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/linear_algebra.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/regression/softmax_domain.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/compiled_maps.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::regression {

/// One head of a layer whose heads share a key-query matrix up to a factor, of either sign.
///
/// Units     key_query_scale: none.
template <class Map>
struct Head {
  scoring::Value<Map> key_query_scale;  ///< its scores are this times x . M x_q
  Map map;
};

/// The error of a layer of several heads as a function of the heads' values v, on which no weight depends.
///
/// \f[ \text{error}(v) = \text{error}_0 - 2 v^T c + v^T G v,\qquad v^\ast = G^{-1} c \f]
///
/// Shapes    alignment: H, square: H x H
/// Units     label units squared.
template <Real T>
struct HeadsError {
  T without_context;    ///< error_0, of the answer 0
  Vector<T> alignment;  ///< c
  Matrix<T> square;     ///< G
  T error_estimate;     ///< of the average over queries, relative to each entry

  /// Shapes    values: H
  /// Errors    std::invalid_argument for another number of values, std::domain_error for one that is not finite.
  T operator()(const Vector<T>& values) const {
    require_shape("HeadsError", "values", values, alignment.size(), 1);
    require_finite_entries("HeadsError", "values", values);
    return without_context - T(2) * values.dot(alignment) + values.dot(square * values);
  }
  /// The values with the least error. Of heads that hardly differ, whose difference `square` is too inexact to weigh,
  /// the shortest.
  Vector<T> best_values() const {
    Eigen::CompleteOrthogonalDecomposition<Matrix<T>> decomposition;
    decomposition.setThreshold((std::max)(error_estimate, T(T(16) * std::numeric_limits<T>::epsilon())));
    return decomposition.compute(square).solve(alignment);
  }
  /// The error with these values.
  T least() const { return without_context - alignment.dot(best_values()); }
};

/// The mean squared error of a layer of softmax heads, or of any maps that are softmax after an elementwise one, on
/// Gaussian inputs of any covariance: exact at every context length, for all values of the heads together.
///
/// \f[ \hat y = \sum_h v_h \sum_j p^h_j y_j,\quad p^h = \text{map}_h(s_h\, x_j^T M x_q),\quad
///     \varsigma^2 = x_q^T M^T \Sigma M x_q \f]
/// \f[ c_h = E\left[x_q^T R\,\Sigma M x_q\; \frac{T_h}{\varsigma}\right],\quad
///     G_{hk} = E\left[(\sigma^2 + \mathrm{tr}\,R\Sigma)\, S_{hk}
///       + x_q^T M^T\Sigma R\,\Sigma M x_q\, \frac{T_{hk} - S_{hk}}{\varsigma^2}\right] \f]
/// with R the tasks' second moment, T_h the mean weighted score of a row of normal scores of deviation 1, S_hk and T_hk
/// the moments of a pair of rows (laws/pair_row.hpp) at the deviations s_h varsigma and s_k varsigma.
///
///     using Heads = std::vector<regression::Head<scoring::Softmax<double>>>;
///     const Heads opposed{{0.3, {}}, {-0.3, {}}};
///     const auto layer = regression::multihead_error<double>(attention.key_query, task, 64, opposed);
///     layer.least();   // in 8 dimensions with M = I 0.247, where one head with its best value errs 0.397
///
/// Source    derived: docs/theory/regression.md#several-heads. Trained heads come in opposed pairs: arXiv 2503.12734.
/// Shapes    (key_query M: d x d, task: d, context_length l, H heads)
/// Units     label units squared; the maps' parameters in units of the scores.
/// Domain    l >= 2, H >= 1, inputs of mean 0, M not 0; maps in their domain. The query is no key. Of several heads of a
///           linear map, scores of deviations up to widest_pair_row for the widest queries, some 10 sigma out.
/// Limits    one head: softmax_error. Two softmax heads of scales s and -s, s -> 0: linear attention on the centered
///           context, generalization_error with Offset::removed at its best temperature.
/// Errors    std::invalid_argument for counts, shapes and a mean of the inputs; std::domain_error for values;
///           numerics::QuadratureError where the relative estimate of a quadrature stays above `tolerance`.
/// Accuracy  in double 1e-9 relative of the error (tests/regression/multihead_error.cpp). Two heads take 10 to 40 ms where
///           scores vary by less than 2 or so, and a minute where they vary by 10. Opposed heads of small
///           scale s lose eps/(s varsigma)^2 in `least`.
template <Real T, scoring::SoftmaxLike Map>
  requires std::same_as<T, scoring::Value<Map>>
HeadsError<T> multihead_error(const Matrix<T>& key_query, const LinearTask<T>& task, std::int64_t context_length,
                              const std::vector<Head<Map>>& heads,
                              const T& tolerance = numerics::quadrature_tolerance<T>()) {
  using std::sqrt;
  constexpr auto where = "multihead_error";
  const T eps = std::numeric_limits<T>::epsilon();
  const std::size_t count = heads.size();
  require_at_least(where, "heads.size()", static_cast<std::int64_t>(count), std::int64_t{1});
  const Attention<T> attention{key_query, Vector<T>::Zero(task.dimension()), T(1)};
  require_softmax_domain(where, attention, task, context_length);
  for (std::size_t h = 0; h < count; ++h) {
    require_finite(where, "heads[" + std::to_string(h) + "].key_query_scale", heads[h].key_query_scale);
    scoring::require_valid(heads[h].map);
  }
  const auto white = detail::white_attention(attention, task);
  const detail::ReadQueries<T> queries(white);
  if (!(T(0) < queries.mean_square())) {
    throw_domain_error(where, "key_query is too small", key_query.cwiseAbs().maxCoeff(), "a key_query that is not 0");
  }
  using Phi = decltype(heads[0].map.elementwise(1));
  const T n = math::from_count<T>(context_length);
  const auto phi = [&](std::size_t h) { return heads[h].map.elementwise(static_cast<std::ptrdiff_t>(context_length)); };
  std::vector<laws::StandardRows<Phi, T>> rows;
  std::vector<laws::PairRows<Phi, T>> pairs;
  for (std::size_t h = 0; h < count; ++h) {
    rows.emplace_back(where, phi(h), n, tolerance);
    for (std::size_t k = 0; k < h; ++k) pairs.emplace_back(where, phi(h), phi(k), n, tolerance);
  }
  const auto law = queries.law(where);
  const auto interval = laws::log_concave_support([&](const T& u) { return law.log_density(u); }, law.start(),
                                                  laws::negligible_drop<T>());
  if constexpr (scoring::is_linear<Phi>) {
    const T widest = law(interval.upper).deviation;  // pairs of rows reach as far as laws::PairRows does
    for (std::size_t h = 0; count > 1 && h < count; ++h) {
      const T most = T(laws::widest_pair_row) / math::magnitude(T(phi(h).value(widest)));
      if (math::magnitude(heads[h].key_query_scale) <= most) continue;
      throw_domain_error(where, "heads[" + std::to_string(h) + "].key_query_scale is too large",
                         heads[h].key_query_scale, "at most " + std::to_string(static_cast<double>(most)) + " in size");
    }
  }
  // The density of the queries; T_h of each head; G_hk of each pair, whose noise is then one of the larger part.
  const T width = interval.upper - interval.lower, peak = law(law.start()).density, labels = white.value_variance();
  const auto sums = numerics::integrate_bumps(
      where,
      [&](const T& u) {
        const auto query = law(T(interval.lower + width * u));
        const T over = T(1) / query.deviation, linear = query.linear * over, quadratic = query.quadratic * over * over;
        std::vector<T> values{query.density};
        std::vector<laws::StandardRow<T>> own;
        const auto add = [&](const T& overlap, const T& square) {
          values.push_back(labels * query.density * overlap + quadratic * (square - overlap));
        };
        for (std::size_t h = 0; h < count; ++h) {
          own.push_back(rows[h](T(heads[h].key_query_scale * query.deviation)));
          values.push_back(linear * own[h].mean_score);
          add(own[h].ipr, own[h].mean_square_score);
          for (std::size_t k = 0; k < h; ++k) {
            // An overlap is at most sqrt(S_hh S_kk), and its mean is about 1/n: a rare query may have a coarse one.
            const T share = T(1e3) * n * sqrt(T(own[h].ipr * own[k].ipr)) * query.density / peak;
            const T precision = (std::max)(T(tolerance / share), eps);
            const auto both = pairs[h * (h - 1) / 2 + k](T(heads[h].key_query_scale * query.deviation),
                                                         T(heads[k].key_query_scale * query.deviation), precision);
            add(both.overlap, both.mean_score_square);
          }
        }
        for (T& value : values) value = value * width;
        return values;
      },
      std::vector<T>(1 + 2 * count + count * (count - 1) / 2), tolerance);
  HeadsError<T> error{T(task.noise_variance() + queries.missed(T(0))), Vector<T>(count), Matrix<T>(count, count),
                      (std::max)(sums.worst, tolerance)};
  auto next = sums.value.begin();
  const T mass = *next++;
  for (Eigen::Index h = 0; h < error.alignment.size(); ++h) {
    error.alignment(h) = *next++ / mass;
    error.square(h, h) = *next++ / mass;
    for (Eigen::Index k = 0; k < h; ++k) error.square(h, k) = error.square(k, h) = *next++ / mass;
  }
  return error;
}

/// Softmax heads at temperature 1 with the scales of their scores and their values, and the error of the layer.
///
/// Shapes    key_query_scales, values: H
/// Units     error: label units squared.
template <Real T>
struct HeadsOptimum {
  Vector<T> key_query_scales, values;
  T error;
  numerics::SearchPlace place = numerics::SearchPlace::inside;  ///< at an end where one of the scales is
};

/// The softmax heads whose layer errs least: values in closed form for each choice of scales, scales by search.
///
///     const auto pair = regression::best_softmax_heads<double>(attention.key_query, task, 64, 2);
///
/// Source    Brent's method in the logarithm of a factor of all scales, then of each scale, from scales of alternating
///           sign, until a round gains less than 3e-5 of the error, at most five rounds.
/// Shapes    (key_query M: d x d, task: d, context_length l, H) -> H scales and values, by falling |scale|
/// Units     as multihead_error.
/// Domain    as multihead_error. Scales are searched where |scale| times the root mean square deviation of the scores is
///           between 1/50 and 3, for a single head between 1/50 and 100.
/// Limits    H = 1: the best temperature with the best value. H = 2 in long contexts: small opposed scales, near linear
///           attention on the centered context.
/// Errors    as multihead_error.
/// Accuracy  one head: the error to 1e-6 (tests/regression/multihead_error.cpp). Several: to 2e-4, a minimum along every
///           scale alone; that no better one is elsewhere is not proved. Two heads take a second or two, four a minute.
template <Real T>
HeadsOptimum<T> best_softmax_heads(const Matrix<T>& key_query, const LinearTask<T>& task, std::int64_t context_length,
                                   std::int64_t count) {
  using std::exp;
  using std::log;
  using std::sqrt;
  constexpr auto where = "best_softmax_heads";
  require_at_least(where, "count", count, std::int64_t{1});
  const Attention<T> attention{key_query, Vector<T>::Zero(task.dimension()), T(1)};
  require_softmax_domain(where, attention, task, context_length);
  const auto white = detail::white_attention(attention, task);
  const T mean_square = detail::ReadQueries<T>(white).mean_square();
  if (!(T(0) < mean_square)) {
    throw_domain_error(where, "key_query is too small", key_query.cwiseAbs().maxCoeff(), "a key_query that is not 0");
  }
  const bool single = count == 1;
  const T unit = T(1) / sqrt(mean_square), lowest = log(T(unit / T(50))), highest = log(T(unit * T(single ? 100 : 3)));
  using Heads = std::vector<Head<scoring::Softmax<T>>>;
  Heads heads;
  for (std::int64_t h = 0; h < count; ++h) {
    const T size = unit * T(std::ldexp(1.0, -static_cast<int>((std::min)(h / 2, std::int64_t{4}))));
    heads.push_back({h % 2 == 0 ? size : T(-size), {T(1)}});
  }
  const T exact = numerics::quadrature_tolerance<T>(), coarse = single ? exact : T(1e-7);
  const auto layer = [&](const Heads& of, const T& tolerance) {
    return multihead_error<T>(key_query, task, context_length, of, tolerance);
  };
  const auto scaled = [&](const T& logarithm, std::size_t from, std::size_t end) {
    Heads tried = heads;
    for (std::size_t h = from; h < end; ++h) {
      tried[h].key_query_scale = tried[h].key_query_scale * exp(logarithm);
    }
    return tried;
  };
  const auto size_of = [](const Head<scoring::Softmax<T>>& head) {
    return T(log(T(math::magnitude(head.key_query_scale))));
  };
  // the heads from `from` to `end` by one factor
  const auto improve = [&](std::size_t from, std::size_t end, const T& reach) {
    T low = -reach, high = reach;
    for (std::size_t h = from; h < end; ++h) {
      low = (std::max)(low, T(lowest - size_of(heads[h])));
      high = (std::min)(high, T(highest - size_of(heads[h])));
    }
    if (!(low < high)) return;
    constexpr double shift = 16;  // Brent's method ends by the relative size of its argument
    const auto found = numerics::minimum_between<T>(
        [&](const T& place) { return layer(scaled(T(place - T(shift)), from, end), coarse).least(); },
        T(low + T(shift)), T(high + T(shift)), single ? 18 : 10);
    heads = scaled(T(found.argument - T(shift)), from, end);
  };
  T least = layer(heads, coarse).least();
  for (int round = 0; round < 5; ++round) {
    const T reach = T(round == 0 ? (single ? 5 : 4) : round == 1 ? 1 : 0.5), before = least;
    improve(0, heads.size(), reach);
    for (std::size_t h = 0; !single && h < heads.size(); ++h) improve(h, h + 1, T(reach / T(4)));
    least = layer(heads, coarse).least();
    if (!(T(3e-5) * before < before - least)) break;
  }
  std::sort(heads.begin(), heads.end(), [&](const auto& a, const auto& b) { return size_of(b) < size_of(a); });
  const HeadsError<T> error = layer(heads, exact);
  HeadsOptimum<T> best{Vector<T>(error.alignment.size()), error.best_values(), error.least(),
                       numerics::SearchPlace::inside};
  const T near_end = T(0.05);
  if (size_of(heads.back()) < lowest + near_end) best.place = numerics::SearchPlace::lowest;
  if (size_of(heads.front()) > highest - near_end) best.place = numerics::SearchPlace::highest;
  for (Eigen::Index h = 0; h < best.values.size(); ++h) {
    best.key_query_scales(h) = heads[static_cast<std::size_t>(h)].key_query_scale;
  }
  return best;
}

INCONTEXT_COMPILED_OF_MAPS(regression_multihead_error, multihead_error, double);
INCONTEXT_COMPILED(regression_multihead_error, best_softmax_heads<double>);

}  // namespace incontext::regression
