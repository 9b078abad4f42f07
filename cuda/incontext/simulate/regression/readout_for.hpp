#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/regression/attention_readout.hpp"
#include "incontext/simulate/regression/conditional_regression_trial.hpp"
#include "incontext/simulate/regression/elementwise_softmax_readout.hpp"
#include "incontext/simulate/regression/regression_rounding.hpp"
#include "incontext/simulate/regression/score_exponent.hpp"

/// The readout of each map, the type of the points of its grid, and the factor by which the map multiplies scores.
namespace incontext::simulate::detail {

/// The readout that evaluates a map token by token, and the type of the points of its grid.
template <class Map>
struct ReadoutFor;

/// Maps with a temperature: a point is the factor that multiplies the readout's scores.
template <class Map>
struct TemperatureReadout {
  template <class T>
  static std::vector<T> points(std::string_view where, const std::vector<Map>& maps, std::int64_t tokens) {
    require_at_least(where, "maps.size()", maps.size(), std::size_t{1});
    std::vector<T> inverse_temperatures;
    for (const Map& map : maps) {
      require_positive(where, "temperature", static_cast<double>(map.temperature));
      const double inverse = ReadoutFor<Map>::inverse_temperature(map, tokens);
      require_holds<T>(where, "temperature's inverse", static_cast<double>(map.temperature), inverse);
      inverse_temperatures.push_back(static_cast<T>(inverse));
    }
    return inverse_temperatures;
  }
  static std::vector<double> factors(const std::vector<Map>& maps, std::int64_t tokens, double) {
    std::vector<double> sizes;
    for (const Map& map : maps) sizes.push_back(std::abs(ReadoutFor<Map>::inverse_temperature(map, tokens)));
    return sizes;
  }
};

template <class U>
struct ReadoutFor<scoring::ApproximateSoftmax<U>> : TemperatureReadout<scoring::ApproximateSoftmax<U>> {
  template <class T>
  static ApproximateSoftmaxReadout<T> make(const T* points, int size, regression::Offset offset) {
    return {{points, size}, offset};
  }
  static double inverse_temperature(const scoring::ApproximateSoftmax<U>& map, std::int64_t) {
    return 1 / static_cast<double>(map.temperature);
  }
  static AffineAttention kind(regression::Offset offset) {
    return offset == regression::Offset::removed ? AffineAttention::approximate_softmax_without_offset
                                                 : AffineAttention::approximate_softmax;
  }
};

template <class U>
struct ReadoutFor<scoring::LinearAttention<U>> : TemperatureReadout<scoring::LinearAttention<U>> {
  template <class T>
  static LinearAttentionReadout<T> make(const T* points, int size, regression::Offset) {
    return {{points, size}};
  }
  static double inverse_temperature(const scoring::LinearAttention<U>& map, std::int64_t tokens) {
    const bool divided = map.normalization == scoring::LinearNormalization::context_length;
    return (divided ? 1.0 : static_cast<double>(tokens)) / static_cast<double>(map.temperature);
  }
  static AffineAttention kind(regression::Offset) { return AffineAttention::linear; }
};

template <class U>
struct ReadoutFor<scoring::Softmax<U>> : TemperatureReadout<scoring::Softmax<U>> {
  template <class T>
  static SoftmaxReadout<T> make(const T* points, int size, regression::Offset) {
    return {{points, size}};
  }
  static double inverse_temperature(const scoring::Softmax<U>& map, std::int64_t) {
    return 1 / static_cast<double>(map.temperature);
  }
};

/// Softmax after any other elementwise map: a point is its phi.
template <SimulatedSoftmax Map>
struct ReadoutFor<Map> {
  template <class T>
  static std::vector<ScoreExponent<T, Map>> points(std::string_view where, const std::vector<Map>& maps,
                                                   std::int64_t tokens) {
    return score_exponents<T>(where, maps, tokens);
  }
  static std::vector<double> factors(const std::vector<Map>& maps, std::int64_t tokens, double score) {
    std::vector<double> largest;
    for (const Map& map : maps) largest.push_back(largest_factor(map.elementwise(tokens), score));
    return largest;
  }
  template <class T>
  static ElementwiseSoftmaxReadout<T, ScoreExponent<T, Map>> make(const ScoreExponent<T, Map>* points, int size,
                                                                  regression::Offset) {
    return {{points, size}};
  }
};

/// Whether the map's weights are affine in the scores, so that estimators other than the literal one exist. (nvcc does
/// not take the same requirement inside a generic lambda.)
template <class Map>
inline constexpr bool is_affine = requires { ReadoutFor<Map>::kind(regression::Offset::kept); };

}  // namespace incontext::simulate::detail
