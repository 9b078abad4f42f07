#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// Readers of scores. A reader is what a batch calls for each score of a map whose attention needs each score once:
/// softmax after an elementwise map (is_softmax), which is computed with a running maximum, and functions of the score
/// over a normalizer, which are computed with running sums. Any other map has no reader and is applied to whole rows.
///
/// A softmax reader writes phi(z) = rate shape(z), where the rate alone depends on the number of keys:
///   octaves_per_unit(n)   the rate times log2(e), as the powers are powers of two
///   shape(z)              for a pack of scores
///   fits()                whether the parameters are in the range in which the shape keeps its digits
/// Any other reader has the numerator value(z), what the normalizer adds up, counted(value), and normalizer(n, total).
namespace incontext::apply::detail {

/// The reader of a map that needs its whole row.
struct NoReader {};

/// The reader of a map.
template <class Map>
struct ReaderOf {
  using type = NoReader;
};

/// Softmax and SSMax: phi(z) = rate(n) z.
template <class Map>
struct LinearReader {
  using T = typename Map::value_type;
  static constexpr bool is_softmax = true;
  Map map;

  bool fits() const { return true; }
  INCONTEXT_HD T octaves_per_unit(std::int64_t count) const {
    const auto phi = map.elementwise(count);
    return phi.slope(T(0)) * elementary::log2_e<T>;
  }
  INCONTEXT_HD Pack<T> shape(const Pack<T>& z) const { return z; }
};

template <class T>
struct ReaderOf<scoring::Softmax<T>> {
  using type = LinearReader<scoring::Softmax<T>>;
};
template <class T>
struct ReaderOf<scoring::SSMax<T>> {
  using type = LinearReader<scoring::SSMax<T>>;
};

/// SSA: phi(z) = sgn(z) k log(1 + |z| / c), c = tau / b.
template <class Value>
struct SignedLogarithmReader {
  using T = Value;
  static constexpr bool is_softmax = true;
  scoring::SSA<T> map;

  bool fits() const {
    using math::Constants;
    const T knee = map.temperature / map.base;
    return 64 * Constants<T>::smallest <= knee && knee <= 1 / (64 * Constants<T>::smallest);
  }
  INCONTEXT_HD T octaves_per_unit(std::int64_t) const { return map.exponent * elementary::log2_e<T>; }
  INCONTEXT_HD Pack<T> shape(const Pack<T>& z) const {
    const Pack<T> zero = pack_of(T(0));
    const Pack<T> x = (z < zero ? -z : z) * (map.base / map.temperature);
    const Pack<T> growth = elementary::log_one_plus_of<T>(x, x + T(1));
    return z < zero ? -growth : growth;
  }
};

template <class T>
struct ReaderOf<scoring::SSA<T>> {
  using type = SignedLogarithmReader<T>;
};

/// Linear attention: z over the temperature, or over the temperature times n.
template <class Value>
struct LinearAttentionReader {
  using T = Value;
  static constexpr bool is_softmax = false;
  scoring::LinearAttention<T> map;

  INCONTEXT_HD T value(const T& z) const { return z; }
  INCONTEXT_HD T counted(const T&) const { return T(0); }
  INCONTEXT_HD T normalizer(std::int64_t count, const T&) const {
    const bool none = map.normalization == scoring::LinearNormalization::none;
    return map.temperature * (none ? T(1) : static_cast<T>(count));
  }
};

template <class T>
struct ReaderOf<scoring::LinearAttention<T>> {
  using type = LinearAttentionReader<T>;
};

/// Ratio scores: f(z) over 1, n, the sum of f or the sum of |f|.
template <class Function, class Value>
struct RatioReader {
  using T = Value;
  static constexpr bool is_softmax = false;
  scoring::RatioScore<Function, T> map;

  INCONTEXT_HD T value(const T& z) const { return Function::value(z); }
  INCONTEXT_HD T counted(const T& value) const {
    return map.normalization == scoring::ScoreNormalization::absolute_sum && value < T(0) ? -value : value;
  }
  INCONTEXT_HD T normalizer(std::int64_t count, const T& total) const {
    using enum scoring::ScoreNormalization;
    if (map.normalization == none) return T(1);
    if (map.normalization == context_length) return static_cast<T>(count);
    return total < T(0) || T(0) < total ? total : math::not_a_number<T>();
  }
};

template <class Function, class T>
struct ReaderOf<scoring::RatioScore<Function, T>> {
  using type = RatioReader<Function, T>;
};

}  // namespace incontext::apply::detail
