#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/apply/options.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/simulate/engine/systems.hpp"

/// What the functions here share: how many keys a row sees, checks of matrices, and matrices in a system's memory.
namespace incontext::apply::detail {

using scoring::MatrixView;
using scoring::Row;
using simulate::detail::address;

/// How many keys row i sees; plain data.
struct VisibleKeys {
  scoring::Visibility visibility;
  const std::int64_t* counts;  // null: visibility decides
  std::int64_t rows;
  std::int64_t columns;

  INCONTEXT_HD std::int64_t operator()(std::int64_t row) const {
    return counts != nullptr ? counts[row] : scoring::visible_keys(visibility, row, rows, columns);
  }
};

template <class T>
void require_shape(std::string_view where, const char* name, MatrixView<T> grid, std::int64_t rows,
                   std::int64_t columns) {
  require_same_size(where, std::string("rows of ") + name, std::int64_t{grid.rows}, rows);
  require_same_size(where, std::string("columns of ") + name, std::int64_t{grid.columns}, columns);
  if (grid.data == nullptr) throw_invalid_argument(where, std::string(name) + " has no data", 0, "memory");
}

/// Refuses queries, keys and values that are empty or do not fit together.
template <class T>
void require_layer(std::string_view where, MatrixView<const T> queries, MatrixView<const T> keys,
                   MatrixView<const T> values) {
  require_at_least(where, "queries", std::int64_t{queries.rows}, std::int64_t{1});
  require_at_least(where, "dimension of the queries", std::int64_t{queries.columns}, std::int64_t{1});
  require_at_least(where, "keys", std::int64_t{keys.rows}, std::int64_t{1});
  require_at_least(where, "dimension of the values", std::int64_t{values.columns}, std::int64_t{1});
  require_shape(where, "queries", queries, queries.rows, queries.columns);
  require_shape(where, "keys", keys, keys.rows, queries.columns);
  require_shape(where, "values", values, keys.rows, values.columns);
}

/// Refuses an output whose elements share memory with each other.
template <class T>
void require_separate_elements(std::string_view where, MatrixView<T> out) {
  const std::int64_t columns = out.columns == 1 ? 1 : (out.columns - 1) * std::abs(out.column_stride) + 1;
  if (out.columns > 1 && out.column_stride == 0) throw_invalid_argument(where, "column stride of out", 0, "not 0");
  const bool by_rows = std::abs(out.row_stride) >= columns;
  const bool by_columns = std::abs(out.column_stride) >= (out.rows - 1) * std::abs(out.row_stride) + 1;
  if (out.rows > 1 && (out.row_stride == 0 || !(by_rows || by_columns))) {
    throw_invalid_argument(where, "rows of out overlap: row stride", out.row_stride,
                           "at least " + std::to_string(columns));
  }
}

/// First and one past the last address of a matrix.
template <class T>
std::pair<std::uintptr_t, std::uintptr_t> extent(MatrixView<T> grid) {
  std::int64_t low = 0, high = 0;
  for (const std::int64_t reach : {(grid.rows - 1) * grid.row_stride, (grid.columns - 1) * grid.column_stride}) {
    (reach < 0 ? low : high) += reach;
  }
  const auto at = reinterpret_cast<std::uintptr_t>(grid.data);
  const auto bytes = [](std::int64_t numbers) {
    return static_cast<std::uintptr_t>(numbers) * static_cast<std::uintptr_t>(sizeof(T));
  };
  return {at + bytes(low), at + bytes(high) + sizeof(T)};
}

/// Whether two matrices of the same strides have an element in common, or two others may.
template <class T>
bool overlaps(MatrixView<const T> a, MatrixView<const T> b) {
  const auto [a_first, a_last] = extent(a);
  const auto [b_first, b_last] = extent(b);
  if (a_last <= b_first || b_last <= a_first) return false;
  const bool alike = a.row_stride == b.row_stride && a.column_stride == 1 && b.column_stride == 1;
  if (!alike || a.row_stride <= 0) return true;
  const std::int64_t offset = b.data - a.data;
  const std::int64_t below = offset >= 0 ? offset / a.row_stride : -((-offset + a.row_stride - 1) / a.row_stride);
  for (const std::int64_t rows : {below, below + 1}) {
    const std::int64_t columns = offset - rows * a.row_stride;
    if (-b.rows < rows && rows < a.rows && -b.columns < columns && columns < a.columns) return true;
  }
  return false;
}

/// Accepts an output that is the input itself or does not overlap it.
template <class T>
void require_same_or_apart(std::string_view where, const char* name, MatrixView<const T> in, MatrixView<const T> out) {
  const bool same = in.data == out.data && in.row_stride == out.row_stride && in.column_stride == out.column_stride;
  if (!same && overlaps(in, out)) {
    throw_invalid_argument(where, std::string("out overlaps ") + name + " without being it: offset of the data",
                           static_cast<std::int64_t>(out.data - in.data), "the same matrix, or no common element");
  }
}

/// Which numbers of a matrix are neighbors in memory: those of a row or those of a column.
enum class Order { by_rows, by_columns };

template <class T>
bool is_in_order(MatrixView<T> grid, Order order) {
  return order == Order::by_rows ? grid.columns == 1 || grid.column_stride == 1
                                 : grid.rows == 1 || grid.row_stride == 1;
}

template <class T>
MatrixView<T> grid_at(T* data, std::int64_t rows, std::int64_t columns, Order order) {
  return MatrixView<T>(data, rows, columns,
                       order == Order::by_rows ? scoring::Strides{columns, 1} : scoring::Strides{1, rows});
}

/// Copies a matrix to one of the same shape, tile by tile, so that neither order of them costs a cache line per number.
template <class T>
void copy_matrix(MatrixView<const T> from, MatrixView<T> to) {
  constexpr std::int64_t tile = 16;
  for (std::int64_t top = 0; top < from.rows; top += tile) {
    const std::int64_t bottom = (std::min<std::int64_t>)(top + tile, from.rows);
    for (std::int64_t left = 0; left < from.columns; left += tile) {
      const std::int64_t right = (std::min<std::int64_t>)(left + tile, from.columns);
      for (std::int64_t i = top; i < bottom; ++i) {
        for (std::int64_t j = left; j < right; ++j) to(i, j) = from(i, j);
      }
    }
  }
}

/// Where the work of a call is done.
struct Site {
  std::string_view where;
  int gpu;
  simulate::detail::Workers workers;
};

inline Site site_of(std::string_view where, const Options& options) {
  return {where, options.gpu, simulate::detail::workers_of(options)};
}

/// Whether a matrix is in the memory of the GPU that works on it.
template <class System, class T>
bool is_on_gpu([[maybe_unused]] const Site& site, [[maybe_unused]] const char* name, MatrixView<T> grid) {
  if constexpr (System::lanes == 1) {
    const int gpu = grid.data == nullptr ? -1 : System::gpu_of_memory(grid.data);
    if (gpu >= 0 && gpu != site.gpu) {
      throw_invalid_argument(site.where, std::string(name) + ": in the memory of another GPU, number", gpu,
                             std::to_string(site.gpu) + " as in the options, or the host's memory");
    }
    return gpu >= 0;
  }
  return false;
}

/// Copies a tile of a matrix by the threads of a block, by way of their shared memory, so that neighboring threads read
/// and write neighboring memory also where one matrix is stored by rows and the other by columns.
template <class T>
struct CopyTile {
  static constexpr std::string_view task = "a copy of a matrix";
  static constexpr int side = 32, pitch = side + 1;
  static constexpr std::size_t shared_bytes = sizeof(T) * side * pitch;
  MatrixView<const T> from;
  MatrixView<T> to;
  bool reads_rows, writes_rows;  // whether neighboring threads read neighbors of a row, or of a column

