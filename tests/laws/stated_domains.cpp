#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "incontext/calibration/centered_needle.hpp"
#include "incontext/calibration/temperature_rules.hpp"
#include "incontext/classification/hemisphere_contrast.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/two_class_risk.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/gradient_sizes.hpp"
#include "incontext/laws/needle_cross_entropy.hpp"
#include "incontext/laws/retrieval.hpp"
#include "incontext/laws/two_group_row.hpp"
#include "incontext/statistics/holm.hpp"
#include "laws/refusal.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

/// Arguments at and beyond the ends of what the headers state: a value, or a refusal that names the argument.
namespace incontext::testing {

using namespace laws;

TEST_CASE("laws have values up to the widths they state, and refuse wider scores by name", "[laws][domain]") {
  CHECK(std::abs(gaussian_row<double>(4096, 1e20).ipr - 1) < 1e-12);
  CHECK(refuses([] { gaussian_row<double>(4096, 1e100); }, {"score_stddev is too large", "1e+100"}));
  CHECK(retrieval_gap<double>(512, 1e10, 0.5) > 1e10);
  CHECK(refuses([] { retrieval_gap<double>(512, 1e12, 0.5); }, {"retrieval_gap", "too large", "1000000000000"}));
  CHECK(refuses([] { needle_weight<double>(512, 1e12, 1.0); }, {"noise_stddev is too large"}));
  CHECK(std::isfinite(needle_cross_entropy(NormalLaw<double>{1}, 80.0, NormalNeedle<double>{4, 100}, 1.0).value));
  CHECK(refuses(
      [] {
        needle_cross_entropy(NormalLaw<double>{1}, 80.0, NormalNeedle<double>{4, 1e3}, 1.0);
      },
      {"inverse_temperature times needle.stddev", "1000"}));
  // wide competitors smooth the step that an edge has; without the refusal the loss was 0
  CHECK(std::isfinite(needle_cross_entropy(NormalLaw<double>{1}, 80.0, NormalNeedle<double>{4, 10}, 1e4).value));
  CHECK(refuses(
      [] {
        needle_cross_entropy(UniformLaw<double>{0, 1}, 1e6, NormalNeedle<double>{1.1, 0.1}, 1e4);
      },
      {"inverse_temperature times needle.stddev", "1000"}));
  const auto least = optimal_needle_temperature(UniformLaw<double>{0, 1}, 50.0, NormalNeedle<double>{0.505, 1});
  CHECK(0 < least.inverse_temperature);
  CHECK(least.inverse_temperature < 100);
  CHECK(least.cross_entropy <= std::log(51.0));
  CHECK(two_group_row<double>({100, 1e9, 0}, {1000, 1e9, 0}).groups[0].weight > 0.09);
  CHECK(refuses([] { two_group_row<double>({100, 1, 0}, {1000, 1e5, 0}); }, {"score_stddev of one group", "100000"}));
  CHECK_THROWS_AS(two_group_row<double>({908, 14.7, 0}, {1e9, 0, 0}),
                  numerics::QuadratureError);  // stated, with the widths
  CHECK(refuses([] { two_group_row<double>({10, 1e20, 0}, {10, 1, 0}); }, {"first.score_stddev is too large"}));
  CHECK(std::abs(annealed_imbalance<double>(4096, 1e160, 64) / 1e160 - 1) < 1e-12);
}

TEST_CASE("high dimensions are computed at once or refused", "[classification][domain]") {
  const std::int64_t most = 1'000'000'000'000'000, beyond = 4'600'000'000'000'000'000;
  CHECK(std::abs(classification::mean_resultant_length<double>(most, 709) / (709.0 / double(most)) - 1) < 1e-12);
  CHECK(classification::kernel_accuracy<double>(most, 2.0, 40) >= 0.5);
  for (const auto& call : {+[](std::int64_t d) { classification::mean_resultant_length<double>(d, 709); },
                           +[](std::int64_t d) { classification::kernel_accuracy<double>(d, 2.0, 40); },
                           +[](std::int64_t d) { classification::hemisphere_contrast<double>(d, 2.0, 0.5); }}) {
    CHECK(names(message_of([&] { call(beyond); }), "dimension is too large", "4600000000000000000"));
  }
}

TEST_CASE("rules of calibration refuse what is no length, temperature or weight", "[calibration][domain]") {
  using namespace calibration;
  CHECK(names(message_of([] { yarn_inverse_temperature(-1.0); }), "factor", "-1"));
  CHECK(names(message_of([] { yarn_inverse_temperature(std::numeric_limits<double>::quiet_NaN()); }), "factor"));
  CHECK(!(yarn_inverse_temperature(1.0) < 1));
  CHECK(names(message_of([] { nearest_ssmax({100, -5}, {1, 2}); }), "length", "-5"));
  CHECK(names(message_of([] {
                nearest_ssmax({100, 200}, {1, std::numeric_limits<double>::infinity()});
              }),
              "inverse temperature"));
  CHECK(names(message_of([] { nearest_ssa(1, {1, 1}, 11, 709); }), "target", "709"));
  CHECK(names(message_of([] { nearest_ssa(5e-324, {195, 1}, 11, 0.5); }), "base"));
  for (const auto& at : {centered_needle_weight(5, 30, 4), centered_needle_weight(5, 286, 4.5)}) {
    CHECK(at.value >= 0);
    CHECK(at.error_estimate > 0.001);
  }
}

TEST_CASE("the bound of a family refuses levels that are lost to rounding", "[statistics][domain]") {
  CHECK(statistics::family_wise_bound(1000, 1e-290) > 36);
  CHECK(names(message_of([] { statistics::family_wise_bound(std::numeric_limits<std::size_t>::max(), 2e-308); }),
              "level over the number of members", "needs at least"));
}

}  // namespace incontext::testing
