#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring.hpp"

/// The maps of scoring/ by their names, and one type for all of them: what a program, Python and a model whose heads
/// have different maps need.
namespace incontext::maps {

/// Thrown where a map is given to a function that does not take maps of its type.
struct MapTypeError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// A map as a front end offers it: the name that one types, its type's name, a few words, and the map with its usual
/// parameters.
template <scoring::Scoring Map>
struct NamedMap {
  using map_type = Map;
  std::string_view name;
  std::string_view type;
  std::string_view meaning;
  Map map;
};

template <class Map>
NamedMap(std::string_view, std::string_view, std::string_view, Map) -> NamedMap<Map>;

/// Every map that has a name. A new map is one line here: the program, the models that are trained and the Python
/// package, whose classes are made from these lines, take it from there.
template <Real T>
constexpr auto named_maps() {
  using namespace scoring;
  return std::tuple{
      NamedMap{"softmax", "Softmax", "e^(z/tau) over its sum", Softmax<T>{}},
      NamedMap{"approximate-softmax", "ApproximateSoftmax", "(1 + (z - mean)/tau) / n", ApproximateSoftmax<T>{}},
      NamedMap{"linear", "LinearAttention", "z / (tau n), or z / tau over none", LinearAttention<T>{}},
      NamedMap{"ssmax", "SSMax", "softmax of (s log n + bias) z", SSMax<T>{}},
      NamedMap{"ssa", "SSA", "(1 + b|z/tau|)^(sgn(z) k) over its sum", SSA<T>{}},
      NamedMap{"normsoftmax", "NormSoftmax", "softmax of z / min(standard deviation of z, tau)", NormSoftmax<T>{}},
      NamedMap{"entmax", "Entmax", "((alpha-1) z - t)_+^(1/(alpha-1))", Entmax<T>{}},
      NamedMap{"sparsemax", "Sparsemax", "entmax with alpha = 2", Sparsemax<T>{}},
      NamedMap{"hardmax", "Hardmax", "uniform on the largest scores", Hardmax<T>{}},
      NamedMap{"sa-softmax", "SaSoftmax", "z softmax(z)", SaSoftmax<T>{}},
      NamedMap{"normalized-sa-softmax", "NormalizedSaSoftmax", "z moved to [0, 1], times softmax(z)",
               NormalizedSaSoftmax<T>{}},
      NamedMap{"average", "RatioScore<Average>", "1, over n", RatioScore<Average, T>{}},
      NamedMap{"tanh", "RatioScore<Tanh>", "tanh z, over n, its sum, ...", RatioScore<Tanh, T>{}},
      NamedMap{"relu", "RatioScore<Relu>", "max(z, 0), over n, its sum, ...", RatioScore<Relu, T>{}},
      NamedMap{"square", "RatioScore<Square>", "z^2, over n, its sum, ...", RatioScore<Square, T>{}},
  };
}

/// Calls visit(entry) with every NamedMap, in order.
template <Real T, class Visit>
constexpr void for_each_named_map(const Visit& visit) {
  std::apply([&](const auto&... entry) { (visit(entry), ...); }, named_maps<T>());
}

/// Every parameter that a map with a name can have. The members of each map are in this order.
///
/// Source    definition.
using Parameters = std::tuple<scoring::parameter::Base, scoring::parameter::Exponent, scoring::parameter::Temperature,
                              scoring::parameter::Scale, scoring::parameter::Bias, scoring::parameter::Alpha>;

namespace detail {

template <class Tuple>
struct VariantOf;
template <class... Entry>
struct VariantOf<std::tuple<Entry...>> {
  using type = std::variant<typename Entry::map_type...>;
};

template <class Variant, class Map>
inline constexpr bool holds = false;
template <class... Own, class Map>
inline constexpr bool holds<std::variant<Own...>, Map> = (std::same_as<Own, Map> || ...);

}  // namespace detail

/// One of the maps with a name, chosen at run time. It satisfies Scoring, on the host. Each of its functions calls the
/// chosen map's, which costs one look into a table per row.
///
///     const maps::AnyMap<> map = maps::find_map<double>("ssmax");
///     const std::vector<double> scores{1, 2, 3};
///     std::vector<double> out(3);
///     weights(map, scoring::Row<const double>(scores), scoring::Row<double>(out));
///
/// Source    definition.
/// Errors    MapTypeError from log_weights, which LogScoring finds for every AnyMap, if the chosen map's weights can be
///           negative; std::invalid_argument from derivative for a parameter that the map does not have.
/// Accuracy  the bits of the chosen map: tests/maps/any_map.cpp.
template <Real T = double>
struct AnyMap {
  using value_type = T;
  using Variant = typename detail::VariantOf<decltype(named_maps<T>())>::type;