  [[nodiscard]] static INCONTEXT_HD std::int64_t tiles(std::int64_t length) { return (length + side - 1) / side; }

  template <class Block>
  INCONTEXT_HD void operator()(std::int64_t index, const Block& block) const {
    const std::int64_t top = index / tiles(from.columns) * side, left = index % tiles(from.columns) * side;
    T* const tile = reinterpret_cast<T*>(block.shared);
    visit_tile(block, from, reads_rows, top, left, tile, [](const T& number, T& copy) { copy = number; });
    block.sync();
    visit_tile(block, to, writes_rows, top, left, tile, [](T& number, const T& copy) { number = copy; });
  }

 private:
  /// Calls visit(number, its place in shared memory) for the numbers of a tile, of which neighboring threads have
  /// neighbors of a row or of a column.
  template <class Block, class Number, class Visit>
  INCONTEXT_HD static void visit_tile(const Block& block, MatrixView<Number> grid, bool by_rows, std::int64_t top,
                                      std::int64_t left, T* tile, const Visit& visit) {
    constexpr int step = Block::threads / side;
    const int fast = block.thread() % side, first = block.thread() / side;
    const std::int64_t rows_left = grid.rows - top, columns_left = grid.columns - left;
    const std::int64_t slow_left = by_rows ? rows_left : columns_left;
    if (fast >= (by_rows ? columns_left : rows_left)) return;
    const std::ptrdiff_t stride = by_rows ? grid.row_stride : grid.column_stride;
    Number* at = grid.data + top * grid.row_stride + left * grid.column_stride + first * stride +
                 fast * (by_rows ? grid.column_stride : grid.row_stride);
    T* copy = tile + (by_rows ? first * pitch + fast : fast * pitch + first);
    const int count = slow_left < side ? static_cast<int>(slow_left) : side;
    for (int slow = first; slow < count; slow += step) {
      visit(*at, *copy);
      at += step * stride;
      copy += by_rows ? step * pitch : step;
    }
  }
};

template <class System, class T>
void copy_on_gpu(const Site& site, MatrixView<const T> from, MatrixView<T> to) {
  using Copy = CopyTile<T>;
  const auto by_rows = [](const auto& grid) { return std::abs(grid.column_stride) <= std::abs(grid.row_stride); };
  System::for_each_by_blocks(Copy::tiles(from.rows) * Copy::tiles(from.columns), Copy::shared_bytes, site.workers,
                             Copy{from, to, by_rows(from), by_rows(to)});
}

/// A matrix as a system reads it. A CPU reads it where it is, and so does a GPU that has it in its memory in this order;
/// otherwise the GPU has a copy without gaps.
template <class System, class T>
class Input {
 public:
  Input(const Site& site, const char* name, MatrixView<const T> given, Order order = Order::by_rows) : grid_(given) {
    if constexpr (System::lanes == 1) {
      const bool is_there = is_on_gpu<System>(site, name, given);
      if (is_there && is_in_order(given, order)) return;
      const auto size = static_cast<std::size_t>(given.rows * given.columns);
      if (is_there) {
        memory_.resize(size);
        copy_on_gpu<System>(site, given, grid_at(address(memory_), given.rows, given.columns, order));
      } else {
        std::vector<T> packed(size);
        copy_matrix(given, grid_at(packed.data(), given.rows, given.columns, order));
        memory_ = typename System::template Memory<T>(packed.begin(), packed.end());
      }
      const T* const there = address(memory_);
      grid_ = grid_at(there, given.rows, given.columns, order);
    }
  }
  [[nodiscard]] MatrixView<const T> grid() const { return grid_; }

