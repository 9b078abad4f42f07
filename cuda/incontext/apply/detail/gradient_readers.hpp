#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "incontext/apply/detail/score_readers.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

/// What the gradient of attention needs of a map that is softmax after phi(z) = rate shape(z): the slope of the shape,
/// and the derivatives by the map's parameters, which follow from two sums over the keys.
namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// Two sums over the keys of one query, from which the derivatives by the map's parameters follow.
///
/// \f[ \sum_j y_j\, \sigma(z_j), \quad \sum_j y_j\, \omega(z_j), \qquad
///     y_j = a_j \Bigl(g \cdot v_j - \sum_k a_k\, g \cdot v_k\Bigr) \f]
///
/// Here y_j is the derivative of the query's loss by phi(z_j), sigma is the shape, and omega is the derivative of the
/// shape by the logarithm of b / tau, which only SSA has (`other`).
struct ParameterSums {
  double shape = 0;
  double other = 0;
};

/// The slope of a reader's shape, and omega.
template <class Reader>
struct GradientReader;

/// shape(z) = z.
template <class Map>
struct GradientReader<LinearReader<Map>> {
  using T = typename Map::value_type;
  static constexpr bool has_other = false;
  Map map;

  INCONTEXT_HD Pack<T> slope(const Pack<T>&) const { return pack_of(T(1)); }
  INCONTEXT_HD Pack<T> other(const Pack<T>& z) const { return z; }
};

/// shape(z) = sgn(z) log(1 + |z| / c), c = tau / b; its derivative by b / tau is z c / (c + |z|).
template <class Value>
struct GradientReader<SignedLogarithmReader<Value>> {
  using T = Value;
  static constexpr bool has_other = true;
  scoring::SSA<T> map;

  INCONTEXT_HD Pack<T> slope(const Pack<T>& z) const {
    return pack_of(T(1)) / ((z < pack_of(T(0)) ? -z : z) + map.temperature / map.base);
  }
  INCONTEXT_HD Pack<T> other(const Pack<T>& z) const { return z * (slope(z) * (map.temperature / map.base)); }
};

/// A query's term of the derivatives by the map's parameters, each in the member with the parameter's name.
template <class T>
scoring::Softmax<double> parameter_terms(const scoring::Softmax<T>& map, std::int64_t, const ParameterSums& sums) {
  const auto temperature = static_cast<double>(map.temperature);
  return {-(sums.shape / temperature) / temperature};
}
template <class T>
scoring::SSMax<double> parameter_terms(const scoring::SSMax<T>&, std::int64_t count, const ParameterSums& sums) {
  return {std::log(static_cast<double>(count)) * sums.shape, sums.shape};
}
template <class T>
scoring::SSA<double> parameter_terms(const scoring::SSA<T>& map, std::int64_t, const ParameterSums& sums) {
  const auto temperature = static_cast<double>(map.temperature);
  const double by_steepness = static_cast<double>(map.exponent) * sums.other;
  return {by_steepness / temperature, sums.shape,
          -by_steepness * (static_cast<double>(map.base) / temperature) / temperature};
}

inline scoring::Softmax<double> sum_of(const scoring::Softmax<double>& a, const scoring::Softmax<double>& b) {
  return {a.temperature + b.temperature};
}
inline scoring::SSMax<double> sum_of(const scoring::SSMax<double>& a, const scoring::SSMax<double>& b) {
  return {a.scale + b.scale, a.bias + b.bias};
}
inline scoring::SSA<double> sum_of(const scoring::SSA<double>& a, const scoring::SSA<double>& b) {
  return {a.base + b.base, a.exponent + b.exponent, a.temperature + b.temperature};
}
template <class T>
  requires std::is_floating_point_v<T>
T sum_of(T a, T b) {
  return a + b;
}

/// The sum of term(first), ..., term(last - 1) in a balanced binary tree, so that its bits depend on the terms alone.
template <class Term>
auto tree_sum(const Term& term, std::int64_t first, std::int64_t last) -> decltype(term(first)) {
  if (last - first == 1) return term(first);
  const std::int64_t middle = first + (last - first) / 2;
  return sum_of(tree_sum(term, first, middle), tree_sum(term, middle, last));
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
