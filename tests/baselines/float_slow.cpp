#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <random>

#include "incontext/baselines/reference_curves.hpp"
#include "incontext/baselines/task_pool.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"

namespace incontext::testing {

using namespace baselines;

TEST_CASE("curves in float are those in double, rounded") {
  const auto coarse = reference_curves<float>({.dimension = 3, .noise_variance = 0.2F, .task_variance = 0.5F}, {2, 9});
  const auto fine = reference_curves<double>({.dimension = 3, .noise_variance = 0.2, .task_variance = 0.5}, {2, 9});
  REQUIRE(coarse.size() == fine.size());
  for (std::size_t i = 0; i < fine.size(); ++i) {
    CHECK(coarse[i].name == fine[i].name);
    if (fine[i].name == "bayes") CHECK(std::abs(static_cast<double>(coarse[i].values[1]) - fine[i].values[1]) < 2e-7);
  }
}

TEST_CASE("the errors of a pool in float are those in double, rounded") {
  std::mt19937_64 engine(25);
  std::normal_distribution<float> normal(0, std::sqrt(0.5F));
  const Eigen::MatrixXf coarse = Eigen::MatrixXf::NullaryExpr(5, 3, [&] { return normal(engine); });
  const auto single = TaskPool<float>(coarse, {0.25F, 0.5F}).errors(10);
  const auto twice = TaskPool<double>(coarse.cast<double>(), {0.25, 0.5}).errors(10);
  CHECK(relative(static_cast<double>(single.fresh), twice.fresh) < 2e-5);
}

TEST_CASE("a rule in float is that in double, rounded") {
  const WishartSpectrum<float> rounded(20, 12);
  const WishartSpectrum<double> exact(20, 12);
  const float value = rounded.mean_sum([](float x) { return 1 / (x + 0.25f); });
  CHECK(relative(static_cast<double>(value), exact.mean_sum([](double x) { return 1 / (x + 0.25); })) < 2e-6);
}

}  // namespace incontext::testing
