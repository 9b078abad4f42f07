#include <boost/math/differentiation/autodiff.hpp>
#include <cstddef>
#include <cstdint>

#include "incontext/laws/fading.hpp"
#include "incontext/laws/fading_by_map.hpp"
#include "incontext/laws/fading_grid.hpp"
#include "incontext/laws/fading_thresholds.hpp"
#include "incontext/laws/frozen_imbalance.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_needle_approximations.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/gradient_sizes.hpp"
#include "incontext/laws/normsoftmax_gradient_sizes.hpp"
#include "incontext/laws/retrieval.hpp"
#include "incontext/laws/retrieval_threshold.hpp"
#include "incontext/laws/row_moments.hpp"
#include "incontext/laws/ssa_row.hpp"
#include "incontext/laws/top_scores.hpp"
#include "incontext/laws/two_level_jacobian.hpp"
#include "incontext/laws/uniform_needle.hpp"
#include "incontext/scoring/softmax.hpp"
#include "support/catch.hpp"

// Callers have numbers of scores and dimensions as integers: every law accepts int, std::int64_t and std::size_t
// without a cast or a warning, and returns the same bits as for the scalar.
namespace counts_test {

using namespace incontext;
using namespace incontext::laws;

namespace {

/// Calls `law` with a count of every type.
template <class Law>
void same_for_every_kind(int count, const Law& law) {
  const double expected = law(static_cast<double>(count));
  CHECK(law(count) == expected);
  CHECK(law(static_cast<std::int64_t>(count)) == expected);
  CHECK(law(static_cast<std::size_t>(count)) == expected);
  CHECK(law(static_cast<std::uint32_t>(count)) == expected);
}

}  // namespace

TEST_CASE("laws of fading take integers as counts", "[laws]") {
  same_for_every_kind(1000, [](auto n) { return two_level_weights(n, 3.0).high; });
  same_for_every_kind(1000, [](auto n) { return largest_weight_lower_bound(n, 3.0); });
  same_for_every_kind(1000, [](auto n) { return largest_weight_upper_bound(n, 3.0); });
  same_for_every_kind(1000, [](auto n) { return grid_log_sum(n, 2.0); });
  same_for_every_kind(1000, [](auto n) { return grid_threshold(n, 2.0); });
  same_for_every_kind(1000, [](auto n) { return grid_weight(n, 2.0, 1.5); });
  same_for_every_kind(1000, [](auto n) { return two_level_exponent_gap(n); });
  same_for_every_kind(1000, [](auto n) { return two_level_exponent_gap(n, 0.25); });
  same_for_every_kind(1000, [](auto n) { return ssmax_bounded_threshold(n, 0.5, BoundedScores<double>{1}); });
  same_for_every_kind(1000, [](auto n) { return two_level_jacobian(n, 0.5).spectral_norm; });
}

TEST_CASE("laws of rows of normal scores take integers as counts", "[laws]") {
  same_for_every_kind(4096, [](auto n) { return gaussian_row(n, 2.0).ipr; });
  same_for_every_kind(4096, [](auto n) { return largest_weight(n, 2.0).value; });
  same_for_every_kind(4096, [](auto n) { return top_scores_weight(n, 100, 2.0).kept; });
  same_for_every_kind(4096, [](auto n) { return top_scores_needed(n, 0.1, 2.0); });
  same_for_every_kind(4096, [](auto n) { return critical_score_stddev(n); });
  same_for_every_kind(4096, [](auto n) { return annealed_log_partition(n, 2.0); });
  same_for_every_kind(4096, [](auto n) { return quenched_log_partition(n, 9.0); });
  same_for_every_kind(4096, [](auto n) { return quenched_entropy(n, 2.0); });
  same_for_every_kind(4096, [](auto n) { return annealed_ipr(n, 2.0); });
  same_for_every_kind(4096, [](auto n) { return frozen_row(n, 9.0).ipr; });
  same_for_every_kind(64, [](auto n) {
    return frozen_imbalance_quantile(FrozenLayer<double>{.row_length = n, .score_stddev = 30, .dimension = 16});
  });
  same_for_every_kind(16, [](auto d) {
    return frozen_imbalance_quantile(FrozenLayer<double>{.row_length = 64, .score_stddev = 30, .dimension = d});
  });
  same_for_every_kind(16, [](auto d) { return gradient_sizes(gaussian_row(64, 1.0), 1.0, d).imbalance; });
  same_for_every_kind(64, [](auto n) { return annealed_imbalance(n, 1.0, 16); });
  same_for_every_kind(16, [](auto d) { return annealed_imbalance(64, 1.0, d); });
  same_for_every_kind(64, [](auto n) { return normsoftmax_gradient_sizes(n, 16).imbalance; });
  same_for_every_kind(16, [](auto d) { return normsoftmax_gradient_sizes(64, d).imbalance; });
  same_for_every_kind(50, [](auto n) { return ssa_row(scoring::SSA<double>{}, n, 1.0).ipr; });
}

TEST_CASE("laws of needles take integers as counts", "[laws]") {
  same_for_every_kind(131071, [](auto n) { return needle_weight(n, 2.5, 8.0).value; });
  same_for_every_kind(131071, [](auto n) { return noise_weight(n, 2.5, 8.0).value; });
  same_for_every_kind(131071, [](auto n) {
    return random_needle_weight(RandomNeedle<double>{.noise_count = n, .noise_stddev = 2.5, .gap = 8, .gap_stddev = 1})
        .value;
  });
  same_for_every_kind(131071, [](auto n) { return needle_weight_annealed(n, 2.5, 8.0); });
  same_for_every_kind(131071, [](auto n) { return noise_weight_leading_order(n, 2.5, 8.0); });
  same_for_every_kind(131071, [](auto n) { return needle_weight_second_order(n, 0.5, 8.0); });
  same_for_every_kind(131071, [](auto n) { return needle_weight_log_normal(n, 0.5, 8.0).value; });
  same_for_every_kind(1000, [](auto n) { return needle_weight_stable(n, 9.0, 8.0).value; });
  same_for_every_kind(1000, [](auto n) { return needle_weight_largest(n, 9.0, 8.0); });
  same_for_every_kind(1000, [](auto n) { return retrieval_gap(n, 2.0); });
  same_for_every_kind(1000, [](auto n) { return retrieval_gap(n, 2.0, 0.25); });
  same_for_every_kind(1000, [](auto n) { return uniform_needle_weight(n, 2.0, 3.0).value; });
  same_for_every_kind(1000, [](auto n) { return uniform_noise_weight(n, 2.0, 3.0).value; });
  same_for_every_kind(1000, [](auto n) { return uniform_retrieval_gap(n, 2.0); });
  same_for_every_kind(1000, [](auto n) { return ssa_needle_weight(scoring::SSA<double>{}, n, 1.0, 5.0).value; });
  same_for_every_kind(1000, [](auto n) { return ssmax_gaussian_threshold(n, 0.5, 1.0); });
  same_for_every_kind(1000, [](auto n) { return normsoftmax_needle_height(n); });
  same_for_every_kind(1000, [](auto n) { return retrieval_threshold(NormalLaw<double>{1.0}, n, 2.0).score; });
}

TEST_CASE("counts that are integers in the library take every integer without a warning", "[laws]") {
  const scoring::Softmax<double> map{2};
  CHECK(two_level_weights(map, 50, 3.0, 1.0).high == two_level_weights(map, std::int64_t{50}, 3.0, 1.0).high);
  CHECK(row_moments(map, 50, 1.0).ipr == row_moments(map, std::int64_t{50}, 1.0).ipr);
}

TEST_CASE("a law can be differentiated with respect to a count", "[laws]") {
  const auto n = boost::math::differentiation::make_fvar<double, 1>(1000.0);
  using Taylor = std::remove_const_t<decltype(n)>;
  CHECK(std::abs(critical_score_stddev(n).derivative(1) * (1000 * critical_score_stddev(1000)) - 1) < 1e-14);
  CHECK(std::abs(annealed_log_partition(n, Taylor(2.0)).derivative(1) * 1000 - 1) < 1e-14);
  CHECK(std::abs(two_level_exponent_gap(n).derivative(1) * 999 - 1) < 1e-14);
  CHECK(two_level_exponent_gap(1000, Taylor(0.5)).derivative(1) == 0);
}

}  // namespace counts_test
