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

/// Maps whose attention needs each score once: softmax after an elementwise map, by a running maximum, and functions of
/// the score over a normalizer, by running sums. Any other map has no stream and is applied to whole rows.
namespace incontext::apply::detail {

struct NoStream {};

template <class Map>
struct StreamOf {
  using type = NoStream;
};

/// phi(z) = rate(n) z.
template <class Map>
struct LinearStream {
  using T = typename Map::value_type;
  static constexpr bool is_softmax = true;
  Map map;

  bool fits() const { return true; }
  INCONTEXT_HD T octaves_a_unit(std::int64_t count) const {
    const auto phi = map.elementwise(count);
    return phi.slope(T(0)) * elementary::log2_e<T>;
  }
  INCONTEXT_HD Pack<T> shape(const Pack<T>& z) const { return z; }
};

template <class T>
struct StreamOf<scoring::Softmax<T>> {
  using type = LinearStream<scoring::Softmax<T>>;
};
template <class T>
struct StreamOf<scoring::SSMax<T>> {
  using type = LinearStream<scoring::SSMax<T>>;
};

/// phi(z) = sgn(z) k log(1 + |z| / c).
template <class Value>
struct SignedLogarithmStream {
  using T = Value;
  static constexpr bool is_softmax = true;
  scoring::SSA<T> map;

  bool fits() const {
    using math::Constants;
    const T knee = map.temperature / map.base;
    return 64 * Constants<T>::smallest <= knee && knee <= 1 / (64 * Constants<T>::smallest);
  }
  INCONTEXT_HD T octaves_a_unit(std::int64_t) const { return map.exponent * elementary::log2_e<T>; }
  INCONTEXT_HD Pack<T> shape(const Pack<T>& z) const {
    const Pack<T> zero = pack_of(T(0));
    const Pack<T> x = (z < zero ? -z : z) * (map.base / map.temperature);
    const Pack<T> growth = elementary::log_one_plus_of<T>(x, x + T(1));
    return z < zero ? -growth : growth;
  }
};

template <class T>
struct StreamOf<scoring::SSA<T>> {
  using type = SignedLogarithmStream<T>;
};

/// f(z) = z over temperature, or temperature times n.
template <class Value>
struct LinearAttentionStream {
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
struct StreamOf<scoring::LinearAttention<T>> {
  using type = LinearAttentionStream<T>;
};

/// f(z) over 1, n, the sum of f or the sum of |f|.
template <class Function, class Value>
struct RatioStream {
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
struct StreamOf<scoring::RatioScore<Function, T>> {
  using type = RatioStream<Function, T>;
};

}  // namespace incontext::apply::detail
