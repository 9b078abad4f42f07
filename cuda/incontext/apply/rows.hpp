#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/apply/detail/checks.hpp"
#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/detail/visible_keys.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/scoring/shared_softmax.hpp"

namespace incontext::apply {

/// Weights of every row of a matrix of scores, each row by itself; a key that a row does not see has weight 0.
///
/// \f[ a_{i \cdot} = \mathrm{map}(z_{i1}, \ldots, z_{i n_i}), \qquad a_{ij} = 0 \;\text{for}\; j > n_i \f]
///
/// Source    scoring::weights, row by row; n_i is what SSMax takes as n.
/// Shapes    (scores: q x n, out: q x n), any strides; out may be scores, or share no element with it.
/// Domain    the map's; q, n >= 1.
/// Limits    n = 1: the map of one score.
/// Errors    std::invalid_argument for shapes and options, std::domain_error for the map's parameters and, unless rows
///           may be left NaN, for the first row on which the map is undefined; out is written all the same.
/// Accuracy  the map's: tests/apply/rows.cpp finds the same bits as scoring::weights.
/// Runs on   serial, OpenMP, TBB, CUDA (sixteen threads per row for Softmax, SSMax and SSA, one for others)
template <scoring::Scoring Map>
void weights(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
             scoring::MatrixView<typename Map::value_type> out, const Options& options = {});

/// Jacobian times a direction, row by row.
///
/// Source    scoring::jvp.
/// Shapes    (scores: q x n, direction: q x n, out: q x n), out may be one of them, or share no element with them.
/// Units     those of the direction over those of the scores.
/// Domain    as weights.
/// Errors    as weights.
/// Accuracy  the map's: tests/apply/rows.cpp finds the same bits as scoring::jvp.
/// Runs on   serial, OpenMP, TBB, CUDA
template <scoring::Scoring Map>
void jvp(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
         scoring::MatrixView<const typename Map::value_type> direction,
         scoring::MatrixView<typename Map::value_type> out, const Options& options = {});

/// Transposed Jacobian times a cotangent, row by row.
///
/// Source    scoring::vjp.
/// Shapes    (scores: q x n, cotangent: q x n, out: q x n), out may be one of them, or share no element with them.
/// Units     those of the cotangent over those of the scores.
/// Domain    as weights.
/// Errors    as weights.
/// Accuracy  the map's: tests/apply/rows.cpp finds the same bits as scoring::vjp.
/// Runs on   serial, OpenMP, TBB, CUDA
template <scoring::Scoring Map>
void vjp(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
         scoring::MatrixView<const typename Map::value_type> cotangent,
         scoring::MatrixView<typename Map::value_type> out, const Options& options = {});

/// Transposed Jacobian times a cotangent, row by row, from weights that a forward pass has kept.
///
/// On a CPU it is scoring::vjp_from_weights for the maps that have it, and otherwise vjp. On a GPU it is vjp, which does
/// not read the weights.
///
/// Source    scoring::vjp_from_weights.
/// Shapes    (scores: q x n, kept: q x n, cotangent: q x n, out: q x n), out may be kept or the cotangent, or share no
///           element with them; it shares none with the scores.
/// Units     those of the cotangent over those of the scores.
/// Domain    as weights; `kept` has what weights gives for the scores with these options.
/// Errors    as weights. On a CPU the scores may be left unread, so that a NaN among them may pass.
/// Accuracy  the map's: on a CPU the bits of scoring::vjp_from_weights (tests/apply/rows.cpp), on a GPU those of vjp
///           there (tests/apply/device.cu).
/// Runs on   serial, OpenMP, TBB, CUDA
template <scoring::Scoring Map>
void vjp_from_weights(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
                      scoring::MatrixView<const typename Map::value_type> kept,
                      scoring::MatrixView<const typename Map::value_type> cotangent,
                      scoring::MatrixView<typename Map::value_type> out, const Options& options = {});

// The map, or one of its derivatives, on every row of a matrix.
namespace detail {

struct Weights {
  static constexpr std::string_view task = "weights of rows";
  template <class Map, class T>
  INCONTEXT_HD void operator()(const Map& map, Row<const T> scores, Row<const T>, Row<const T>, Row<T> out) const {
    weights(map, scores, out);
  }
  template <class Map, class Threads, class T>
  INCONTEXT_HD bool operator()(const Map& map, const Threads& threads, Row<const T> scores, Row<const T>,
                               Row<T> out) const {
    return scoring::weights_by_threads(map, threads, scores, out);
  }
};

struct Jvp {
  static constexpr std::string_view task = "derivatives of rows";
  template <class Map, class T>
  INCONTEXT_HD void operator()(const Map& map, Row<const T> scores, Row<const T> direction, Row<const T>,
                               Row<T> out) const {
    jvp(map, scores, direction, out);
  }
  template <class Map, class Threads, class T>
  INCONTEXT_HD bool operator()(const Map& map, const Threads& threads, Row<const T> scores, Row<const T> direction,
                               Row<T> out) const {
    return scoring::jvp_by_threads(map, threads, scores, direction, out);
  }
};

struct Vjp {
  static constexpr std::string_view task = "derivatives of rows";
  template <class Map, class T>
  INCONTEXT_HD void operator()(const Map& map, Row<const T> scores, Row<const T> cotangent, Row<const T>,
                               Row<T> out) const {
    vjp(map, scores, cotangent, out);
  }
  template <class Map, class Threads, class T>
  INCONTEXT_HD bool operator()(const Map& map, const Threads& threads, Row<const T> scores, Row<const T> cotangent,
                               Row<T> out) const {
    return scoring::vjp_by_threads(map, threads, scores, cotangent, out);
  }
};

struct VjpFromWeights : Vjp {
  using Vjp::operator();
  template <class Map, class T>
  INCONTEXT_HD void operator()(const Map& map, Row<const T> scores, Row<const T> cotangent, Row<const T> kept,
                               Row<T> out) const {
    if constexpr (requires { vjp_from_weights(map, scores, kept, cotangent, out); }) {
      vjp_from_weights(map, scores, kept, cotangent, out);
    } else {
      vjp(map, scores, cotangent, out);
    }
  }
};

/// A GPU is not given the weights that are kept.
template <class System, class Work>
using WorkOn = std::conditional_t<System::lanes == 1 && std::is_same_v<Work, VjpFromWeights>, Vjp, Work>;

/// Whether sixteen threads of a GPU work on a row together. Otherwise each thread has a row of its own, and neighboring
/// threads read neighboring memory only if the matrix is stored column by column.
template <class System, class Map>
inline constexpr bool shares_rows = System::lanes == 1 && scoring::SharedSoftmax<Map>;
template <class System, class Map>
inline constexpr Order order_for = System::lanes > 1 || shares_rows<System, Map> ? Order::by_rows : Order::by_columns;

/// The work on one row. It is a named functor so that nvcc needs no extended lambdas.
template <class Map, class Work>
struct ApplyToRow {
  using T = typename Map::value_type;
  static constexpr std::string_view task = Work::task;
  Map map;
  MatrixView<const T> scores;
  MatrixView<const T> other;  // direction or cotangent; the scores again where there is none
  MatrixView<const T> kept;   // weights; the scores again where there are none
  MatrixView<T> out;
  VisibleKeys visible;
  // Long and short rows of a causal mask alternate, so that a CPU's threads get equal shares. On a GPU neighboring rows
  // of about the same length run together, and a short one beside a long one would wait for it.
  bool folded;
  std::uint8_t* is_left = nullptr;  // which rows sixteen threads leave to one