  AnyMap() = default;
  template <class Map>
    requires detail::holds<Variant, Map>
  AnyMap(const Map& map) : chosen(map) {}  // implicit: a function of an AnyMap takes a map

  Variant chosen;

  /// The chosen map's name, as find_map reads it.
  [[nodiscard]] std::string_view name() const;
  /// The name of its type, such as "RatioScore<Tanh>".
  [[nodiscard]] std::string_view type() const;
};

namespace detail {

/// The types of the maps for which takes is true.
template <Real T>
std::string types_of(const std::vector<bool>& takes) {
  std::string types;
  std::size_t index = 0;
  for_each_named_map<T>([&](const auto& entry) {
    if (takes[index++]) types += (types.empty() ? "" : ", ") + std::string(entry.type);
  });
  return types;
}

}  // namespace detail

template <Real T>
std::string_view AnyMap<T>::name() const {
  return std::apply([&](const auto&... entry) { return std::array{entry.name...}; }, named_maps<T>())[chosen.index()];
}

template <Real T>
std::string_view AnyMap<T>::type() const {
  return std::apply([&](const auto&... entry) { return std::array{entry.type...}; }, named_maps<T>())[chosen.index()];
}

/// The map of a name, with its usual parameters.
///
/// Source    definition.
/// Errors    std::invalid_argument, which lists the names, for another one.
template <Real T>
AnyMap<T> find_map(std::string_view name) {
  std::optional<AnyMap<T>> found;
  for_each_named_map<T>([&](const auto& entry) {
    if (entry.name == name) found = AnyMap<T>(entry.map);
  });
  if (found) return *std::move(found);
  std::string names;
  for_each_named_map<T>([&](const auto& entry) { names += (names.empty() ? "" : ", ") + std::string(entry.name); });
  throw_invalid_argument("maps::find_map", "there is no map of this name", std::string(name), names);
}

namespace detail {

// What a function gives for the first map that it takes.
template <class Function, class... Entry>
struct ResultOf;
template <class Function, class First, class... Rest>
struct ResultOf<Function, First, Rest...> : ResultOf<Function, Rest...> {};
template <class Function, class First, class... Rest>
  requires std::invocable<const Function&, const First&>
struct ResultOf<Function, First, Rest...> : std::invoke_result<const Function&, const First&> {};

template <class Function, class... Map>
auto visit(std::string_view where, std::string_view type, const std::variant<Map...>& chosen,
           const Function& function) {
  using Scalar = typename std::variant_alternative_t<0, std::variant<Map...>>::value_type;
  using Result = typename ResultOf<Function, Map...>::type;
  return std::visit(
      [&]<class Own>(const Own& map) -> Result {
        if constexpr (std::invocable<const Function&, const Own&>) return function(map);
        throw MapTypeError(
            incontext::detail::contract_message(where, "maps of this type are not taken", type,
                                                types_of<Scalar>({std::invocable<const Function&, const Map&>...})));
      },
      chosen);
}

}  // namespace detail

/// Calls function(map) with the chosen map as its own type, if the function can be called with it. A generic lambda needs
/// a constraint, because its body is compiled for every map that it accepts.
///
/// Source    definition.
/// Errors    MapTypeError, which lists the maps that `function` takes, for another one.
template <Real T, class Function>
auto visit(std::string_view where, const AnyMap<T>& map, const Function& function) {
  return detail::visit(where, map.type(), map.chosen, function);
}

/// Calls function(list) with a std::vector of the maps in their own type, which must be the same for all. Simulations of
/// several maps on common draws need such a list.
///
/// Source    definition.
/// Errors    std::invalid_argument for no map, MapTypeError for maps of several types; as visit.
template <Real T, class Function>
auto visit_list(std::string_view where, const std::vector<AnyMap<T>>& maps, const Function& function) {
  require_at_least(where, "number of maps", maps.size(), std::size_t{1});
  for (const AnyMap<T>& map : maps) {
    if (map.chosen.index() == maps.front().chosen.index()) continue;
    throw MapTypeError(
        incontext::detail::contract_message(where, "maps are not of one type", map.type(), maps.front().type()));
  }
  return maps::visit(where, maps.front(), [&]<class Map>(const Map&) -> decltype(function(std::vector<Map>())) {
    std::vector<Map> list;
    for (const AnyMap<T>& map : maps) list.push_back(std::get<Map>(map.chosen));
    return function(list);
  });
}

/// Calls visit(parameter, number) for every real parameter of a map, which scoring/parameter.hpp names: temperature,
/// scale, ... `map` may be a map of scoring/ or an AnyMap, and the number is a reference to its member.
///
/// Source    definition.
template <class Map, class Visit>
void for_each_parameter(Map& map, const Visit& visit) {
  if constexpr (requires { map.chosen; }) {
    std::visit([&](auto& chosen) { for_each_parameter(chosen, visit); }, map.chosen);
  } else {
    const auto one = [&]<class Parameter>(Parameter parameter) {
      if constexpr (scoring::HasParameter<std::remove_const_t<Map>, Parameter>) visit(parameter, Parameter::of(map));
    };
    std::apply([&](auto... parameter) { (one(parameter), ...); }, Parameters());
  }
}

/// Calls visit(name, choice) for every member of a map that is one of an enumeration: "normalization", "scale".
///
/// Source    definition.
template <class Map, class Visit>
void for_each_choice(Map& map, const Visit& visit) {
  if constexpr (requires { map.chosen; }) {
    std::visit([&](auto& chosen) { for_each_choice(chosen, visit); }, map.chosen);
  } else {
    if constexpr (requires { map.normalization; }) visit("normalization", map.normalization);
    if constexpr (requires { requires std::is_enum_v<decltype(Map::scale)>; }) visit("scale", map.scale);
  }
}

/// The names of a map's real parameters.
///
/// Source    definition.
template <Real T>
std::vector<std::string> parameter_names(const AnyMap<T>& map) {
  std::vector<std::string> names;
  for_each_parameter(map, [&](auto parameter, const T&) { names.emplace_back(parameter.name); });
  return names;
}

/// Refuses a map outside its domain.
///
/// Source    the chosen map's.
/// Errors    as the chosen map's.
template <Real T>
void validate(const AnyMap<T>& map) {
  std::visit([](const auto& chosen) { scoring::require_valid(chosen); }, map.chosen);
}

/// The weights of a row.
///
/// Source    the chosen map's.
/// Shapes    (scores: n, out: n), out may be scores.
/// Accuracy  the bits of the chosen map: tests/maps/any_map.cpp.
template <Real T>
void weights(const AnyMap<T>& map, scoring::Row<const T> scores, scoring::Row<T> out) {
  std::visit([&](const auto& chosen) { weights(chosen, scores, out); }, map.chosen);
}

/// The logarithms of the weights of a row.
///
/// Source    the chosen map's.
/// Shapes    (scores: n, out: n), out may be scores.
/// Errors    MapTypeError for a map whose weights can be negative.
template <Real T>
void log_weights(const AnyMap<T>& map, scoring::Row<const T> scores, scoring::Row<T> out) {
  maps::visit("maps::log_weights", map,
              [&]<scoring::LogScoring Map>(const Map& chosen) { log_weights(chosen, scores, out); });
}

/// The Jacobian times a direction.
///
/// Source    the chosen map's.
/// Shapes    (scores: n, direction: n, out: n), out may be either.
/// Accuracy  the bits of the chosen map: tests/maps/any_map.cpp.
template <Real T>
void jvp(const AnyMap<T>& map, scoring::Row<const T> scores, scoring::Row<const T> direction, scoring::Row<T> out) {
  std::visit([&](const auto& chosen) { jvp(chosen, scores, direction, out); }, map.chosen);
}

/// The transposed Jacobian times a cotangent.
///
/// Source    the chosen map's.
/// Shapes    (scores: n, cotangent: n, out: n), out may be either.
/// Accuracy  the bits of the chosen map: tests/maps/any_map.cpp.
template <Real T>
void vjp(const AnyMap<T>& map, scoring::Row<const T> scores, scoring::Row<const T> cotangent, scoring::Row<T> out) {
  std::visit([&](const auto& chosen) { vjp(chosen, scores, cotangent, out); }, map.chosen);
}

/// The transposed Jacobian times a cotangent, from the weights of the same scores. A map whose vjp is not faster from
/// them does not read them.
///
/// Source    the chosen map's.
/// Shapes    (scores: n, kept: n, cotangent: n, out: n), out shares no element with the scores.
/// Accuracy  the bits of the chosen map: tests/maps/any_map.cpp.
template <Real T>
void vjp_from_weights(const AnyMap<T>& map, scoring::Row<const T> scores, scoring::Row<const T> kept,
                      scoring::Row<const T> cotangent, scoring::Row<T> out) {
  std::visit(
      [&](const auto& chosen) {
        if constexpr (requires { vjp_from_weights(chosen, scores, kept, cotangent, out); }) {
          vjp_from_weights(chosen, scores, kept, cotangent, out);
        } else {
          vjp(chosen, scores, cotangent, out);
        }
      },
      map.chosen);
}

/// The derivative of the weights by the parameter of a name.
///
/// Source    the chosen map's.
/// Shapes    (scores: n, out: n), out may be scores.
/// Errors    std::invalid_argument, which lists the map's parameters, for another name.
template <Real T>
void derivative(const AnyMap<T>& map, std::string_view parameter, scoring::Row<const T> scores, scoring::Row<T> out) {
  bool found = false;
  std::visit(
      [&](const auto& chosen) {
        for_each_parameter(chosen, [&](auto own, const T&) {
          if (own.name != parameter) return;
          derivative(chosen, own, scores, out);
          found = true;
        });
      },
      map.chosen);
  if (found) return;
  std::string names;
  for (const std::string& name : parameter_names(map)) names += (names.empty() ? "" : ", ") + name;
  throw_invalid_argument("maps::derivative", "the map has no such parameter", std::string(parameter),
                         names.empty() ? "a map with parameters" : names);
}

INCONTEXT_COMPILED(maps_any_map, find_map<float>);
INCONTEXT_COMPILED(maps_any_map, find_map<double>);
INCONTEXT_COMPILED(maps_any_map, parameter_names<float>);
INCONTEXT_COMPILED(maps_any_map, parameter_names<double>);
INCONTEXT_COMPILED(maps_any_map, validate<float>);
INCONTEXT_COMPILED(maps_any_map, validate<double>);
INCONTEXT_COMPILED(maps_any_map, weights<float>);
INCONTEXT_COMPILED(maps_any_map, weights<double>);
INCONTEXT_COMPILED(maps_any_map, log_weights<float>);
INCONTEXT_COMPILED(maps_any_map, log_weights<double>);
INCONTEXT_COMPILED(maps_any_map, jvp<float>);
INCONTEXT_COMPILED(maps_any_map, jvp<double>);
INCONTEXT_COMPILED(maps_any_map, vjp<float>);
INCONTEXT_COMPILED(maps_any_map, vjp<double>);
INCONTEXT_COMPILED(maps_any_map, vjp_from_weights<float>);
INCONTEXT_COMPILED(maps_any_map, vjp_from_weights<double>);
INCONTEXT_COMPILED(maps_any_map, derivative<float>);
INCONTEXT_COMPILED(maps_any_map, derivative<double>);

}  // namespace incontext::maps
