#include "incontext/statistics/moments_tree.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "incontext/random/normal.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace moments_tree_test {

using namespace incontext;
using statistics::Moments;
using statistics::MomentsNode;
using statistics::MomentsTree;

namespace {

/// Parts of different sizes and scales, so that every other order of merging rounds differently; some are empty and
/// some have values that were not finite.
std::vector<Moments> parts_of(std::size_t count) {
  std::vector<Moments> parts;
  for (std::size_t part = 0; part < count; ++part) {
    std::vector<double> values;
    const std::size_t size = part % 11 == 7 ? 0 : 1 + part * 5 % 37;
    for (std::size_t i = 0; i < size; ++i) {
      double z[2][1];
      normals(random::LaneStream<1>({93, i}, random::StreamTag(static_cast<std::uint32_t>(part))), 0, z);
      values.push_back(std::pow(7.0, static_cast<double>(part % 5)) * z[0][0] + z[1][0]);
    }
    parts.push_back(statistics::moments_of(values.data(), static_cast<std::int64_t>(size)));
    parts.back().non_finite = static_cast<std::int64_t>(part % 3);
  }
  return parts;
}

/// The same tree by its definition: neighbors are merged level by level, one left over is carried up.
Moments level_by_level(std::vector<Moments> level) {
  if (level.empty()) return {};
  while (level.size() > 1) {
    std::vector<Moments> above;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) above.push_back(merge(level[i], level[i + 1]));
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = above;
  }
  return level[0];
}

Moments one_after_another(const std::vector<Moments>& parts) {
  Moments total;
  for (const Moments& part : parts) total = merge(total, part);
  return total;
}

}  // namespace

TEST_CASE("the tree of 0 to 200 parts has the bits of the tree built level by level") {
  const std::vector<Moments> parts = parts_of(200);
  MomentsTree tree;
  CHECK(same_bits(tree.total(), Moments{}));
  CHECK(tree.size() == 0);
  int other_shapes_differ = 0;
  for (std::size_t count = 1; count <= parts.size(); ++count) {
    tree.push(parts[count - 1]);
    const std::vector<Moments> first(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
    CAPTURE(count);
    CHECK(same_bits(tree.total(), level_by_level(first)));
    CHECK(tree.size() == static_cast<std::int64_t>(count));
    other_shapes_differ += !same_bits(tree.total(), one_after_another(first));
  }
  CHECK(other_shapes_differ > 100);  // so the comparison above could have failed
}

TEST_CASE("asking for the total changes nothing, and counts are kept") {
  const std::vector<Moments> parts = parts_of(77);
  MomentsTree asked, silent;
  Moments counted;
  for (const Moments& part : parts) {
    asked.push(part);
    static_cast<void>(asked.total());
    silent.push(part);
    counted.count += part.count;
    counted.non_finite += part.non_finite;
  }
  CHECK(same_bits(asked.total(), silent.total()));
  CHECK(asked.total().count == counted.count);
  CHECK(asked.total().non_finite == counted.non_finite);
  CHECK(asked.total().mean == Approx(one_after_another(parts).mean).epsilon(1e-12));
  CHECK(asked.total().sum_of_squares == Approx(one_after_another(parts).sum_of_squares).epsilon(1e-11));
}

TEST_CASE("a range of parts is held by the fewest nodes of the infinite tree, each an aligned block") {
  const std::vector<Moments> parts = parts_of(70);
  for (std::size_t first = 0; first < parts.size(); ++first) {
    MomentsTree tree(static_cast<std::int64_t>(first));
    for (std::size_t end = first; end < parts.size(); ++end) {
      CAPTURE(first, end);
      CHECK(tree.first() == static_cast<std::int64_t>(first));
      CHECK(tree.end() == static_cast<std::int64_t>(end));
      std::int64_t at = tree.first();
      for (const MomentsNode& node : tree.nodes()) {
        // the largest node that begins here and does not reach beyond the end
        int level = 0;
        while (at % (2LL << level) == 0 && at + (2LL << level) <= tree.end()) ++level;
        CHECK(node.first == at);
        CHECK(node.level == level);
        const auto begin = parts.begin() + at;
        CHECK(same_bits(node.moments, level_by_level({begin, begin + (1LL << level)})));
        at = node.end();
      }
      CHECK(at == tree.end());
      tree.push(parts[end]);
    }
  }
}

TEST_CASE("parts computed in pieces, cut at any places, have the bits of one run") {
  const std::vector<Moments> parts = parts_of(150);
  MomentsTree whole;
  for (const Moments& part : parts) whole.push(part);
  std::mt19937 random(7);
  int totals_differ = 0;
  for (int round = 0; round < 500; ++round) {
    const auto one_in = static_cast<unsigned>(1 + round % 40);  // how often the sequence is cut
    std::vector<MomentsTree> pieces{MomentsTree(0)};
    for (const Moments& part : parts) {
      if (random() % one_in == 0) pieces.emplace_back(pieces.back().end());
      pieces.back().push(part);
    }
    MomentsTree united;
    Moments of_totals;
    for (const MomentsTree& piece : pieces) {
      for (const MomentsNode& node : piece.nodes()) united.push(node);
      of_totals = merge(of_totals, piece.total());
    }
    CAPTURE(round, pieces.size());
    CHECK(same_bits(united.total(), whole.total()));
    REQUIRE(united.nodes().size() == whole.nodes().size());
    for (std::size_t i = 0; i < united.nodes().size(); ++i) {
      CHECK(same_bits(united.nodes()[i].moments, whole.nodes()[i].moments));
    }
    totals_differ += !same_bits(of_totals, whole.total());
  }
  CHECK(totals_differ > 300);  // merging the pieces' totals instead is the plausible mistake
}

TEST_CASE("a node out of order, or one that is no node of the tree, is refused and changes nothing") {
  MomentsTree tree(4);
  tree.push(Moments{1, 2, 0, 0});
  const auto refused = [&](const MomentsNode& node) {
    const std::string message = testing::message_of([&] { tree.push(node); });
    CHECK(tree.end() == 5);
    CHECK(tree.nodes().size() == 1);
    return message;
  };
  CHECK(testing::names(refused({6, 1, {}}), "node does not begin where the tree ends", "6"));
  CHECK(testing::names(refused({4, 0, {}}), "node does not begin where the tree ends", "4"));
  CHECK(testing::names(refused({5, 1, {}}), "is not the beginning of a node of level 1", "5"));
  CHECK(testing::names(refused({5, -1, {}}), "is not the beginning of a node of level -1", "5"));
  CHECK(testing::names(refused({0, 63, {}}), "is not the beginning of a node of level 63", "0"));
  CHECK(testing::names(testing::message_of([] { MomentsTree(-1); }), "first", "-1"));
  tree.push(MomentsNode{5, 0, {1, 4, 0, 0}});
  CHECK(tree.nodes().size() == 1);
  CHECK(tree.total().mean == 3);
}

}  // namespace moments_tree_test
