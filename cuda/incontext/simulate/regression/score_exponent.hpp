#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/softmax_of.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// The exponents phi(z) of softmax-like maps as trials evaluate them: Softmax, SSMax and SSA in the trial's own scalar,
/// by branch-free polynomials, any other map through its own phi.
namespace incontext::simulate {

/// A map that is softmax after an elementwise map phi, and that trials can evaluate on their device: in float, double
/// or long double, with a phi that can be copied there bit by bit (numbers, but no container and no virtual function).
template <class Map>
concept SimulatedSoftmax =
    scoring::SoftmaxLike<Map> && std::floating_point<typename Map::value_type> && requires(const Map& map) {
      { map.elementwise(std::ptrdiff_t{1}) } -> DevicePlain;
    };

namespace detail {

INCONTEXT_HD inline float natural_log(float x) { return -0.5f * elementary::minus_two_log(x); }
INCONTEXT_HD inline double natural_log(double x) { return elementary::log(x); }

}  // namespace detail

/// The exponent of softmax and SSMax in a row of one length: \f$ \phi(z) = \beta z \f$.
///
/// Runs on   host and device
template <class T>
struct LinearScoreExponent {
  T factor;

  INCONTEXT_HD T operator()(T score) const { return factor * score; }
};

/// The exponent of SSA: \f$ \phi(z) = \mathrm{sgn}(z)\, k \log(1 + r |z|) \f$.
///
/// Runs on   host and device
template <class T>
struct SignedLogarithmScoreExponent {
  T rate;  // r
  T exponent;

  INCONTEXT_HD T operator()(T score) const {
    const T size = score < T(0) ? -score : score;
    const T result = exponent * detail::natural_log(T(1) + rate * size);
    return score < T(0) ? -result : result;
  }
};

/// The exponent of any other map, in the map's scalar: \f$ \phi(z) \f$ = phi.value(z).
///
/// Runs on   host and device
template <class T, class Phi, class Scalar>
struct ElementwiseScoreExponent {
  Phi phi;

  INCONTEXT_HD T operator()(T score) const { return static_cast<T>(phi.value(static_cast<Scalar>(score))); }
};

namespace detail {

/// How trials in the scalar T evaluate a map's phi.
template <class T, SimulatedSoftmax Map>
struct ScoreExponentOf {
  using Scalar = typename Map::value_type;
  using Phi = std::remove_cvref_t<decltype(std::declval<const Map&>().elementwise(std::ptrdiff_t{1}))>;
  using Type = ElementwiseScoreExponent<T, Phi, Scalar>;
  static Type make(std::string_view, const Map&, const Phi& phi) { return {phi}; }
};

template <class T, class Phi>
T checked_slope(std::string_view where, const Phi& phi) {
  const double slope = static_cast<double>(phi.slope(0));
  if (!(std::abs(slope) <= 1e20)) {
    throw_domain_error(where, "maps holds a map too steep for single precision at score 0", slope, "at most 1e20");
  }
  return static_cast<T>(slope);
}

template <class T, class Map>
struct LinearScoreExponentOf {
  using Type = LinearScoreExponent<T>;
  template <class Phi>
  static Type make(std::string_view where, const Map&, const Phi& phi) {
    return {checked_slope<T>(where, phi)};
  }
};
template <class T, class U>
struct ScoreExponentOf<T, scoring::Softmax<U>> : LinearScoreExponentOf<T, scoring::Softmax<U>> {};
template <class T, class U>
struct ScoreExponentOf<T, scoring::SSMax<U>> : LinearScoreExponentOf<T, scoring::SSMax<U>> {};

template <class T, class U>
struct ScoreExponentOf<T, scoring::SSA<U>> {
  using Type = SignedLogarithmScoreExponent<T>;
  template <class Phi>
  static Type make(std::string_view where, const scoring::SSA<U>& map, const Phi& phi) {
    (void)checked_slope<T>(where, phi);
    return {static_cast<T>(map.base / map.temperature), static_cast<T>(map.exponent)};
  }
};

template <class T, class Map>
using ScoreExponent = typename ScoreExponentOf<T, Map>::Type;

/// The exponents of maps in rows of one length, as a trial reads them.
template <class T, SimulatedSoftmax Map>
std::vector<ScoreExponent<T, Map>> score_exponents(std::string_view where, const std::vector<Map>& maps,
                                                   std::int64_t row_length) {
  require_at_least(where, "maps.size()", maps.size(), std::size_t{1});
  std::vector<ScoreExponent<T, Map>> exponents;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const auto phi = maps[i].elementwise(static_cast<std::ptrdiff_t>(row_length));
    if (!phi.in_domain()) {
      throw_invalid_argument(where, "maps holds a map with parameters outside its domain", i, "a map in its domain");
    }
    exponents.push_back(ScoreExponentOf<T, Map>::make(where, maps[i], phi));
  }
  return exponents;
}

}  // namespace detail

}  // namespace incontext::simulate
