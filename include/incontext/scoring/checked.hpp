#pragma once

#include <cmath>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/detail/elementary.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/hardmax.hpp"
#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normalised_sa_softmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/sa_softmax.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// The host's front door: what the maps answer with NaN is refused here with an exception.
namespace incontext::scoring {

namespace detail {

template <Real T>
void require_finite(std::string_view where, std::string_view problem, const T& value) {
  if (!is_finite(value)) throw_domain_error(where, problem, value, "a finite number");
}

template <class Map>
concept HasOnlyTemperature = requires(const Map& map) {
  map.temperature;
}
&&!requires(const Map& map) { map.base; };

}  // namespace detail

/// Refuses a map outside its domain.
///
/// Source    the domain of each map.
/// Errors    std::domain_error naming the parameter.
/// Runs on   host
template <detail::HasOnlyTemperature Map>
void validate(const Map& map) {
  require_positive("scoring::validate", "temperature", map.temperature);
}

/// Refuses a map outside its domain: scale and bias must be finite.
///
/// Source    arXiv 2501.19399.
/// Errors    std::domain_error naming the parameter.
/// Runs on   host
template <Real T>
void validate(const SSMax<T>& map) {
  detail::require_finite("scoring::validate", "scale is not finite", map.scale);
  detail::require_finite("scoring::validate", "bias is not finite", map.bias);
}

/// Refuses a map outside its domain: base > 0, exponent >= 1, temperature > 0.
///
/// Source    arXiv 2508.14685.
/// Errors    std::domain_error naming the parameter.
/// Runs on   host
template <Real T>
void validate(const SSA<T>& map) {
  require_positive("scoring::validate", "base", map.base);
  require_positive("scoring::validate", "temperature", map.temperature);
  detail::require_finite("scoring::validate", "exponent is not finite", map.exponent);
  if (!(T(1) <= map.exponent)) {
    throw_domain_error("scoring::validate", "exponent is below 1", map.exponent, "1 <= value < infinity");
  }
}

/// Refuses a map outside its domain: alpha > 1.
///
/// Source    arXiv 1905.05702.
/// Errors    std::domain_error naming the parameter.
/// Runs on   host
template <Real T>
void validate(const Entmax<T>& map) {
  if (!(T(1) < map.alpha && detail::is_finite(map.alpha))) {
    throw_domain_error("scoring::validate", "alpha is not above 1", map.alpha, "1 < value < infinity");
  }
}

/// Accepts any map without parameters.
///
/// Source    definition.
/// Runs on   host
template <class Map>
requires(std::is_same_v<Map, Sparsemax<typename Map::value_type>> ||
         std::is_same_v<Map, Hardmax<typename Map::value_type>> ||
         std::is_same_v<Map, SaSoftmax<typename Map::value_type>> ||
         std::is_same_v<Map, NormalisedSaSoftmax<typename Map::value_type>>) void validate(const Map&) {}

/// Accepts any ratio score: its normaliser is judged row by row.
///
/// Source    definition.
/// Runs on   host
template <class Function, Real T>
void validate(const RatioScore<Function, T>&) {}

/// Refuses a schedule outside its domain: both temperatures > 0, epochs >= 1.
///
/// Source    arXiv 2310.12956.
/// Errors    std::domain_error or std::invalid_argument naming the parameter.
/// Runs on   host
template <Real T>
void validate(const HeatSchedule<T>& schedule) {
  require_positive("scoring::validate", "start_temperature", schedule.start_temperature);
  require_positive("scoring::validate", "end_temperature", schedule.end_temperature);
  require_at_least("scoring::validate", "epochs", schedule.epochs, 1);
}

/// Refuses a row without scores, without a visible score, or with a NaN or +infinity.
///
/// Source    the contract of every map.
/// Shapes    (scores: n)
/// Errors    std::invalid_argument for no visible score, std::domain_error for NaN or +infinity.
/// Runs on   host
template <Real T>
void validate(Row<const T> scores) {
  require_at_least("scoring::validate", "row of scores", scores.size, std::ptrdiff_t{1});
  std::ptrdiff_t visible = 0;
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!detail::is_visible(scores[i])) continue;
    if (!detail::is_finite(scores[i])) {
      throw_domain_error("scoring::validate", "score is NaN or infinite", scores[i], "finite, or -infinity for a mask");
    }
    ++visible;
  }
  require_at_least("scoring::validate", "number of visible scores", visible, std::ptrdiff_t{1});
}

