#include "incontext/laws/uniform_needle.hpp"

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <tuple>
#include <utility>

#include "incontext/laws/fading_grid.hpp"
#include "incontext/laws/fading_thresholds.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// E f(u), u uniform on (0, 1): Gauss and Legendre's rule on 12 panels.
template <class Function>
double uniform_mean(const Function& f) {
  double sum = 0;
  for (int i = 0; i < 12; ++i)
    sum += boost::math::quadrature::gauss<double, 15>::integrate(f, i / 12.0, (i + 1) / 12.0);
  return sum;
}

/// Weight of the needle and of the noise beside N = 1 or 2 uniform scores, by integrals over the scores themselves.
std::pair<double, double> by_definition(int count, double span, double gap) {
  const auto mean = [&](const auto& share) {
    return uniform_mean([&](double u) {
      const double first = std::exp(span * u - gap);
      if (count == 1) return share(first);
      return uniform_mean([&](double v) { return share(first + std::exp(span * v - gap)); });
    });
  };
  return {mean([](double z) { return 1 / (1 + z); }), mean([](double z) { return z / (1 + z); })};
}

}  // namespace

TEST_CASE("a needle beside one or two uniform scores is an integral over them", "[laws]") {
  for (const double span : {1e-6, 0.3, 0.6, 2.0, 12.0}) {
    for (const double share : {-0.5, 0.0, 0.4, 1.0, 1.5}) {
      const double gap = share * (span + 2);
      for (const int count : {1, 2}) {
        const auto [needle, noise] = by_definition(count, span, gap);
        INFO("N " << count << ", span " << span << ", exponent " << gap);
        CHECK(relative(uniform_needle_weight(double(count), span, gap).value, needle) < 1e-11);
        CHECK(relative(uniform_noise_weight(double(count), span, gap).value, noise) < 1e-11);
        CHECK_FALSE(relative(uniform_needle_weight(double(count), span, gap + 1e-4).value, needle) < 1e-11);
        CHECK_FALSE(relative(uniform_noise_weight(double(count), span, gap + 1e-4).value, noise) < 1e-11);
      }
    }
  }
}

TEST_CASE("a needle among uniform scores agrees with sampled rows", "[laws][statistics]") {
  // |z| <= 5 in 4 comparisons fails a true law once in 400 thousand tests
  for (const auto& [n, span, gap] :
       {std::tuple{5, 3.0, 2.0}, std::tuple{40, 0.4, 3.5}, std::tuple{100, 8.0, 10.0}, std::tuple{3, 60.0, 45.0}}) {
    Random random(577);
    SampleMean mean;
    for (int trial = 0; trial < 40000; ++trial) {
      double z = 0;
      for (int j = 0; j < n; ++j) z += std::exp(span * random.uniform() - gap);
      mean.add(1 / (1 + z));
    }
    const double exact = uniform_needle_weight(double(n), span, gap).value;
    INFO("N " << n << ", span " << span << ": " << mean.mean() << " against " << exact);
    CHECK(std::abs(mean.z(exact)) <= 5);
    CHECK_FALSE(std::abs(mean.z(uniform_needle_weight(double(n), 1.1 * span, gap).value)) <= 5);
    CHECK_FALSE(std::abs(mean.z(uniform_needle_weight(n + std::ceil(n / 8.0), span, gap).value)) <= 5);
  }
}

