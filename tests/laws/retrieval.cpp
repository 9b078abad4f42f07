#include "incontext/laws/retrieval.hpp"

#include <cmath>

#include "incontext/laws/gaussian_row.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// The score SSMax retrieves with weight 1/2 from n normal competitors, exactly.
double exact_score(double n, double scale, double variance) {
  const double beta = scale * std::log(n);
  return retrieval_gap(n, beta * std::sqrt(variance)) / beta;
}

}  // namespace

TEST_CASE("the exact weight is one half at the retrieval exponent", "[laws]") {
  for (const double n : {1.0, 50.0, 1e6, 1e12}) {
    for (const double x : {0.0, 0.4, 3.0, 25.0}) {
      for (const double weight : {0.1, 0.5, 0.99}) {
        const double exponent = retrieval_gap(n, x, weight);
        CHECK(std::abs(needle_weight(n, x, exponent).value - weight) < 1e-9);
      }
      CHECK(retrieval_gap(n, x) <= std::log(n) + x * x / 2 + 1e-6);
    }
    CHECK(std::abs(retrieval_gap(n, 0.0) - std::log(n)) < 1e-9);
  }
  // by symmetry one noise score is matched by its mean
  CHECK(std::abs(retrieval_gap(1.0, 5.0)) < 1e-9);
}

TEST_CASE("SSMax retrieves from normal competitors just below the boundary, and 1/s is not its threshold", "[laws]") {
  for (const double n : {1e2, 1e3, 1e4, 1e6, 1e9}) {
    const double exact = exact_score(n, 0.43, 1.0), boundary = ssmax_gaussian_threshold(n, 0.43, 1.0);
    const double noise = 0.43 * 0.43 * std::log(n);
    INFO("n " << n << ": " << exact << ", boundary " << boundary);
    CHECK(exact < boundary);
    CHECK(exact > boundary * (noise < 2 ? 0.94 : 0.86));
    CHECK_FALSE(std::abs(exact - 1 / 0.43) < 0.25 * exact);
    // E log Z / beta is what the score must reach, to 1%
    const double beta = 0.43 * std::log(n);
    CHECK(relative(gaussian_row(n, beta).log_partition / beta, exact) < 0.012);
  }
  // equal competitors: 1/s after all
  CHECK(std::abs(exact_score(1e6, 0.43, 0.0) - 1 / 0.43) < 1e-9);
}

TEST_CASE("the boundary is continuous with its slope and maximal length is attained at m / v", "[laws]") {
  const double h = 1e-6;
  CHECK(retrieval_boundary(2.0) == 2);
  CHECK(std::abs((retrieval_boundary(2 + h) - retrieval_boundary(2 - h)) / (2 * h) - 0.5) < 1e-6);
  CHECK(retrieval_boundary(0.0) == 1);
  CHECK(std::abs(ssmax_freezing_count(0.43, 1.0) / std::exp(2 / 0.1849) - 1) < 1e-14);
  for (const double m : {2.0, 4.0}) {
    const double longest = longest_retrievable_count(m, 1.0);
    for (const double factor : {0.5, 0.9, 1.0, 1.1, 2.0}) {
      // at beta = factor m / v this score is retrieved from rows of length e^(s-independent bound) at most
      const double count = longest * (factor == 1 ? 1 - 1e-9 : 1), beta = factor * m;
      const double threshold = ssmax_gaussian_threshold(count, beta / std::log(count), 1.0);
      CHECK(threshold >= m * (1 - 1e-9));
      if (factor == 1) CHECK(threshold <= m * (1 + 1e-6));
      if (factor < 1) CHECK(threshold > m * 1.001);
    }
  }
}

TEST_CASE("NormSoftmax retrieves a needle from the stated height", "[laws][statistics]") {
  for (const std::size_t n : {100u, 1000u}) {
    const double height = normsoftmax_needle_height(static_cast<double>(n));
    Random random(487);
    SampleMean at, below, above;
    for (int trial = 0; trial < 400; ++trial) {
      auto z = random.normals(n);
      const auto weight = [&](double factor) {
        z[0] = factor * height;
        return weights_of(scoring::NormSoftmax<double>{1e9}, z)[0];
      };
      at.add(weight(1));
      below.add(weight(0.7));
      above.add(weight(1.4));
    }
    INFO("n " << n << ": " << below.mean() << " " << at.mean() << " " << above.mean());
    CHECK(std::abs(at.mean() - 0.5) < 0.05);
    CHECK(below.mean() < 0.25);
    CHECK(above.mean() > 0.75);
  }
  CHECK(std::abs(normsoftmax_needle_height(1e15) - std::log(1e15) - 0.5) < 1e-10);
  CHECK(refuses([] { normsoftmax_needle_height(0.5); }, {"normsoftmax_needle_height", "row_length", "0.5"}));
}

TEST_CASE("retrieval refuses what is no row", "[laws]") {
  CHECK(refuses([] { retrieval_boundary(-1.0); }, {"noise", "-1"}));
  CHECK(refuses([] { ssmax_gaussian_threshold(0.5, 0.4, 1.0); }, {"row_length", "0.5"}));
  CHECK(refuses([] { ssmax_gaussian_threshold(5.0, -0.4, 1.0); }, {"scale", "-0.4"}));
  CHECK(refuses([] { ssmax_gaussian_threshold(5.0, 0.4, -1.0); }, {"variance", "-1"}));
  CHECK(refuses([] { ssmax_freezing_count(0.4, 0.0); }, {"variance", "value = 0"}));
  CHECK(refuses([] { longest_retrievable_count(-2.0, 1.0); }, {"score", "-2"}));
  CHECK(refuses([] { retrieval_gap(5.0, 1.0, 1.0); }, {"weight"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { retrieval_boundary(x); }, {"noise"}));
    CHECK(refuses([x] { ssmax_gaussian_threshold(x, 0.4, 1.0); }, {"row_length"}));
    CHECK(refuses([x] { ssmax_freezing_count(x, 1.0); }, {"scale"}));
    CHECK(refuses([x] { longest_retrievable_count(x, 1.0); }, {"score"}));
    CHECK(refuses([x] { retrieval_gap(x, 1.0); }, {"noise_count"}));
  }
}

TEST_CASE("the threshold of SSMax among normal scores needs more than one of them", "[laws]") {
  CHECK(refuses([] { ssmax_gaussian_threshold(1, 0.5, 1.0); },
                {"ssmax_gaussian_threshold", "row_length", "more than 1"}));
  CHECK(refuses([] { ssmax_gaussian_threshold(0.5, 0.5, 1.0); }, {"row_length", "0.5"}));
  CHECK(std::abs(ssmax_gaussian_threshold(1 + 1e-12, 0.5, 1.0) - 2) < 1e-11);  // its limit, 1 / s
}

}  // namespace incontext::testing
