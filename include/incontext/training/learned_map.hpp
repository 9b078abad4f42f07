#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/maps/any_map.hpp"
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

namespace detail {

template <class Map, class Parameter>
void move(Map& map, Parameter, const typename Map::value_type& trained) {
  using std::exp;
  auto& value = Parameter::of(map);
  if constexpr (lower_bound_of<Parameter>) {
    const auto bound = static_cast<typename Map::value_type>(*lower_bound_of<Parameter>);
    value = bound + (value - bound) * exp(trained);
  } else {
    value += trained;
  }
}

template <class Map, class Parameter>
void add_slope(const Map& map, Parameter parameter, scoring::ConstRowOf<Map> scores, scoring::ConstRowOf<Map> slopes,
               scoring::RowOf<Map> scratch, typename Map::value_type& gradient) {
  using T = typename Map::value_type;
  derivative(map, parameter, scores, scratch);
  T sum = T(0);
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) sum += slopes[i] * scratch[i];
  if constexpr (lower_bound_of<Parameter>) {
    sum *= Parameter::of(map) - static_cast<T>(*lower_bound_of<Parameter>);
  }
  gradient += sum;
}

}  // namespace detail

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
    (detail::move(map, Parameters(), *trained++), ...);
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
    (detail::add_slope(map, Parameters(), scores, scoring::Row<const T>(slopes), scratch, *gradient++), ...);
    vjp(map, scores, scoring::Row<const T>(slopes), slopes);
  }
};

/// A map with a name, of which some parameters are trained, both chosen at run time. The heads of one layer may have
/// different ones, and a program needs one type for all models. The trained numbers are those of LearnedMap, in the order
/// in which the parameters are given.
///
///     const training::AnyLearnedMap<float> learned({scoring::SSA<float>{1, 1.5f, 8}}, {"base", "exponent"});
///
/// Source    definition; arXiv 2508.14685, Sec. 6, has half of the heads with softmax and half with averages.
/// Domain    that of the map; a trained parameter with a bound starts above it, and is finite.
/// Errors    std::invalid_argument, which lists the map's parameters, for another one and for one that is given twice;
///           std::domain_error for a start that is not above the bound.
/// Accuracy  the bits of LearnedMap: tests/training/sequence_transformer.cpp.
template <Real T>
class AnyLearnedMap {
 public:
  using value_type = T;

  AnyLearnedMap() = default;
  AnyLearnedMap(const maps::AnyMap<T>& start,
                const std::vector<std::string>& trained = {});  // implicit: a map without trained parameters

  [[nodiscard]] const maps::AnyMap<T>& start() const { return start_; }
  [[nodiscard]] int parameters() const { return count_; }
  /// The map at trained numbers.
  [[nodiscard]] maps::AnyMap<T> at(const T* trained) const;
  /// The trained parameters of that map, in the order given.
  [[nodiscard]] std::vector<T> values(const T* trained) const;
  /// As LearnedMap's.
  void apply(const T* trained, scoring::Row<const T> scores, scoring::Row<T> out) const;
  /// As LearnedMap's.
  void pull_back(const T* trained, scoring::Row<const T> scores, scoring::Row<T> slopes, scoring::Row<T> scratch,
                 T* gradient) const;

 private:
  /// Calls visit(parameter, place) with each trained parameter of a map of the type of the start, in the order given.
  template <class Map, class Visit>
  void for_each_trained(const Map& map, const Visit& visit) const {
    for (int i = 0; i < count_; ++i) {
      int index = 0;
      maps::for_each_parameter(map, [&](auto parameter, const T&) {
        if (index++ == trained_[static_cast<std::size_t>(i)]) visit(parameter, i);
      });
    }
  }

  maps::AnyMap<T> start_ = {};
  std::array<int, std::tuple_size_v<maps::Parameters>> trained_ = {};  // places among the map's parameters
  int count_ = 0;
};

template <Real T>
AnyLearnedMap<T>::AnyLearnedMap(const maps::AnyMap<T>& start, const std::vector<std::string>& trained) : start_(start) {
  const std::vector<std::string> names = maps::parameter_names(start);
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  for (const std::string& name : trained) {
    const auto place = static_cast<int>(std::find(names.begin(), names.end(), name) - names.begin());
    const auto end = trained_.begin() + count_;
    if (place == std::ssize(names) || std::find(trained_.begin(), end, place) != end) {
      throw_invalid_argument("training::AnyLearnedMap", "this parameter of the map cannot be trained", name,
                             known.empty() ? "none, for " + std::string(start.name()) : known + ", each once");
    }
    trained_[static_cast<std::size_t>(count_++)] = place;
  }
  const auto require_start = [&]<class Parameter>(Parameter, const T& value) {
    if constexpr (lower_bound_of<Parameter>) {
      if (value > static_cast<T>(*lower_bound_of<Parameter>) && value <= (std::numeric_limits<T>::max)()) return;
      throw_domain_error("training::AnyLearnedMap", std::string(Parameter::name) + " cannot be trained from here",
                         value, "finite, above " + std::to_string(*lower_bound_of<Parameter>));
    }
  };
  std::visit(
      [&](const auto& map) {
        for_each_trained(map, [&](auto parameter, int) { require_start(parameter, parameter.of(map)); });
      },
      start_.chosen);
}

template <Real T>
maps::AnyMap<T> AnyLearnedMap<T>::at(const T* trained) const {
  maps::AnyMap<T> moved = start_;
  std::visit(
      [&](auto& map) {
        for_each_trained(map, [&](auto parameter, int i) { detail::move(map, parameter, trained[i]); });
      },
      moved.chosen);
  return moved;
}

template <Real T>
std::vector<T> AnyLearnedMap<T>::values(const T* trained) const {
  std::vector<T> values;
  const maps::AnyMap<T> moved = at(trained);
  std::visit(
      [&](const auto& map) {
        for_each_trained(map, [&](auto parameter, int) { values.push_back(parameter.of(map)); });
      },
      moved.chosen);
  return values;
}

template <Real T>
void AnyLearnedMap<T>::apply(const T* trained, scoring::Row<const T> scores, scoring::Row<T> out) const {
  weights(at(trained), scores, out);
}

template <Real T>
void AnyLearnedMap<T>::pull_back(const T* trained, scoring::Row<const T> scores, scoring::Row<T> slopes,
                                 scoring::Row<T> scratch, T* gradient) const {
  const maps::AnyMap<T> moved = at(trained);
  std::visit(
      [&](const auto& map) {
        for_each_trained(map, [&](auto parameter, int i) {
          detail::add_slope(map, parameter, scores, scoring::Row<const T>(slopes), scratch, gradient[i]);
        });
      },
      moved.chosen);
  vjp(moved, scores, scoring::Row<const T>(slopes), slopes);
}

INCONTEXT_COMPILED_DECLARATION(training_learned_map, class AnyLearnedMap<float>);
INCONTEXT_COMPILED_DECLARATION(training_learned_map, class AnyLearnedMap<double>);

}  // namespace incontext::training
