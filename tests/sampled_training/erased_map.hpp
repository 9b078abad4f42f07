#pragma once

#include "incontext/core/real.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::testing {

/// A user's own map that calls another one, whatever its type: one trial is compiled for all of them. The other map must
/// outlive it.
template <Real T>
class ErasedMap {
 public:
  using value_type = T;

  template <class Map>
  explicit ErasedMap(const Map& map)
      : map_(&map),
        validate_([](const void* erased) { scoring::require_valid(*static_cast<const Map*>(erased)); }),
        weights_([](const void* erased, scoring::Row<const T> scores, scoring::Row<T> out) {
          scoring::detail::call_weights(*static_cast<const Map*>(erased), scores, out);
        }),
        vjp_(
            [](const void* erased, scoring::Row<const T> scores, scoring::Row<const T> cotangent, scoring::Row<T> out) {
              scoring::detail::call_vjp(*static_cast<const Map*>(erased), scores, cotangent, out);
            }) {}

  friend void validate(const ErasedMap& map) { map.validate_(map.map_); }
  friend void weights(const ErasedMap& map, scoring::Row<const T> scores, scoring::Row<T> out) {
    map.weights_(map.map_, scores, out);
  }
  friend void vjp(const ErasedMap& map, scoring::Row<const T> scores, scoring::Row<const T> cotangent,
                  scoring::Row<T> out) {
    map.vjp_(map.map_, scores, cotangent, out);
  }

 private:
  const void* map_;
  void (*validate_)(const void*);
  void (*weights_)(const void*, scoring::Row<const T>, scoring::Row<T>);
  void (*vjp_)(const void*, scoring::Row<const T>, scoring::Row<const T>, scoring::Row<T>);
};

template <class Map>
ErasedMap(const Map&) -> ErasedMap<typename Map::value_type>;

}  // namespace incontext::testing