 private:
  typename System::template Memory<T> memory_;
  MatrixView<const T> grid_;
};

/// A matrix as a system writes it: where it is, as Input, unless it must be apart from what is read. `collect` copies
/// the result to where it is wanted.
template <class System, class T>
class Output {
 public:
  Output(const Site& site, const char* name, MatrixView<T> wanted, Order order = Order::by_rows, bool apart = false)
      : site_(site), wanted_(wanted), grid_(wanted), order_(order) {
    if constexpr (System::lanes == 1) {
      is_there_ = is_on_gpu<System>(site, name, wanted);
      if (is_there_ && is_in_order(wanted, order) && !apart) return;
      memory_.resize(static_cast<std::size_t>(wanted.rows * wanted.columns));
      grid_ = grid_at(address(memory_), wanted.rows, wanted.columns, order);
    }
  }
  [[nodiscard]] MatrixView<T> grid() const { return grid_; }
  void collect() const {
    if constexpr (System::lanes == 1) {
      if (memory_.size() == 0) return;
      if (is_there_) return copy_on_gpu<System>(site_, MatrixView<const T>(grid_), wanted_);
      const std::vector<T> packed = simulate::detail::copy_to_host(memory_, 0, wanted_.rows * wanted_.columns);
      copy_matrix(grid_at(packed.data(), wanted_.rows, wanted_.columns, order_), wanted_);
    }
  }

 private:
  Site site_;
  typename System::template Memory<T> memory_;
  MatrixView<T> wanted_;
  MatrixView<T> grid_;
  Order order_;
  bool is_there_ = false;
};

template <class T>
struct MarkUndefined {
  static constexpr std::string_view task = "a search for NaN";
  MatrixView<const T> rows;
  std::int64_t columns;
  std::uint8_t* marks;

  INCONTEXT_HD bool is_defined(std::int64_t i) const {
    bool all = true;
    for (std::int64_t j = 0; j < columns; ++j) all = all && rows(i, j) == rows(i, j);
    return all;
  }
  INCONTEXT_HD void operator()(std::int64_t i) const { marks[i] = is_defined(i) ? 0 : 1; }
};

/// Refuses the first row with NaN among its first `columns` entries; a map undefined on a row leaves NaN in all of it.
template <class System, class T>
void require_defined(const Site& site, MatrixView<const T> out, std::int64_t columns = 1,
                     const char* problem = "the map is undefined on this row of scores: row") {
  std::int64_t first = 0;
  if constexpr (System::lanes > 1) {
    const MarkUndefined<T> row{out, columns, nullptr};
    while (first < out.rows && row.is_defined(first)) ++first;
  } else {
    typename System::template Memory<std::uint8_t> memory;
    memory.resize(static_cast<std::size_t>(out.rows));
    System::for_each_index(out.rows, site.workers, MarkUndefined<T>{out, columns, address(memory)});
    const std::vector<std::uint8_t> marks = simulate::detail::copy_to_host(memory, 0, out.rows);
    first = std::find(marks.begin(), marks.end(), std::uint8_t{1}) - marks.begin();
  }
  if (first == out.rows) return;
  throw_domain_error(site.where, problem, first,
                     "finite numbers, where the map is defined; zero_masked_rows for masked rows");
}

/// counts[i]: how many keys row i of scores shows, 0 where they are all -infinity.
template <class T>
struct CountUnmasked {
  static constexpr std::string_view task = "masked rows";
  MatrixView<const T> scores;
  VisibleKeys visible;
  std::int64_t* counts;

