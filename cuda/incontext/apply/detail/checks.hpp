#pragma once

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "incontext/core/contracts.hpp"
#include "incontext/scoring/row.hpp"

/// What the functions here refuse of their matrices' shapes and memory, whatever the numbers.
namespace incontext::apply::detail {

using scoring::MatrixView;

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

}  // namespace incontext::apply::detail
