#include "incontext/laws/top_scores.hpp"

#include <algorithm>
#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "incontext/laws/gaussian_maximum.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

struct TopRow {
  double n, k, x;
};

double kept(const TopRow& row) { return top_scores_weight(row.n, row.k, row.x).kept; }
double lost(const TopRow& row) { return top_scores_weight(row.n, row.k, row.x).lost; }

/// The kept weight in a row without end, from arXiv 2512.07647: P(g < x - t) with P(g > t) = k / n.
double limit_of_kept(const TopRow& row) {
  const double t = std::sqrt(2.0) * boost::math::erfc_inv(2 * row.k / row.n);
  return std::erfc((t - row.x) / std::sqrt(2.0)) / 2;
}

/// The kept weight as that of one score times the probability that fewer than k others are above it. These are binomial
/// once 1 / Z is an integral over s. Sums over s and g are trapezoidal, Simpson's rule has the integral up to g.
double kept_by_counting(const TopRow& row) {
  constexpr double h = 1.0 / 128, g0 = -9.5;
  constexpr int steps = 20 * 128;
  const auto survivor = [&](double g, double s) { return std::exp(-g * g / 2 - std::exp(s + row.x * g)); };
  double total = 0;
  const double top = row.x * std::sqrt(2 * std::log(row.n));
  for (double s = -top - std::log(row.n) - 45; s < 8 * row.x + 10; s += 0.4) {
    std::vector<double> below{0};
    for (int i = 1; i <= steps; ++i) {
      const double g = g0 + h * i;
      below.push_back(below.back() + h / 6 * (survivor(g - h, s) + 4 * survivor(g - h / 2, s) + survivor(g, s)));
    }
    if (!(below.back() > 0)) break;
    double sum = 0;
    for (int i = 1; i <= steps; ++i) {
      const double g = g0 + h * i, share = below[static_cast<std::size_t>(i)] / below.back();
      const double fewer = boost::math::ibeta(row.n - row.k, row.k, std::min(share, 1.0));
      sum += survivor(g, s) * std::exp(s + row.x * g) * fewer;
    }
    total += sum * h * std::pow(below.back() / std::sqrt(2 * 3.14159265358979323846), row.n - 1);
  }
  return row.n * total * 0.4 / std::sqrt(2 * 3.14159265358979323846);
}

}  // namespace

TEST_CASE("the weight of the one largest score is the law of the largest weight", "[laws]") {
  for (const double n : {2.0, 3.0, 50.0, 4096.0, 1e7, 1e15}) {
    for (const double x : {0.01, 0.7, 2.5, 6.0, 12.0}) {
      const auto found = top_scores_weight(n, 1.0, x);
      const double exact = largest_weight(n, x).value;
      INFO("n " << n << ", x " << x << ": " << found.kept << " against " << exact);
      CHECK(relative(found.kept, exact) < 4e-13);  // twice what the header of the other law states
      CHECK(relative(found.lost, 1 - exact) < 4e-13 / (1 - exact));
      CHECK_FALSE(relative(top_scores_weight(n, 1.0, 1.0001 * x).kept, exact) < 4e-13);
    }
  }
}

TEST_CASE("the smaller of two weights keeps its digits", "[laws]") {
  for (const double x : {1e-3, 0.5, 2.0, 12.0, 30.0}) {
    // the integrand has a kink at 0, so one side alone, by Simpson's rule
    constexpr int steps = 20000;
    const double end = (std::min)(12.0, 60 / (1 + x));
    double sum = 0;
    for (int i = 0; i <= steps; ++i) {
      const double g = end * i / steps, weight = i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2);
      sum += weight * std::exp(-g * g / 2) * logistic(-x * std::sqrt(2.0) * g);
    }
    const double exact = sum * end / steps / 3 * 2 / std::sqrt(2 * 3.14159265358979323846);
    INFO("x " << x << ": " << lost({2, 1, x}) << " against " << exact);
    CHECK(relative(lost({2, 1, x}), exact) < 1e-10);
    CHECK_FALSE(relative(lost({2, 1, 0.99999 * x}), exact) < 1e-10);
  }
}

TEST_CASE("the weight of the top scores counts the scores above each", "[laws]") {
  for (const TopRow& row : {TopRow{5, 2, 1}, TopRow{50, 5, 3}, TopRow{50, 49, 2}, TopRow{1000, 32, 4}}) {
    const double exact = kept_by_counting(row);
    INFO("n " << row.n << ", k " << row.k << ": " << kept(row) << " against " << exact);
    CHECK(relative(kept(row), exact) < 1e-8);
    CHECK_FALSE(relative(kept({row.n, row.k - 1, row.x}), exact) < 1e-8);
  }
}

