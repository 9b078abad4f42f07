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

/// Refuses the first row with NaN among its first `columns` entries; a map undefined on a row leaves NaN in all of it.
template <class T>
void require_defined(std::string_view where, MatrixView<const T> out, std::int64_t columns = 1,
                     const char* problem = "the map is undefined on this row of scores: row") {
  for (std::int64_t i = 0; i < out.rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      if (std::isnan(out(i, j)))
        throw_domain_error(where, problem, i,
                           "finite numbers, where the map is defined; zero_masked_rows for masked rows");
    }
  }
}

/// The order of a matrix in a GPU's memory.
enum class Order { by_rows, by_columns };

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

/// A host matrix as a system reads it: itself on a CPU, a copy without gaps on a GPU.
template <class System, class T>
class Input {
 public:
  explicit Input(MatrixView<const T> host, Order order = Order::by_rows) : grid_(host) {
    if constexpr (System::lanes == 1) {
      std::vector<T> packed(static_cast<std::size_t>(host.rows * host.columns));
      copy_matrix(host, grid_at(packed.data(), host.rows, host.columns, order));
      memory_ = typename System::template Memory<T>(packed.begin(), packed.end());
      const T* const there = address(memory_);
      grid_ = grid_at(there, host.rows, host.columns, order);
    }
  }
  [[nodiscard]] MatrixView<const T> grid() const { return grid_; }

 private:
  typename System::template Memory<T> memory_;
  MatrixView<const T> grid_;
};

/// A host matrix as a system writes it; `collect` copies the result to the host.
template <class System, class T>
class Output {
 public:
  explicit Output(MatrixView<T> host, Order order = Order::by_rows) : host_(host), grid_(host), order_(order) {
    if constexpr (System::lanes == 1) {
      memory_.resize(static_cast<std::size_t>(host.rows * host.columns));
      grid_ = grid_at(address(memory_), host.rows, host.columns, order);
    }
  }
  [[nodiscard]] MatrixView<T> grid() const { return grid_; }
  void collect() const {
    if constexpr (System::lanes == 1) {
      const std::vector<T> packed = simulate::detail::copy_to_host(memory_, 0, host_.rows * host_.columns);
      copy_matrix(grid_at(packed.data(), host_.rows, host_.columns, order_), host_);
    }
  }

 private:
  typename System::template Memory<T> memory_;
  MatrixView<T> host_;
  MatrixView<T> grid_;
  Order order_;
};

/// How many keys each row of scores shows, 0 where they are all -infinity. Empty if no row is such, or it is refused.
template <class T>
std::vector<std::int64_t> counts_of_masked(const Options& options, MatrixView<const T> scores) {
  if (!options.zero_masked_rows) return {};
  const VisibleKeys visible{options.visibility,
                            options.visible_counts.empty() ? nullptr : options.visible_counts.data(), scores.rows,
                            scores.columns};
  std::vector<std::int64_t> counts;
  bool is_any_masked = false;
  for (std::int64_t i = 0; i < scores.rows; ++i) {
    const Row<const T> row = scores.row(i).first(visible(i));
    std::int64_t masked = 0;
    while (masked < row.size && row[masked] <= -math::infinity<T>()) ++masked;
    counts.push_back(masked == row.size ? 0 : row.size);
    is_any_masked = is_any_masked || masked == row.size;
  }
  return is_any_masked ? counts : std::vector<std::int64_t>();
}

/// The visible counts with 1 in the place of 0: of queries whose outputs are then set to 0.
inline std::vector<std::int64_t> counts_from_one(const Options& options) {
  std::vector<std::int64_t> counts(options.visible_counts.begin(), options.visible_counts.end());
  for (std::int64_t& count : counts) count = (std::max)(count, std::int64_t{1});
  return counts;
}

/// Sets the rows of queries that see no key to 0.
template <class T>
void zero_masked_rows(const Options& options, MatrixView<T> rows) {
  for (std::size_t i = 0; i < options.visible_counts.size(); ++i) {
    if (options.visible_counts[i] != 0) continue;
    for (std::int64_t j = 0; j < rows.columns; ++j) rows(static_cast<std::ptrdiff_t>(i), j) = T(0);
  }
}

/// A matrix of queries with 0 in the rows of those that see no key: itself if all see one, else a copy in `memory`.
template <class T>
MatrixView<const T> with_zero_rows(const Options& options, MatrixView<const T> rows, std::vector<T>& memory) {
  const auto& counts = options.visible_counts;
  if (std::find(counts.begin(), counts.end(), 0) == counts.end()) return rows;
  memory.resize(static_cast<std::size_t>(rows.rows * rows.columns));
  const MatrixView<T> copy = grid_at(memory.data(), rows.rows, rows.columns, Order::by_rows);
  copy_matrix(rows, copy);
  zero_masked_rows(options, copy);
  return copy;
}

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
  [[nodiscard]] VisibleKeys keys() const { return keys_; }

 private:
  typename System::template Memory<std::int64_t> memory_;
  VisibleKeys keys_;
};

}  // namespace incontext::apply::detail
