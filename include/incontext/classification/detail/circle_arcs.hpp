#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"

/// The cells of prototypes on the circle: arcs between mid-angles, and averages over them.
namespace incontext::classification::detail {

/// Accepts an angle small enough that its remainder modulo a full turn keeps its digits.
template <Real T>
void require_angle(std::string_view where, std::string_view parameter, const T& angle) {
  if (!(T(-1e6) <= angle && angle <= T(1e6))) {
    throw_domain_error(where, std::string(parameter) + " is out of range", angle, "-1e6 to 1e6");
  }
}

/// Offsets from the query of each prototype's arc, in order of the prototypes: lower edge and width.
template <Real T>
struct Arcs {
  std::vector<T> low, width;
};

template <Real T>
Arcs<T> arcs(std::span<const T> prototypes, const T& query) {
  using std::floor;
  const T turn = boost::math::constants::two_pi<T>();
  const std::size_t k = prototypes.size();
  std::vector<T> angle(k);
  for (std::size_t c = 0; c < k; ++c) {
    const T offset = prototypes[c] - query;
    angle[c] = offset - turn * floor(T(offset / turn));
  }
  std::vector<std::size_t> order(k);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return angle[a] < angle[b]; });
  Arcs<T> result{std::vector<T>(k), std::vector<T>(k)};
  for (std::size_t i = 0; i < k; ++i) {
    const T here = angle[order[i]];
    const T before = i > 0 ? angle[order[i - 1]] : T(angle[order[k - 1]] - turn);
    const T after = i + 1 < k ? angle[order[i + 1]] : T(angle[order[0]] + turn);
    result.low[order[i]] = (before + here) / T(2);
    result.width[order[i]] = (after - before) / T(2);
  }
  return result;
}

/// Mean of f(e^(kappa (cos - 1))) over an arc, by many panels where the exponential does not underflow and one panel on
/// each side.
template <Real T, class Function>
T arc_mean(const T& kappa, const T& low, const T& width, const Function& f) {
  using std::ceil;
  using std::exp;
  using std::log;
  using std::sin;
  using std::sqrt;
  const T pi = boost::math::constants::pi<T>(), turn = T(2) * pi;
  // offsets are measured from the copy of the query, modulo a turn, that is nearest to the arc's middle
  const T from = pi < low + width / T(2) ? T(low - turn) : low, to = from + width;
  const T least = T(-1.1) * log((std::numeric_limits<T>::min)());  // 1 - cos a >= 2 a^2 / pi^2
  const T reach = T(0) < kappa ? T(pi * sqrt(T(least / (T(2) * kappa)))) : turn;
  const T first = std::max(from, T(-reach)), last = std::min(to, reach);
  std::vector<T> edges{from};
  if (first < last) {
    const T near = last - first;
    const auto count = static_cast<std::size_t>(std::ceil(static_cast<double>(T(near * (T(1) + sqrt(kappa))))));
    for (std::size_t i = 0; i <= count; ++i) edges.push_back(first + near * T(double(i)) / T(double(count)));
  }
  edges.push_back(to);
  return panel_integral(edges,
                        [&](const T& a) {
                          const T s = sin(T(a / T(2)));
                          return T(f(T(exp(T(T(-2) * kappa * s * s)))));
                        }) /
         width;
}

template <Real T>
std::vector<T> softmax(std::vector<T> values, const T& gain) {
  using std::exp;
  for (T& value : values) value *= gain;
  const T largest = *std::max_element(values.begin(), values.end());
  T sum = T(0);
  for (T& value : values) sum += value = exp(T(value - largest));
  for (T& value : values) value /= sum;
  return values;
}

}  // namespace incontext::classification::detail