TEST_CASE("kept and lost weight are integrated apart and have sum 1, with the digits of long double", "[laws]") {
  Worst off, digits;
  for (const double n : {2.0, 7.0, 300.0, 4e4, 1e7, 1e12}) {
    for (const double place : {0.0, 0.2, 0.5, 0.9, 1.0}) {
      for (const double x : {1e-4, 0.4, 2.0, 5.0, 12.0}) {
        const double k = (std::min)(n - 1, std::ceil(place < 0.6 ? std::pow(n, place) : place * (n - 1)));
        const auto found = top_scores_weight(n, k, x);
        off.add(std::abs(found.kept + found.lost - 1), "n ", n, ", k ", k, ", x ", x);
        const auto exact = top_scores_weight<long double>(n, k, static_cast<long double>(x));
        digits.add(relative(found.kept, static_cast<double>(exact.kept)), "kept, n ", n, ", k ", k, ", x ", x);
        digits.add(relative(found.lost, static_cast<double>(exact.lost)), "lost, n ", n, ", k ", k, ", x ", x);
      }
    }
  }
  CHECK(off <= 1e-14);
  CHECK(digits <= 1e-13);
}

TEST_CASE("rows sampled and cut agree with the weight of the top scores, and reject its limit", "[laws][statistics]") {
  // |z| <= 5 in 3 comparisons fails a true law once in half a million tests
  for (const auto& [row, rows] :
       {std::pair{TopRow{50, 5, 1}, 20000}, std::pair{TopRow{50, 5, 3}, 20000}, std::pair{TopRow{1000, 32, 4}, 2000}}) {
    Random random(991);
    SampleMean mean;
    for (int trial = 0; trial < rows; ++trial) {
      SampledRow sampled(random.normals(static_cast<std::size_t>(row.n)), row.x);
      std::sort(sampled.weights.begin(), sampled.weights.end(), std::greater<>());
      double top = 0;
      for (int j = 0; j < row.k; ++j) top += sampled.weights[static_cast<std::size_t>(j)];
      mean.add(top);
    }
    INFO("n " << row.n << ", k " << row.k << ", x " << row.x << ": " << mean.mean() << " against " << kept(row));
    CHECK(std::abs(mean.z(kept(row))) <= 5);
    CHECK_FALSE(std::abs(mean.z(limit_of_kept(row))) <= 5);
    CHECK_FALSE(std::abs(mean.z(kept({row.n, std::ceil(1.25 * row.k), row.x}))) <= 5);
    CHECK_FALSE(std::abs(mean.z(kept({row.n, row.k, 1.03 * row.x}))) <= 5);
  }
}

TEST_CASE("more scores keep more weight, and wider ones lose less", "[laws]") {
  for (const double n : {6.0, 5000.0, 1e7}) {
    for (const double x : {0.5, 3.0, 9.0}) {
      double before = 1;
      for (double k = 1; k < n; k = std::ceil(1.9 * k)) {
        CHECK(lost({n, k, x}) < before);
        CHECK(lost({n, k, 1.1 * x}) < lost({n, k, x}));
        before = lost({n, k, x});
      }
    }
  }
}

TEST_CASE("how many scores lose 5% is more than the limit says", "[laws]") {
  struct Needed {
    double n, x, k;
  };
  // the limit, rounded up: 1480, 378788, 360, 38, 9708, 2, 416
  for (const Needed& one :
       {Needed{4096, 2, 1488}, Needed{1 << 20, 2, 378798}, Needed{4096, 3, 413}, Needed{4096, 4, 97},
        Needed{1 << 20, 4, 11042}, Needed{4096, 5, 31}, Needed{1 << 20, 5, 1082}}) {
    INFO("n " << one.n << ", x " << one.x);
    CHECK(top_scores_needed(one.n, 0.05, one.x) == one.k);
    CHECK(lost({one.n, one.k, one.x}) <= 0.05);
    CHECK(lost({one.n, one.k - 1, one.x}) > 0.05);
    CHECK(std::ceil(one.n * top_share_needed(0.05, one.x)) < one.k);
  }
  // the limit is approached: its error falls with n
  double before = 1;
  for (const double n : {1e3, 1e4, 1e5, 1e6, 1e7}) {
    const double off = top_scores_needed(n, 0.05, 2.5) / (n * top_share_needed(0.05, 2.5)) - 1;
    CHECK(0 < off);
    CHECK(off < before / 4);
    before = off;
  }
}

