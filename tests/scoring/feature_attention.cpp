#include "incontext/scoring/feature_attention.hpp"

#include <vector>

#include "incontext/scoring/scoring.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

struct Sequences {
  std::ptrdiff_t queries, keys, dimension, width;
  std::vector<double> q, k, v;

  Sequences(Random& random, std::ptrdiff_t query_count, std::ptrdiff_t key_count, std::ptrdiff_t d, std::ptrdiff_t dv)
      : queries(query_count),
        keys(key_count),
        dimension(d),
        width(dv),
        q(random.normals(static_cast<std::size_t>(query_count * d))),
        k(random.normals(static_cast<std::size_t>(key_count * d))),
        v(random.normals(static_cast<std::size_t>(key_count * dv))) {}
  MatrixView<const double> query_grid() const { return {q.data(), queries, dimension}; }
  MatrixView<const double> key_grid() const { return {k.data(), keys, dimension}; }
  MatrixView<const double> value_grid() const { return {v.data(), keys, width}; }
};

/// The weights of every query, then the weighted values: the order of steps that forms the matrix.
template <class K>
std::vector<double> through_weights(const KernelAttention<K>& map, const Sequences& s, Visibility visibility) {
  std::vector<double> out(static_cast<std::size_t>(s.queries * s.width), 0.0);
  for (std::ptrdiff_t i = 0; i < s.queries; ++i) {
    const std::ptrdiff_t visible = visible_keys(visibility, i, s.queries, s.keys);
    std::vector<double> a(static_cast<std::size_t>(visible));
    weights(map, s.query_grid().row(i), MatrixView<const double>(s.k.data(), visible, s.dimension), a,
            query_position(visibility, i, s.queries, s.keys));
    for (std::ptrdiff_t j = 0; j < visible; ++j) {
      for (std::ptrdiff_t e = 0; e < s.width; ++e) {
        out[static_cast<std::size_t>(i * s.width + e)] += a[static_cast<std::size_t>(j)] * s.value_grid()(j, e);
      }
    }
  }
  return out;
}

template <class K>
std::vector<double> through_features(const KernelAttention<K>& map, const Sequences& s, Visibility visibility) {
  std::vector<double> out(static_cast<std::size_t>(s.queries * s.width), nan);
  std::vector<double> scratch(static_cast<std::size_t>(map.kernel.feature_count(s.dimension) * (s.width + 1)), nan);
  attend(map, s.query_grid(), s.key_grid(), s.value_grid(), MatrixView<double>(out.data(), s.queries, s.width),
         attend_state(map, scratch.data(), s.dimension, s.width), visibility);
  return out;
}

}  // namespace

TEST_CASE("attention through features is attention through weights", "[scoring]") {
  Random random(81);
  for (const auto& [queries, keys] : {std::pair{6, 6}, std::pair{3, 8}, std::pair{9, 4}}) {
    const Sequences s(random, queries, keys, 3, 5);
    for (const auto visibility : {Visibility::all, Visibility::causal}) {
      for (const auto normalization :
           {KernelNormalization::none, KernelNormalization::context_length, KernelNormalization::sum}) {
        const auto check = [&](const auto& map) {
          const auto dense = through_weights(map, s, visibility);
          const auto streamed = through_features(map, s, visibility);
          CHECK(distance(streamed, dense) < 1e-12 * (1 + largest_size(dense)));
          auto wrong = s;
          wrong.k[0] += 1e-3;
          CHECK_FALSE(distance(through_features(map, wrong, visibility), dense) < 1e-12 * (1 + largest_size(dense)));
        };
        check(KernelAttention<DotKernel<double>>{{1.5}, normalization});
        check(KernelAttention<EluKernel<double>>{{}, normalization});
        if (normalization == KernelNormalization::sum) {
          const auto map = cosformer(9.0);  // a floor hides a change of one key from rows without positive features
          const auto dense = through_weights(map, s, visibility);
          CHECK(distance(through_features(map, s, visibility), dense) < 1e-12 * (1 + largest_size(dense)));
        }
      }
    }
  }
}

TEST_CASE("linear attention and cosFormer have their normalization and floor as kernel attention", "[scoring]") {
  const LinearAttention<double> raw{2, LinearNormalization::none};
  CHECK(as_kernel_attention(raw).normalization == KernelNormalization::none);
  CHECK(as_kernel_attention(LinearAttention<double>{2}).normalization == KernelNormalization::context_length);
  CHECK(cosformer(3.0).floor == 1e-6);
}

TEST_CASE("a row that cannot be normalized is NaN, one under the floor is zero", "[scoring]") {
  Random random(82);
  Sequences s(random, 2, 3, 2, 2);
  s.q = {-1, -1, 1, 1};
  const auto out = through_features(cosformer(3.0), s, Visibility::all);
  CHECK(out[0] == 0);
  CHECK(out[1] == 0);
  s.q = {0, 0, 1, 1};
  const auto singular = through_features(KernelAttention<DotKernel<double>>{{1}}, s, Visibility::all);
  CHECK(all_nan(std::vector<double>{singular[0], singular[1]}));
  CHECK_FALSE(all_nan(singular));
}

}  // namespace incontext::testing