  INCONTEXT_HD void operator()(std::int64_t index) const {
    const std::int64_t i = row_of(index), seen = visible(i);
    const Row<T> row = out.row(i);
    if (seen > 0) {
      Work{}(map, scores.row(i).first(seen), other.row(i).first(seen), kept.row(i).first(seen), row.first(seen));
    }
    for (std::int64_t j = seen; j < row.size; ++j) row[j] = T(0);
  }

  /// By sixteen threads of a GPU.
  template <class Threads>
  INCONTEXT_HD void operator()(std::int64_t index, const Threads& threads) const {
    const std::int64_t i = row_of(index), seen = visible(i);
    const Row<T> row = out.row(i);
    const bool is_written =
        seen == 0 || Work{}(map, threads, scores.row(i).first(seen), other.row(i).first(seen), row.first(seen));
    if (threads.lane() == 0) is_left[index] = is_written ? 0 : 1;
    for (std::int64_t j = seen + threads.lane(); j < row.size; j += Threads::lanes) row[j] = T(0);
  }

  INCONTEXT_HD std::int64_t row_of(std::int64_t index) const {
    if (!folded) return index;
    return index % 2 == 0 ? index / 2 : scores.rows - 1 - index / 2;
  }
};

/// The rows that sixteen threads have left.
template <class Function>
struct EachLeft {
  static constexpr std::string_view task = Function::task;
  Function function;
  INCONTEXT_HD void operator()(std::int64_t index) const {
    if (function.is_left[index] != 0) function(index);
  }
};

/// Calls function(index) for every row, on a GPU also by sixteen threads: first those, then one where they left a row.
template <class System, bool is_shared, class Function>
void for_each_row(std::int64_t rows, const simulate::detail::Workers& workers, Function function) {
  if constexpr (is_shared) {
    typename System::template Memory<std::uint8_t> is_left;
    is_left.resize(static_cast<std::size_t>(rows));
    function.is_left = address(is_left);
    System::for_each_by_half_warps(rows, workers, function);
    System::for_each_index(rows, workers, EachLeft<Function>{function});
  } else {
    System::for_each_index(rows, workers, function);
  }
}

template <class Work, class Map>
void apply_to_rows(std::string_view where, const Map& map, MatrixView<const typename Map::value_type> scores,
                   MatrixView<const typename Map::value_type> other, MatrixView<const typename Map::value_type> kept,
                   MatrixView<typename Map::value_type> out, const Options& options) {
  using T = typename Map::value_type;
  require_at_least(where, "rows of scores", std::int64_t{scores.rows}, std::int64_t{1});
  require_at_least(where, "columns of scores", std::int64_t{scores.columns}, std::int64_t{1});
  require_shape(where, "scores", scores, scores.rows, scores.columns);
  require_shape(where, "direction", other, scores.rows, scores.columns);
  require_shape(where, "weights", kept, scores.rows, scores.columns);
  require_shape(where, "out", out, scores.rows, scores.columns);
  require_separate_elements(where, out);
  require_same_or_apart<T>(where, "scores", scores, out);
  require_same_or_apart<T>(where, "direction", other, out);
  require_same_or_apart<T>(where, "weights", kept, out);
  if (std::is_same_v<Work, VjpFromWeights> && overlaps<T>(scores, out)) {
    throw_invalid_argument(where, "out shares elements with the scores: offset of the data",
                           static_cast<std::int64_t>(out.data - scores.data), "no common element");
  }
  validate(where, options, scores.rows, scores.columns);
  scoring::require_valid(map);
  const Site site = site_of(where, options);
  simulate::detail::with_system(site.workers.device, [&](auto system) {
    using System = decltype(system);
    const typename System::OwnStream stream(options.stream);
    const bool has_other = other.data != scores.data || other.row_stride != scores.row_stride ||
                           other.column_stride != scores.column_stride;
    constexpr Order order = order_for<System, Map>;
    constexpr bool is_shared = shares_rows<System, Map>;
    const bool apart = is_shared && (overlaps<T>(scores, out) || overlaps<T>(other, out));
    const Input<System, T> read(site, "scores", scores, order);
    const Input<System, T> read_other(site, "direction", has_other ? other : MatrixView<const T>(), order);
    const Output<System, T> written(site, "out", out, order, apart);
    const Counts<System> counts(options, site, read.grid());
    const bool is_causal = options.visible_counts.empty() && options.visibility == scoring::Visibility::causal;
    const bool folded = is_causal && System::lanes > 1;
    const ApplyToRow<Map, WorkOn<System, Work>> apply{map,
                                                      read.grid(),
                                                      has_other ? read_other.grid() : read.grid(),
                                                      System::lanes > 1 ? kept : read.grid(),
                                                      written.grid(),
                                                      counts.keys(),
                                                      folded};
    for_each_row<System, is_shared>(scores.rows, site.workers, apply);
    written.collect();
    if (options.undefined == Undefined::refuse) require_defined<System, T>(site, written.grid());
  });
}

}  // namespace detail

template <scoring::Scoring Map>
void weights(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
             scoring::MatrixView<typename Map::value_type> out, const Options& options) {
  detail::apply_to_rows<detail::Weights>("apply::weights", map, scores, scores, scores, out, options);
}

template <scoring::Scoring Map>
void jvp(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
         scoring::MatrixView<const typename Map::value_type> direction,
         scoring::MatrixView<typename Map::value_type> out, const Options& options) {
  detail::apply_to_rows<detail::Jvp>("apply::jvp", map, scores, direction, scores, out, options);
}

template <scoring::Scoring Map>
void vjp(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
         scoring::MatrixView<const typename Map::value_type> cotangent,
         scoring::MatrixView<typename Map::value_type> out, const Options& options) {
  detail::apply_to_rows<detail::Vjp>("apply::vjp", map, scores, cotangent, scores, out, options);
}

template <scoring::Scoring Map>
void vjp_from_weights(const Map& map, scoring::MatrixView<const typename Map::value_type> scores,
                      scoring::MatrixView<const typename Map::value_type> kept,
                      scoring::MatrixView<const typename Map::value_type> cotangent,
                      scoring::MatrixView<typename Map::value_type> out, const Options& options) {
  detail::apply_to_rows<detail::VjpFromWeights>("apply::vjp_from_weights", map, scores, cotangent, kept, out, options);
}

}  // namespace incontext::apply
