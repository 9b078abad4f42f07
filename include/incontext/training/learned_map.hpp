#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <utility>
#include <variant>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

/// Attention maps whose own parameters are trained with a model.
namespace incontext::training {

/// The bound above which a parameter of a map must stay, if it has one. Specialize it for parameters of your own maps.
template <class Parameter>
inline constexpr std::optional<int> lower_bound_of = {};
template <>
inline constexpr std::optional<int> lower_bound_of<scoring::parameter::Temperature> = 0;
template <>
inline constexpr std::optional<int> lower_bound_of<scoring::parameter::Base> = 0;
template <>
inline constexpr std::optional<int> lower_bound_of<scoring::parameter::Exponent> = 1;
template <>
inline constexpr std::optional<int> lower_bound_of<scoring::parameter::Alpha> = 1;

/// A map for one head of a model. `apply` writes the weights of a row. `pull_back` replaces the gradient by the weights
/// with the gradient by the scores, and adds the gradient by the numbers that are trained.
template <class Map>
concept TrainableMap =
    Real<typename Map::value_type> && std::copyable<Map> &&
    requires(const Map& map, const typename Map::value_type* trained, typename Map::value_type* gradient,
             const scoring::ConstRowOf<Map>& in, const scoring::RowOf<Map>& out) {
      { map.parameters() } -> std::convertible_to<int>;
      { map.apply(trained, in, out) } -> std::same_as<void>;
      { map.pull_back(trained, in, out, out, gradient) } -> std::same_as<void>;
    };

/// A map of scoring/, or your own, of which some parameters are trained. The trained numbers t are 0 at the start:
///
/// \f[ \theta = \theta_0 + t, \qquad \text{or}\quad \theta = l + (\theta_0 - l)\, e^t
///     \quad\text{for a parameter that must stay above } l \f]
///
///     const training::LearnedMap<scoring::Softmax<float>> fixed{{8}};
///     using namespace scoring::parameter;
///     const training::LearnedMap<scoring::SSA<float>, Base, Exponent> learned{{1, 1.5f, 8}};
///
/// Source    arXiv 2508.14685, Sec. 7 (SSA's b and n are trained), arXiv 2501.19399 (SSMax's s and b); the public code
///           of the former trains logarithms.
/// Shapes    trained, gradient: one number per parameter, in their order.
/// Domain    that of the map; a parameter with a bound starts above it.
/// Limits    without trained parameters it is the map itself.
/// Errors    as the map's.
/// Accuracy  the map's derivatives: tests/training/sequence_transformer.cpp.
template <scoring::Scoring Map, class... Parameters>
  requires(scoring::HasParameter<Map, Parameters> && ...)
struct LearnedMap {
  using value_type = typename Map::value_type;
  using T = value_type;

  Map start;

  static constexpr int parameters() { return static_cast<int>(sizeof...(Parameters)); }

  /// The map at trained numbers.
  [[nodiscard]] Map at([[maybe_unused]] const T* trained) const {
    Map map = start;
    (move<Parameters>(map, *trained++), ...);
    return map;
  }

  /// The weights of a row.
  void apply(const T* trained, scoring::Row<const T> scores, scoring::Row<T> out) const {
    weights(at(trained), scores, out);
  }

  /// Replaces the gradient by the weights with the gradient by the scores, and adds the gradient by the trained numbers
  /// to `gradient`. `scratch` is a row of the same size.
  void pull_back(const T* trained, scoring::Row<const T> scores, scoring::Row<T> slopes,
                 [[maybe_unused]] scoring::Row<T> scratch, [[maybe_unused]] T* gradient) const {
    const Map map = at(trained);
    (add_slope<Parameters>(map, scores, slopes, scratch, *gradient++), ...);
    vjp(map, scores, scoring::Row<const T>(slopes), slopes);
  }

 private:
  template <class Parameter>
  static void move(Map& map, const T& trained) {
    using std::exp;
    T& value = Parameter::of(map);
    if constexpr (lower_bound_of<Parameter>) {
      const T bound = static_cast<T>(*lower_bound_of<Parameter>);
      value = bound + (value - bound) * exp(trained);
    } else {
      value += trained;
    }
  }

  template <class Parameter>
  static void add_slope(const Map& map, scoring::Row<const T> scores, scoring::Row<T> slopes, scoring::Row<T> scratch,
                        T& gradient) {
    derivative(map, Parameter{}, scores, scratch);
    T sum = T(0);
    for (std::ptrdiff_t i = 0; i < scores.size; ++i) sum += slopes[i] * scratch[i];
    if constexpr (lower_bound_of<Parameter>) {
      sum *= Parameter::of(map) - static_cast<T>(*lower_bound_of<Parameter>);
    }
    gradient += sum;
  }
};

/// One of several maps, chosen at run time. The heads of one layer may have different maps, and a program needs one
/// type for all models.
///
/// Source    definition; arXiv 2508.14685, Sec. 6, has half of the heads with softmax and half with averages.
/// Shapes    as the chosen map's.
template <TrainableMap First, TrainableMap... Rest>
struct AnyLearnedMap {
  using value_type = typename First::value_type;
  using T = value_type;

  std::variant<First, Rest...> chosen;

  [[nodiscard]] int parameters() const {
    return std::visit([](const auto& map) { return int{map.parameters()}; }, chosen);
  }
  void apply(const T* trained, scoring::Row<const T> scores, scoring::Row<T> out) const {
    std::visit([&](const auto& map) { map.apply(trained, scores, out); }, chosen);
  }
  void pull_back(const T* trained, scoring::Row<const T> scores, scoring::Row<T> slopes, scoring::Row<T> scratch,
                 T* gradient) const {
    std::visit([&](const auto& map) { map.pull_back(trained, scores, slopes, scratch, gradient); }, chosen);
  }
};

}  // namespace incontext::training
