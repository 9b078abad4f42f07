#include "incontext/calibration/normal_row.hpp"

#include <cmath>

#include "calibration/heads.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

using namespace incontext::calibration;
using incontext::testing::normal_head;
using incontext::testing::relative;
using incontext::testing::student_head;

namespace laws = incontext::laws;

namespace {

/// The statistics of one row of that length, as far as predictions read them.
RowStatistics row_of_length(double n) {
  RowStatistics row{};
  const double u = std::log(n) - octave_of(static_cast<std::int64_t>(n)) * std::log(2.0);
  row[RowStatistic::log_length] = u;
  row[RowStatistic::log_length_squared] = u * u;
  row[RowStatistic::log_length_cubed] = u * u * u;
  return row;
}

constexpr RowStatistic predicted[] = {RowStatistic::entropy, RowStatistic::ipr, RowStatistic::largest_weight};

double law(RowStatistic which, double n, double x) {
  if (which == RowStatistic::largest_weight) return laws::largest_weight<double>(n, x).value;
  const auto row = laws::gaussian_row<double>(n, x);
  return which == RowStatistic::entropy ? row.entropy : row.ipr;
}

}  // namespace

TEST_CASE("predictions between the nodes, and their slopes, are those of the laws", "[calibration]") {
  for (const double x : {0.2, 1.5, 4.0}) {
    const NormalRows rows(65, 128, x);
    for (const double n : {65.0, 74.0, 97.0, 128.0}) {
      for (const RowStatistic which : predicted) {
        const double value = law(which, n, x), step = 1e-3 * x;
        const auto theory = rows.predict(which, row_of_length(n));
        const double slope = (law(which, n, x + step) - law(which, n, x - step)) / (4 * x * step);
        CAPTURE(x, n, static_cast<int>(which));
        CHECK(std::abs(theory.value - value) <= theory.error + 1e-10);
        CHECK(std::abs(theory.value - value) <= 1e-4 * value);
        // the slope of the largest weight is that of one length of the octave
        const double tolerance = which == RowStatistic::largest_weight ? 0.5 : 2e-3;
        CHECK(std::abs(rows.slope(which, row_of_length(n)) - slope) <= tolerance * std::abs(slope));
      }
    }
  }
  CHECK(relative(NormalRows(8, 8, 0).predict(RowStatistic::entropy, row_of_length(8)).value, std::log(8)) < 1e-5);
}

TEST_CASE("normal rows agree with the law that has their variance, causal or not", "[calibration]") {
  for (const bool causal : {false, true}) {
    double squares = 0, twin_squares = 0;
    int count = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      const auto head = normal_head(128, 128, 1.2, 100 * seed).measured({.causal = causal});
      const LengthBucket& bucket = head.buckets.back();
      const auto compared = compare_with_normal_rows(bucket);
      for (const auto* one : {&compared.entropy, &compared.ipr, &compared.largest_weight}) {
        squares += one->z * one->z;
        ++count;
      }
      // the twin takes every row to have the longest length
      const double longest = law(RowStatistic::entropy, static_cast<double>(bucket.longest), compared.score_stddev);
      twin_squares +=
          std::pow((longest - compared.entropy.estimate.mean) / compared.entropy.estimate.standard_error, 2);
    }
    CAPTURE(causal, squares / count, twin_squares / 60);
    CHECK(squares / count > 0.5);  // Student's z^2 has mean 1.07, and the three are correlated
    CHECK(squares / count < 1.7);
    CHECK((causal ? twin_squares / 60 > 20 : twin_squares / 60 < 3));
  }
}

TEST_CASE("rows with heavy tails, or of different variances, do not", "[calibration]") {
  const auto heavy = compare_with_normal_rows(student_head(256, 256, 4, 9).measured().buckets.back());
  CHECK(heavy.entropy.excess > 6);
  auto mixed = normal_head(1024, 256, 1, 10);
  for (std::size_t i = 0; i < mixed.scores.size(); ++i) mixed.scores[i] *= (i / 256) % 2 == 0 ? 0.5 : 2;
  CHECK(compare_with_normal_rows(mixed.measured().buckets.back()).ipr.excess > 5);
}