TEST_CASE("the limit keeps its digits", "[laws]") {
  Worst worst;
  for (const double share : {1e-12, 1e-3, 0.05, 0.5, 0.9, 0.999}) {
    for (const double x : {0.0, 0.3, 2.0, 9.0, 30.0}) {
      const long double exact = top_share_needed(static_cast<long double>(share), static_cast<long double>(x));
      const auto probit = static_cast<long double>(std::sqrt(2.0) * boost::math::erfc_inv(2 * share));
      worst.add(eps_from(top_share_needed(share, x), exact, exact * (1 + (x - probit) * (x - probit) + x * x)), "lost ",
                share, ", x ", x);
    }
  }
  CHECK(worst <= 16);
}

TEST_CASE("as many scores are needed as a count from below finds", "[laws]") {
  for (const double n : {1.0, 2.0, 9.0, 40.0}) {
    for (const double x : {0.0, 0.6, 2.0, 12.0}) {
      for (const double share : {1e-9, 0.01, 0.3, 0.9, 0.999}) {
        double k = 1;
        while (lost({n, k, x}) > share) ++k;
        INFO("n " << n << ", x " << x << ", lost " << share);
        CHECK(top_scores_needed(n, share, x) == k);
      }
    }
  }
  CHECK(top_scores_needed(100, 0.05, 0.0) == 95);
}

TEST_CASE("the top scores have their limits, up to the ends of the domain", "[laws][domain]") {
  for (const double n : {1.0, 2.0, 1e7, 1e15}) {
    CHECK(kept({n, n, 3}) == 1);
    CHECK(lost({n, n, 3}) == 0);
    CHECK(kept({n, 1, 0}) == 1 / n);
    if (n < 2) continue;
    CHECK(lost({n, n - 1, 0}) == 1 / n);
    // 1/n (1 + x E g) to first order in x, g the smallest score, which is above -9
    CHECK(relative(lost({n, n - 1, 1e-9}), 1 / n) < 1e-8);
    for (const double k : {1.0, std::floor(n / 2), n - 1}) {
      for (const double x : {1e-12, 12.0, 30.0}) {
        const auto found = top_scores_weight(n, k, x);
        INFO("n " << n << ", k " << k << ", x " << x);
        CHECK(0 < found.lost);
        CHECK(found.error_estimate < 1e-13);
      }
    }
  }
  CHECK(relative(kept({1e15, 5e14, 1}), limit_of_kept({1e15, 5e14, 1})) < 1e-12);
  CHECK(relative(top_share_needed(0.2, 0.0), 0.8) < 1e-15);
  CHECK(relative(top_share_needed(0.5, 1.0), 0.15865525393145705) < 1e-15);
}

TEST_CASE("the top scores refuse what is no row and no number of its scores", "[laws]") {
  CHECK(
      refuses([] { top_scores_weight(4.0, 5.0, 1.0); }, {"top_scores_weight", "top_count", "value = 5", "at most 4"}));
  CHECK(refuses([] { top_scores_weight(4.0, 0.0, 1.0); }, {"top_count", "value = 0"}));
  CHECK(refuses([] { top_scores_weight(4.0, 1.5, 1.0); }, {"top_count", "1.5"}));
  CHECK(refuses([] { top_scores_weight(0.0, 1.0, 1.0); }, {"row_length", "value = 0"}));
  CHECK(refuses([] { top_scores_weight(1e16, 1.0, 1.0); }, {"row_length is too large"}));
  CHECK(refuses([] { top_scores_weight(4.0, 1.0, -1.0); }, {"score_stddev", "-1"}));
  CHECK(refuses([] { top_scores_weight(4.0, 1.0, 31.0); }, {"score_stddev is too large"}));
  CHECK(refuses([] { top_scores_needed(4.5, 0.1, 1.0); }, {"top_scores_needed", "row_length", "4.5"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { top_scores_weight(x, 1.0, 1.0); }, {"row_length"}));
    CHECK(refuses([x] { top_scores_weight(4.0, x, 1.0); }, {"top_count"}));
    CHECK(refuses([x] { top_scores_weight(4.0, 1.0, x); }, {"score_stddev"}));
    CHECK(refuses([x] { top_share_needed(0.1, x); }, {"score_stddev"}));
    CHECK(refuses([x] { top_scores_needed(4.0, x, 1.0); }, {"lost"}));
  }
  for (const double none : {0.0, 1.0, -0.1}) {
    CHECK(refuses([none] { top_scores_needed(4.0, none, 1.0); }, {"top_scores_needed", "lost"}));
    CHECK(refuses([none] { top_share_needed(none, 1.0); }, {"top_share_needed", "lost"}));
  }
}

}  // namespace incontext::testing