TEST_CASE("uniform competitors have their limits", "[laws]") {
  for (const double n : {1.0, 7.0, 1e6, 1e12}) {
    for (const double gap : {-3.0, 0.0, std::log(n), std::log(n) + 30}) {
      const double equal = 1 / (1 + n * std::exp(-gap));
      CHECK(relative(uniform_needle_weight(n, 0.0, gap).value, equal) < 1e-11);
      CHECK(relative(uniform_noise_weight(n, 0.0, gap).value, 1 / (1 + std::exp(gap) / n)) < 1e-11);
    }
    for (const double span : {0.2, 5.0, 40.0}) {
      const double annealed = n * std::expm1(span) / span;
      for (const double gap : {0.5 * span, span + std::log(n), 2 * span + 10}) {
        const auto needle = uniform_needle_weight(n, span, gap), noise = uniform_noise_weight(n, span, gap);
        INFO("N " << n << ", span " << span << ", exponent " << gap);
        CHECK(needle.value >= (1 - 1e-12) / (1 + annealed * std::exp(-gap)));  // Jensen
        CHECK(relative(needle.value + noise.value, 1) < 1e-11);
        CHECK(needle.error_estimate <= 1e-10 * needle.value);
      }
      const double strong = std::log(annealed) + 60;
      CHECK(relative(uniform_noise_weight(n, span, strong).value, annealed * std::exp(-strong)) < 1e-11);
    }
  }
  // half of all weight goes to the one competitor that is below or above
  CHECK(std::abs(uniform_retrieval_gap(1.0, 9.0) - 4.5) < 1e-9);
  CHECK(relative(uniform_needle_weight(1.0, 9.0, 2.0).value, uniform_noise_weight(1.0, 9.0, 7.0).value) < 1e-11);
}

TEST_CASE("many uniform scores fade a needle as the even grid does, and 1 + 1/s is not their threshold", "[laws]") {
  for (const double n : {1e3, 1e4, 1e6}) {
    const double s = 0.43, beta = s * std::log(n);
    const double score = uniform_retrieval_gap(n - 1, beta) / beta;
    INFO("n " << n << ": " << score << ", grid " << grid_threshold(n, beta));
    CHECK(std::abs(uniform_needle_weight(n - 1, beta, beta * score).value - 0.5) < 1e-9);
    CHECK(std::abs(score - grid_threshold(n, beta)) < 5 / n);
    CHECK(std::abs(score - ssmax_bounded_threshold(n, s, BoundedScores<double>{1})) < 0.05);
    CHECK(score < 1 + ssmax_critical_gap(s) - 0.3);
    CHECK(uniform_needle_weight(n - 1, beta, beta * (1 + ssmax_critical_gap(s))).value > 0.7);
  }
}

TEST_CASE("uniform competitors keep their digits in every scalar", "[laws]") {
  for (const double n : {1.0, 50.0, 1e6}) {
    for (const double span : {1e-9, 0.4, 0.6, 7.0, 300.0}) {
      for (const double share : {0.0, 0.7, 1.1}) {
        const double gap = share * (span + std::log(n) + 1);
        using L = long double;
        const double needle = static_cast<double>(uniform_needle_weight(L(n), L(span), L(gap)).value);
        const double noise = static_cast<double>(uniform_noise_weight(L(n), L(span), L(gap)).value);
        INFO("N " << n << ", span " << span << ", exponent " << gap);
        CHECK(relative(uniform_needle_weight(n, span, gap).value, needle) < 1e-11);
        CHECK(relative(uniform_noise_weight(n, span, gap).value, noise) < 1e-11);
        const auto single = uniform_needle_weight(float(n), float(span), float(gap)).value;
        CHECK(std::abs(static_cast<double>(single) - needle) < 1e-4);
      }
    }
  }
}

TEST_CASE("uniform competitors refuse what is no row", "[laws]") {
  CHECK(refuses([] { uniform_needle_weight(0.0, 1.0, 1.0); }, {"uniform_needle_weight", "noise_count", "value = 0"}));
  CHECK(refuses([] { uniform_needle_weight(2.5, 1.0, 1.0); }, {"noise_count", "not whole", "2.5"}));
  CHECK(refuses([] { uniform_noise_weight(2.0, -1.0, 1.0); }, {"uniform_noise_weight", "span", "-1"}));
  CHECK(refuses([] { uniform_retrieval_gap(2.0, 1.0, 1.0); }, {"uniform_retrieval_gap", "weight", "1"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { uniform_needle_weight(x, 1.0, 1.0); }, {"noise_count"}));
    CHECK(refuses([x] { uniform_needle_weight(3.0, x, 1.0); }, {"span"}));
    CHECK(refuses([x] { uniform_noise_weight(3.0, 1.0, x); }, {"gap"}));
  }
}

}  // namespace incontext::testing
