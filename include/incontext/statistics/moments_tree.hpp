#pragma once

#include <cstdint>
#include <vector>

#include "incontext/statistics/moments.hpp"

namespace incontext::statistics {

/// Merges a sequence of Moments in a binary tree whose shape depends on their number alone, so that the result has the
/// same bits whoever computed the parts, and memory grows like the logarithm of their number.
///
/// Source    pairwise summation as a binary counter, merge() at every node: docs/theory/statistics.md#chunks.
/// Units     as Moments.
/// Limits    nothing pushed: empty Moments.
/// Accuracy  bit-identical to the same tree built level by level (tests/statistics/moments_tree.cpp).
/// Runs on   host
class MomentsTree {
 public:
  /// Appends the next part, in order.
  void push(const Moments& part) {
    Moments carry = part;
    std::size_t level = 0;
    for (std::int64_t bits = parts_; (bits & 1) != 0; bits >>= 1, ++level) carry = merge(levels_[level], carry);
    if (level == levels_.size()) levels_.emplace_back();
    levels_[level] = carry;
    ++parts_;
  }

  /// The moments of everything pushed so far.
  [[nodiscard]] Moments total() const {
    Moments result;
    std::size_t level = 0;
    for (std::int64_t bits = parts_; bits != 0; bits >>= 1, ++level) {
      if ((bits & 1) != 0) result = merge(levels_[level], result);
    }
    return result;
  }

  [[nodiscard]] std::int64_t parts() const { return parts_; }

 private:
  std::vector<Moments> levels_;  // level k holds 2^k parts where bit k of parts_ is set
  std::int64_t parts_ = 0;
};

}  // namespace incontext::statistics
