#include "incontext/statistics/moments_tree.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/random/normal.hpp"
#include "support/catch.hpp"

namespace moments_tree_test {

using namespace incontext;
using statistics::Moments;
using statistics::MomentsTree;

namespace {

bool same_bits(const Moments& a, const Moments& b) {
  const auto bits = [](double x) { return __builtin_bit_cast(std::uint64_t, x); };
  return a.count == b.count && a.non_finite == b.non_finite && bits(a.mean) == bits(b.mean) &&
         bits(a.sum_of_squares) == bits(b.sum_of_squares);
}

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
  CHECK(tree.parts() == 0);
  int other_shapes_differ = 0;
  for (std::size_t count = 1; count <= parts.size(); ++count) {
    tree.push(parts[count - 1]);
    const std::vector<Moments> first(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count));
    CAPTURE(count);
    CHECK(same_bits(tree.total(), level_by_level(first)));
    CHECK(tree.parts() == static_cast<std::int64_t>(count));
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

}  // namespace moments_tree_test
