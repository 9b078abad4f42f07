#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/scoring/scoring.hpp"

/// The map, or one of its derivatives, on every row of a matrix.
namespace incontext::apply::detail {

struct Weights {
  template <class Map, class T>
  INCONTEXT_HD void operator()(const Map& map, Row<const T> scores, Row<const T>, Row<T> out) const {
    weights(map, scores, out);
  }
};

struct Jvp {
  template <class Map, class T>
  INCONTEXT_HD void operator()(const Map& map, Row<const T> scores, Row<const T> direction, Row<T> out) const {
    jvp(map, scores, direction, out);
  }
};

struct Vjp {
  template <class Map, class T>
  INCONTEXT_HD void operator()(const Map& map, Row<const T> scores, Row<const T> cotangent, Row<T> out) const {
    vjp(map, scores, cotangent, out);
  }
};

/// The work on one row. It is a named functor so that nvcc needs no extended lambdas.
template <class Map, class Work>
struct ApplyToRow {
  using T = typename Map::value_type;
  Map map;
  MatrixView<const T> scores;
  MatrixView<const T> other;  // direction or cotangent; the scores again where there is none
  MatrixView<T> out;
  VisibleKeys visible;
  bool folded;  // long and short rows of a causal mask alternate, so that threads get equal shares

  INCONTEXT_HD void operator()(std::int64_t index) const {
    const std::int64_t i = !folded || index % 2 == 0 ? (folded ? index / 2 : index) : scores.rows - 1 - index / 2;
    const std::int64_t seen = visible(i);
    const Row<T> row = out.row(i);
    Work{}(map, scores.row(i).first(seen), other.row(i).first(seen), row.first(seen));
    for (std::int64_t j = seen; j < row.size; ++j) row[j] = T(0);
  }
};

template <class Work, class Map>
void apply_to_rows(std::string_view where, const Map& map, MatrixView<const typename Map::value_type> scores,
                   MatrixView<const typename Map::value_type> other, MatrixView<typename Map::value_type> out,
                   const Options& options) {
  using T = typename Map::value_type;
  require_at_least(where, "rows of scores", std::int64_t{scores.rows}, std::int64_t{1});
  require_at_least(where, "columns of scores", std::int64_t{scores.columns}, std::int64_t{1});
  require_shape(where, "scores", scores, scores.rows, scores.columns);
  require_shape(where, "direction", other, scores.rows, scores.columns);
  require_shape(where, "out", out, scores.rows, scores.columns);
  require_separate_elements(where, out);
  require_same_or_apart<T>(where, "scores", scores, out);
  require_same_or_apart<T>(where, "direction", other, out);
  validate(where, options, scores.rows, scores.columns);
  scoring::require_valid(map);
  simulate::detail::with_system(simulate::resolve(options.device, options.gpu), [&](auto system) {
    using System = decltype(system);
    const bool has_other = other.data != scores.data;
    const Input<System, T> read(scores);
    const Input<System, T> read_other(has_other ? other : MatrixView<const T>());
    const Output<System, T> written(out);
    const Counts<System> counts(options, scores.columns);
    const bool folded = options.visible_counts.empty() && options.visibility == scoring::Visibility::causal;
    System::for_each_index(scores.rows, simulate::detail::workers_of(options),
                           ApplyToRow<Map, Work>{map, read.grid(), has_other ? read_other.grid() : read.grid(),
                                                 written.grid(), counts.keys(), folded});
    written.collect();
  });
  if (options.undefined == Undefined::refuse) require_defined<T>(where, out);
}

}  // namespace incontext::apply::detail
