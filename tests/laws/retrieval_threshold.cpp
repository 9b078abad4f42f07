#include "incontext/laws/retrieval_threshold.hpp"

#include <cmath>

#include "incontext/laws/fading_thresholds.hpp"
#include "incontext/laws/retrieval.hpp"
#include "laws/refusal.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace laws;

TEST_CASE("thresholds of general laws agree with those of normal, uniform and two-valued competitors", "[laws]") {
  for (const double n : {1e2, 1e5, 1e9}) {
    for (const double s : {0.2, 0.43, 1.5}) {
      const double beta = s * std::log(n);
      const auto normal = retrieval_threshold(NormalLaw<double>{0.7}, n, beta);
      CHECK(relative(normal.score, ssmax_gaussian_threshold(n, s, 0.7)) < 1e-12);
      CHECK(relative(normal.critical, std::sqrt(2 * std::log(n) / 0.7)) < 1e-12);
      const auto uniform = retrieval_threshold(UniformLaw<double>{-1, 1}, n, beta);
      if (beta < uniform.critical && beta > 4) {
        CHECK(std::abs(uniform.score - ssmax_bounded_threshold(n, s, BoundedScores<double>{1}) + std::log(2.0) / beta) <
              0.01);
      }
      const TwoValueLaw<double> coin{0, 1, 0.5};
      const auto two = retrieval_threshold(coin, n, beta);
      CHECK(two.critical > 1e9);  // finitely many values never freeze
      CHECK(std::abs(two.score - 1 - 1 / s + std::log(2.0) / beta) < std::exp(-beta));
    }
  }
  // deep in the frozen phase the threshold is the largest typical score, whatever the temperature
  const auto cold = retrieval_threshold(UniformLaw<double>{0, 1}, 100.0, 1e4);
  CHECK(cold.critical < 1e4);
  CHECK(relative(cold.score, retrieval_threshold(UniformLaw<double>{0, 1}, 100.0, 1e5).score) < 1e-12);
  CHECK(relative(retrieval_threshold(NormalLaw<double>{1}, 1e4, 50.0).score, std::sqrt(2 * std::log(1e4))) < 1e-12);
}

TEST_CASE("cumulants of score laws are logarithms of means, with their slopes", "[laws]") {
  const double h = 1e-5;
  for (const double beta : {0.3, 2.0, 9.0}) {
    const UniformLaw<double> uniform{-0.5, 2};
    const TwoValueLaw<double> two{-1, 1.5, 0.2};
    const NormalLaw<double> normal{0.6};
    double mean = 0;
    constexpr int cells = 100000;
    for (int i = 0; i < cells; ++i) mean += std::exp(beta * (-0.5 + 2.5 * (i + 0.5) / cells)) / cells;
    CHECK(std::abs(uniform.cumulants(beta) - std::log(mean)) < 1e-7);
    CHECK(std::abs(two.cumulants(beta) - std::log(0.2 * std::exp(1.5 * beta) + 0.8 * std::exp(-beta))) < 1e-13);
    CHECK(std::abs(normal.cumulants(beta) - 0.3 * beta * beta) < 1e-13);
    const auto check_slope = [&](const auto& law) {
      const double difference = (law.cumulants(beta + h) - law.cumulants(beta - h)) / (2 * h);
      CHECK(std::abs(law.slope(beta) - difference) < 1e-8);
    };
    check_slope(uniform);
    check_slope(two);
    check_slope(normal);
  }
}

TEST_CASE("uniform scores whose width is a rounding of their size keep the digits of their cumulant", "[laws]") {
  const UniformLaw<double> narrow{1, 1 + 0x1p-30};  // Lambda(1) = 1 + w/2 + w^2/24
  CHECK(relative(narrow.cumulants(1.0), 1.000000000465661287343879) < 1e-15);
  CHECK(relative(retrieval_threshold(narrow, 100.0, 1.0).score, 5.605170186453752655379862) < 1e-12);
}

TEST_CASE("thresholds of general laws refuse what is no row", "[laws]") {
  const NormalLaw<double> law{1};
  CHECK(refuses([&] { retrieval_threshold(law, 1.0, 1.0); }, {"retrieval_threshold", "row_length", "value = 1"}));
  CHECK(refuses([&] { retrieval_threshold(law, 9.0, 0.0); }, {"inverse_temperature", "value = 0"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([&] { retrieval_threshold(law, x, 1.0); }, {"row_length"}));
    CHECK(refuses([&] { retrieval_threshold(law, 9.0, x); }, {"inverse_temperature"}));
  }
}

namespace {

/// Scores of an exponential law below an upper edge 1, with the members that ScoreLaw requires and no others; variant 0
/// lacks cumulants, 1 lacks slope, 2 returns another type.
template <int absent>
struct BelowOne {
  explicit BelowOne(double rate) : rate_(rate) {}
  double cumulants(const double& beta) const
    requires(absent != 0)
  {
    return beta - std::log1p(beta / rate_);
  }
  double slope(const double& beta) const
    requires(absent != 1 && absent != 2)
  {
    return 1 - 1 / (rate_ + beta);
  }
  float slope(const double& beta) const
    requires(absent == 2)
  {
    return static_cast<float>(1 - 1 / (rate_ + beta));
  }

 private:
  const double rate_;
};

}  // namespace

TEST_CASE("ScoreLaw requires cumulants and slope in the scalar, and a law with no other member is accepted", "[laws]") {
  STATIC_REQUIRE(ScoreLaw<BelowOne<-1>, double>);
  STATIC_REQUIRE_FALSE(ScoreLaw<BelowOne<-1>, float>);
  STATIC_REQUIRE_FALSE(ScoreLaw<BelowOne<-1>, int>);
  STATIC_REQUIRE_FALSE(ScoreLaw<BelowOne<0>, double>);
  STATIC_REQUIRE_FALSE(ScoreLaw<BelowOne<1>, double>);
  STATIC_REQUIRE_FALSE(ScoreLaw<BelowOne<2>, double>);
  STATIC_REQUIRE_FALSE(ScoreLaw<double, double>);
  // n e^Lambda = n e^beta / (1 + beta / r) below the critical beta, where beta slope - Lambda reaches log n
  const auto found = retrieval_threshold(BelowOne<-1>(2.0), 1000, 5.0);
  CHECK(std::abs(found.score - (std::log(1000.0) + 5 - std::log(3.5)) / 5) < 1e-13);
  const double spent =
      found.critical * (1 - 1 / (2 + found.critical)) - found.critical + std::log1p(found.critical / 2);
  CHECK(std::abs(spent - std::log(1000.0)) < 1e-12);
}

}  // namespace incontext::testing
