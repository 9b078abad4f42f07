#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/apply/options.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/simulate/engine/systems.hpp"

/// Matrices in the memory of the system that works on them.
namespace incontext::apply::detail {

using scoring::MatrixView;
using simulate::detail::address;

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

}  // namespace incontext::apply::detail
