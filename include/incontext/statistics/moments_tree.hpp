#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::statistics {

/// A node of the infinite binary tree over parts 0, 1, 2, ...: the moments of the 2^level parts from `first` on.
///
/// Domain    level 0 to 62; first >= 0, a multiple of 2^level.
struct MomentsNode {
  std::int64_t first = 0;
  int level = 0;
  Moments moments = {};

  [[nodiscard]] std::int64_t end() const { return first + (std::int64_t{1} << level); }
};

/// Merges consecutive parts in a binary tree whose shape depends on their numbers alone, so that the result has the
/// same bits whoever computed the parts, and memory grows like the logarithm of how many there are.
///
/// A tree holds the parts [first(), end()) as the fewest nodes of the infinite tree that cover them. To compute a
/// sequence in pieces, give each piece a tree that begins where the piece does, and append its nodes in order:
///
///     statistics::MomentsTree all(0), later(5);   // push parts 0 to 4 to all, and 5 and more to later
///     for (const auto& node : later.nodes()) all.push(node);   // all has now the bits of one tree
///
/// Source    pairwise summation as a binary counter, merge() at every node: docs/theory/statistics.md#chunks.
/// Limits    nothing pushed: empty Moments.
/// Errors    push of a node: std::invalid_argument if it does not begin at end() or is no node of the tree.
/// Accuracy  bit-identical to the same tree built level by level, in one piece or in many
///           (tests/statistics/moments_tree.cpp).
class MomentsTree {
 public:
  /// A tree without parts, whose next part is number `first`.
  explicit MomentsTree(std::int64_t first = 0) : first_(first), end_(first) {
    require_at_least("statistics::MomentsTree", "first", first, std::int64_t{0});
  }

  /// Appends the next part.
  void push(const Moments& part) { append({end_, 0, part}); }

  /// Appends the next 2^level parts, which were merged elsewhere.
  void push(const MomentsNode& node) {
    constexpr auto where = "statistics::MomentsTree";
    if (node.level < 0 || node.level > 62 || node.first % (std::int64_t{1} << node.level) != 0) {
      throw_invalid_argument(where, "node.first is not the beginning of a node of level " + std::to_string(node.level),
                             node.first, "a multiple of 2^level, level 0 to 62");
    }
    if (node.first != end_) {
      throw_invalid_argument(where, "node does not begin where the tree ends", node.first, std::to_string(end_));
    }
    append(node);
  }

  /// The moments of everything pushed so far.
  [[nodiscard]] Moments total() const {
    Moments result;
    for (auto node = nodes_.rbegin(); node != nodes_.rend(); ++node) result = merge(node->moments, result);
    return result;
  }

  /// The nodes that hold the parts, in order.
  [[nodiscard]] const std::vector<MomentsNode>& nodes() const { return nodes_; }
  [[nodiscard]] std::int64_t first() const { return first_; }
  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] std::int64_t size() const { return end_ - first_; }

 private:
  /// Merges the node with every left sibling that is complete.
  void append(MomentsNode node) {
    end_ = node.end();
    while (!nodes_.empty() && nodes_.back().level == node.level && (node.first >> node.level & 1) != 0) {
      node = {nodes_.back().first, node.level + 1, merge(nodes_.back().moments, node.moments)};
      nodes_.pop_back();
    }
    nodes_.push_back(node);
  }

  std::vector<MomentsNode> nodes_;
  std::int64_t first_;
  std::int64_t end_;
};

}  // namespace incontext::statistics
