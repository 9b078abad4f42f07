#pragma once

#include "incontext/core/real.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/training/learned_map.hpp"

namespace incontext::training::detail {

/// Refers to the map of a head, whatever its type, so that a pass is compiled once for all maps. The map must outlive it.
template <Real T>
class HeadMap {
 public:
  template <TrainableMap Map>
  explicit HeadMap(const Map& map)
      : map_(&map),
        apply_([](const void* erased, const T* trained, scoring::Row<const T> scores, scoring::Row<T> out) {
          static_cast<const Map*>(erased)->apply(trained, scores, out);
        }),
        pull_back_([](const void* erased, const T* trained, scoring::Row<const T> scores, scoring::Row<T> slopes,
                      scoring::Row<T> scratch, T* gradient) {
          static_cast<const Map*>(erased)->pull_back(trained, scores, slopes, scratch, gradient);
        }) {}

  void apply(const T* trained, scoring::Row<const T> scores, scoring::Row<T> out) const {
    apply_(map_, trained, scores, out);
  }
  void pull_back(const T* trained, scoring::Row<const T> scores, scoring::Row<T> slopes, scoring::Row<T> scratch,
                 T* gradient) const {
    pull_back_(map_, trained, scores, slopes, scratch, gradient);
  }

 private:
  const void* map_;
  void (*apply_)(const void*, const T*, scoring::Row<const T>, scoring::Row<T>);
  void (*pull_back_)(const void*, const T*, scoring::Row<const T>, scoring::Row<T>, scoring::Row<T>, T*);
};

}  // namespace incontext::training::detail