/// The maps' functions behind the front door: same names, same meaning, an exception in place of a NaN row.
namespace checked {

namespace detail {

template <Scoring Map>
void enter(const Map& map, Row<const typename Map::value_type> scores, std::ptrdiff_t in, std::ptrdiff_t out) {
  validate(map);
  validate(scores);
  require_same_size("scoring::checked", "input row", in, scores.size);
  require_same_size("scoring::checked", "output row", out, scores.size);
}

template <Real T>
void leave(Row<T> out) {
  for (std::ptrdiff_t i = 0; i < out.size; ++i) {
    if (!(out[i] <= scoring::detail::infinity<T>())) {
      throw_domain_error("scoring::checked", "result is undefined here", out[i], "a row where the map is defined");
    }
  }
}

}  // namespace detail

/// Weights of one row, checked.
///
/// Source    the map.
/// Shapes    (scores: n, out: n)
/// Errors    as validate; std::invalid_argument for sizes; std::domain_error where the result is undefined.
/// Runs on   host
template <Scoring Map>
void weights(const Map& map, Row<const typename Map::value_type> scores, Row<typename Map::value_type> out) {
  detail::enter(map, scores, scores.size, out.size);
  scoring::weights(map, scores, out);
  detail::leave(out);
}

/// Logarithms of the weights, checked.
///
/// Source    the map.
/// Shapes    (scores: n, out: n)
/// Errors    as weights.
/// Runs on   host
template <LogScoring Map>
void log_weights(const Map& map, Row<const typename Map::value_type> scores, Row<typename Map::value_type> out) {
  detail::enter(map, scores, scores.size, out.size);
  scoring::log_weights(map, scores, out);
  detail::leave(out);
}

/// Jacobian times a direction, checked.
///
/// Source    the map.
/// Shapes    (scores: n, direction: n, out: n)
/// Errors    as weights.
/// Runs on   host
template <Scoring Map>
void jvp(const Map& map, Row<const typename Map::value_type> scores, Row<const typename Map::value_type> direction,
         Row<typename Map::value_type> out) {
  detail::enter(map, scores, direction.size, out.size);
  scoring::jvp(map, scores, direction, out);
  detail::leave(out);
}

/// Transposed Jacobian times a cotangent, checked.
///
/// Source    the map.
/// Shapes    (scores: n, cotangent: n, out: n)
/// Errors    as weights.
/// Runs on   host
template <Scoring Map>
void vjp(const Map& map, Row<const typename Map::value_type> scores, Row<const typename Map::value_type> cotangent,
         Row<typename Map::value_type> out) {
  detail::enter(map, scores, cotangent.size, out.size);
  scoring::vjp(map, scores, cotangent, out);
  detail::leave(out);
}

/// Derivative with respect to a parameter, checked.
///
/// Source    the map.
/// Shapes    (scores: n, out: n)
/// Errors    as weights.
/// Runs on   host
template <class Parameter, class Map>
requires HasParameter<Map, Parameter>
void derivative(const Map& map, Parameter parameter, Row<const typename Map::value_type> scores,
                Row<typename Map::value_type> out) {
  detail::enter(map, scores, scores.size, out.size);
  scoring::derivative(map, parameter, scores, out);
  detail::leave(out);
}

}  // namespace checked

}  // namespace incontext::scoring
