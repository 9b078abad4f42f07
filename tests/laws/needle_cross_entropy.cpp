#include "incontext/laws/needle_cross_entropy.hpp"

#include <cmath>
#include <utility>

#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace needle_cross_entropy_test {

using namespace incontext;
using namespace incontext::laws;
using namespace incontext::testing;

namespace {

using Needle = NormalNeedle<double>;

constexpr double coarse = 1.0 / 32;

}  // namespace

TEST_CASE("one competitor: direct integrals over both scores", "[laws]") {
  for (const double beta : {0.0, 0.4, 2.0, 7.0}) {
    for (const auto& [mean, stddev] : {std::pair{0.5, 0.0}, std::pair{1.5, 0.5}, std::pair{-1.0, 2.0}}) {
      CAPTURE(beta, mean, stddev);
      const Needle needle{mean, stddev};
      const auto loss = [&, m = mean, s = stddev](double z, double g) {
        return std::log1p(std::exp(beta * (z - m - s * g)));
      };
      const double normal = normal_mean(
          [&](double g) { return normal_mean([&](double h) { return loss(1.3 * h, g); }, coarse); }, coarse);
      CHECK(relative(needle_cross_entropy(NormalLaw<double>{1.69}, 1, needle, beta).value, normal) < 1e-10);
      const double uniform = normal_mean(
          [&](double g) {
            double sum = 0;  // Simpson's rule over [-1, 2]
            for (int i = 0; i <= 200; ++i) {
              sum += (i == 0 || i == 200 ? 1 : (i % 2 == 1 ? 4 : 2)) * loss(-1 + 3.0 * i / 200, g);
            }
            return sum / 600;
          },
          coarse);
      CHECK(relative(needle_cross_entropy(UniformLaw<double>{-1, 2}, 1, needle, beta).value, uniform) < 1e-7);
    }
  }
}

TEST_CASE("competitors of two values: the binomial law of the upper ones", "[laws]") {
  const double p = 0.3;
  for (const int n : {4, 12}) {
    for (const double beta : {0.5, 3.0, 20.0}) {
      const TwoValueLaw<double> law{-0.5, 1, p};
      double exact = 0, chance = std::pow(1 - p, n);
      for (int k = 0; k <= n; ++k) {
        exact += chance * normal_mean([&](double g) {
                   const double z = 1.2 + 0.4 * g;
                   return std::log1p(k * std::exp(beta * (1 - z)) + (n - k) * std::exp(beta * (-0.5 - z)));
                 });
        chance *= p / (1 - p) * (n - k) / (k + 1);
      }
      CAPTURE(n, beta);
      CHECK(relative(needle_cross_entropy(law, n, Needle{1.2, 0.4}, beta).value, exact) < 1e-9);
    }
  }
}

TEST_CASE("cross entropies agree with sampled rows, near misses do not", "[laws][statistics]") {
  // |z| <= 5 in 4 comparisons fails a true law once in 400 thousand tests
  for (const auto& [n, beta] : {std::pair{20, 1.5}, std::pair{60, 3.0}}) {
    const Needle needle{2, 0.7};
    const NormalLaw<double> law{1};
    Random random(77);
    SampleMean loss, paired;
    for (int trial = 0; trial < 40000; ++trial) {
      const auto row = random.normals(static_cast<std::size_t>(n));
      const double z = 2 + 0.7 * random.normal();
      double sum = 1, other = 1;
      for (const double g : row) sum += std::exp(beta * (g - z)), other += std::exp(1.5 * beta * (g - z));
      loss.add(std::log(sum));
      paired.add(std::log(other) - std::log(sum));
    }
    const double exact = needle_cross_entropy(law, n, needle, beta).value;
    CHECK(std::abs(loss.z(exact)) <= 5);
    CHECK(std::abs(paired.z(needle_cross_entropy(law, n, needle, 1.5 * beta).value - exact)) <= 5);
    CHECK_FALSE(std::abs(loss.z(needle_cross_entropy(law, 1.2 * n, needle, beta).value)) <= 5);
    CHECK_FALSE(std::abs(loss.z(needle_cross_entropy(law, n, Needle{2, 0.6}, beta).value)) <= 5);
    // Jensen's bound: the mean of Z in the place of Z
    const double annealed = normal_mean(
        [&, n = n, beta = beta](double g) { return std::log1p(n * std::exp(beta * beta / 2 - beta * (2 + 0.7 * g))); });
    CHECK_FALSE(std::abs(loss.z(annealed)) <= 5);
  }
}

TEST_CASE("softmax is Bayes' posterior among normal scores of one variance: m / v at every length", "[laws]") {
  for (const double n : {1.0, 7.0, 100.0, 1e4, 1e6}) {
    CAPTURE(n);
    const double found =
        optimal_needle_temperature(NormalLaw<double>{0.5}, n, Needle{1.2, std::sqrt(0.5)}).inverse_temperature;
    CHECK(relative(found, 2.4) < 1e-4);
    const double other = optimal_needle_temperature(NormalLaw<double>{0.5}, n, Needle{1.2, 0.6}).inverse_temperature;
    if (n <= 100) CHECK(relative(other, 2.4) > 1e-3);  // another variance: in the limit of long rows alone
    if (n >= 1e6) CHECK(relative(other, 2.4) < 1e-3);
  }
}