  INCONTEXT_HD void operator()(std::int64_t i) const {
    const Row<const T> row = scores.row(i).first(visible(i));
    std::int64_t masked = 0;
    while (masked < row.size && row[masked] <= -math::infinity<T>()) ++masked;
    counts[i] = masked == row.size ? 0 : row.size;
  }
};

/// The visible counts of Options in memory that the system can read.
template <class System>
class Counts {
 public:
  Counts(const Options& options, std::int64_t rows, std::int64_t columns)
      : keys_{options.visibility, nullptr, rows, columns} {
    if (options.visible_counts.empty()) return;
    memory_ =
        typename System::template Memory<std::int64_t>(options.visible_counts.begin(), options.visible_counts.end());
    keys_.counts = address(memory_);
  }
  /// The same with 0 for rows of scores that are all -infinity, where Options ask for that.
  template <class T>
  Counts(const Options& options, const Site& site, MatrixView<const T> scores)
      : Counts(options, scores.rows, scores.columns) {
    if (!options.zero_masked_rows) return;
    typename System::template Memory<std::int64_t> unmasked;
    unmasked.resize(static_cast<std::size_t>(scores.rows));
    System::for_each_index(scores.rows, site.workers, CountUnmasked<T>{scores, keys_, address(unmasked)});
    memory_ = std::move(unmasked);
    keys_.counts = address(memory_);
  }
  [[nodiscard]] VisibleKeys keys() const { return keys_; }

 private:
  typename System::template Memory<std::int64_t> memory_;
  VisibleKeys keys_;
};

/// The visible counts with 1 in the place of 0: of queries whose outputs are then set to 0.
inline std::vector<std::int64_t> counts_from_one(const Options& options) {
  std::vector<std::int64_t> counts(options.visible_counts.begin(), options.visible_counts.end());
  for (std::int64_t& count : counts) count = (std::max)(count, std::int64_t{1});
  return counts;
}

template <class T>
struct ZeroMasked {
  static constexpr std::string_view task = "zeros of masked queries";
  MatrixView<T> rows;
  VisibleKeys visible;

  INCONTEXT_HD void operator()(std::int64_t i) const {
    for (std::int64_t j = 0; visible(i) == 0 && j < rows.columns; ++j) rows(i, j) = T(0);
  }
};

template <class T>
struct CopyUnmasked {
  static constexpr std::string_view task = "a copy without masked queries";
  MatrixView<const T> from;
  MatrixView<T> to;
  VisibleKeys visible;

  INCONTEXT_HD void operator()(std::int64_t i) const {
    const bool is_masked = visible(i) == 0;
    for (std::int64_t j = 0; j < to.columns; ++j) to(i, j) = is_masked ? T(0) : from(i, j);
  }
};

/// The queries that see no key by the counts of Options.
template <class System>
class MaskedQueries {
 public:
  MaskedQueries(const Options& options, const Site& site, std::int64_t queries, std::int64_t keys)
      : site_(site), any_(has_zero(options)), counts_(any_ ? options : Options(), queries, keys) {}

  /// Sets their rows to 0.
  template <class T>
  void zero(MatrixView<T> rows) const {
    if (any_) System::for_each_index(rows.rows, site_.workers, ZeroMasked<T>{rows, counts_.keys()});
  }
  /// A matrix with 0 in their rows: itself if there are none, else a copy in `memory`.
  template <class T>
  MatrixView<const T> with_zeros(MatrixView<const T> rows, typename System::template Memory<T>& memory) const {
    if (!any_) return rows;
    memory.resize(static_cast<std::size_t>(rows.rows * rows.columns));
    const MatrixView<T> copy = grid_at(address(memory), rows.rows, rows.columns, Order::by_rows);
    System::for_each_index(rows.rows, site_.workers, CopyUnmasked<T>{rows, copy, counts_.keys()});
    return copy;
  }

 private:
  static bool has_zero(const Options& options) {
    const auto& counts = options.visible_counts;
    return std::find(counts.begin(), counts.end(), 0) != counts.end();
  }
  Site site_;
  bool any_;
  Counts<System> counts_;
};

}  // namespace incontext::apply::detail
