#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/apply/detail/matrices.hpp"
#include "incontext/apply/options.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

/// How many keys each row sees, and what becomes of rows that see none.
namespace incontext::apply::detail {

using scoring::Row;

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