TEST_CASE("the optimum is the least of its neighborhood", "[laws]") {
  const Needle needle{1.5, 0.5};
  const UniformLaw<double> uniform{0, 1};
  const TwoValueLaw<double> two{0, 1, 0.1};
  for (const double n : {10.0, 1000.0}) {
    const auto best = optimal_needle_temperature(uniform, n, needle);
    const auto other = optimal_needle_temperature(two, n, needle);
    CHECK(best.cross_entropy == needle_cross_entropy(uniform, n, needle, best.inverse_temperature).value);
    for (const double factor : {0.99, 1.01}) {
      CHECK(best.cross_entropy < needle_cross_entropy(uniform, n, needle, best.inverse_temperature * factor).value);
      CHECK(other.cross_entropy < needle_cross_entropy(two, n, needle, other.inverse_temperature * factor).value);
    }
  }
  CHECK(optimal_needle_temperature(uniform, 9.0, Needle{0.5, 1}).inverse_temperature == 0);
  CHECK(relative(optimal_needle_temperature(uniform, 9.0, Needle{0.5, 1}).cross_entropy, std::log(10.0)) < 1e-10);
  CHECK(std::isinf(optimal_needle_temperature(uniform, 9.0, Needle{1, 0}).inverse_temperature));
  CHECK(std::isfinite(optimal_needle_temperature(uniform, 9.0, Needle{0.9, 0}).inverse_temperature));
}

TEST_CASE("a needle at most as high as the competitors' mean has its optimum at 0, a higher one beyond", "[laws]") {
  const auto best = [](const auto& law, double mean) {
    return optimal_needle_temperature(law, 1000.0, Needle{mean, 0.5}).inverse_temperature;
  };
  const UniformLaw<double> uniform{-1, 2};  // mean 0.5
  CHECK(best(uniform, 0.45) == 0);
  CHECK(best(uniform, 0.55) > 0.01);
  const TwoValueLaw<double> two{-1, 2, 0.25};  // mean -0.25
  CHECK(best(two, -0.3) == 0);
  CHECK(best(two, -0.25) == 0);
  CHECK(best(two, -0.2) > 0.01);
}

TEST_CASE("among bounded competitors the optimum grows by the slope of log n", "[laws]") {
  const Needle needle{1.5, 0.5};
  const TwoValueLaw<double> law{0, 1, 0.1};
  const double slope = bounded_log_slope(needle, 1.0), far = 1e12, further = 1e14;
  const double grown = optimal_needle_temperature(law, further, needle).inverse_temperature -
                       optimal_needle_temperature(law, far, needle).inverse_temperature;
  CHECK(relative(grown / std::log(further / far), slope) < 5e-3);
  CHECK(relative(grown / std::log(further / far), 1 / (needle.mean - 1)) > 0.2);  // one over the mean excess: no
  const double c = 1 / slope;                                                     // E[u; u < c] = 0
  CHECK(std::abs(normal_mean([&](double g) { return 0.5 + 0.5 * g < c ? 0.5 + 0.5 * g : 0; }, 1e-5)) < 1e-5);
  CHECK(relative(bounded_log_slope(Needle{3, 0.1}, 1.0), 2 / 0.01) < 0.01);
}

TEST_CASE("cross entropies of needles refuse what has no meaning", "[laws][errors]") {
  const NormalLaw<double> normal{1};
  const double nan = std::nan("");
  CHECK(refuses([&] { needle_cross_entropy(normal, 0, Needle{1, 1}, 1.0); }, {"noise_count"}));
  CHECK(refuses([&] { needle_cross_entropy(normal, 1.5, Needle{1, 1}, 1.0); }, {"noise_count"}));
  CHECK(refuses([&] { needle_cross_entropy(normal, 3, Needle{nan, 1}, 1.0); }, {"needle.mean"}));
  CHECK(refuses([&] { needle_cross_entropy(normal, 3, Needle{1, -1}, 1.0); }, {"needle.stddev"}));
  CHECK(refuses([&] { needle_cross_entropy(normal, 3, Needle{1, 1}, -1.0); }, {"inverse_temperature"}));
  CHECK(refuses([&] { needle_cross_entropy(NormalLaw<double>{-1}, 3, Needle{1, 1}, 1.0); }, {"variance"}));
  CHECK(refuses([&] { needle_cross_entropy(UniformLaw<double>{1, 0}, 3, Needle{1, 1}, 1.0); }, {"upper - lower"}));
  CHECK(refuses([&] { needle_cross_entropy(TwoValueLaw<double>{0, 1, 2}, 3, Needle{1, 1}, 1.0); }, {"probability"}));
  CHECK(refuses([&] { needle_cross_entropy(TwoValueLaw<double>{0, 1, 0.1}, 3, Needle{1, 1}, 1.0); }, {"N p >= 1"}));
  CHECK(refuses([&] { bounded_log_slope(Needle{1, 1}, 1.0); }, {"needle.mean - edge"}));
  CHECK(refuses([&] { bounded_log_slope(Needle{2, 0}, 1.0); }, {"needle.stddev"}));
  CHECK(refuses([&] { bounded_log_slope(Needle{2, 0.01}, 1.0); }, {"too far above"}));
}

}  // namespace needle_cross_entropy_test
