#include "incontext/baselines/wishart_spectrum.hpp"

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>

#include "baselines/wishart.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using baselines::WishartSpectrum;

namespace {

using Size = std::pair<std::int64_t, std::int64_t>;

/// The largest relative error of the means of 1, x, x^2, x^3 and, where it exists, 1/x, all of which are known.
double moment_error(const Size& size) {
  const auto [examples, dimension] = size;
  const WishartSpectrum<double> spectrum(examples, dimension);
  const auto n = static_cast<double>(examples), d = static_cast<double>(dimension);
  const auto mean = [&](double power) { return spectrum.mean_sum([=](double x) { return std::pow(x, power); }); };
  double error = relative(mean(0), static_cast<double>(spectrum.nonzeros()));
  error = std::max(error, relative(mean(1), n * d));
  error = std::max(error, relative(mean(2), n * d * (n + d + 1)));
  error = std::max(error, relative(mean(3), n * d * (n * n + d * d + 3 * n * d + 3 * n + 3 * d + 4)));
  const double apart = std::abs(n - d);
  if (apart >= 2) error = std::max(error, relative(mean(-1), std::min(n, d) / (apart - 1)));
  return error;
}

}  // namespace

TEST_CASE("the first moments and the mean inverse are those of a Wishart matrix") {
  Worst small, large;
  for (const Size& size :
       {Size{1, 1}, {1, 5},       {5, 1},        {2, 2},          {2, 3},         {3, 3},    {3, 5},
        {4, 4},     {7, 20},      {19, 19},      {20, 20},        {20, 22},       {23, 20},  {40, 20},
        {200, 20},  {10'000, 20}, {100'000, 20}, {1'000'000, 20}, {3, 1'000'000}, {100, 100}}) {
    small.add(moment_error(size), size.first, " examples, dimension ", size.second);
  }
  CHECK(small <= 5e-15);
  for (const Size& size : {Size{369, 369}, {371, 370}, {400, 400}, {1000, 1003}, {100'000, 400}}) {
    large.add(moment_error(size), size.first, " examples, dimension ", size.second);
  }
  CHECK(large <= 1e-12);
  CHECK(large > 0.0);
}

TEST_CASE("two eigenvalues have the mean that their joint density gives") {
  // density prop. to (x y)^((a-1)/2) exp(-(x+y)/2) |x - y|, in x = u^2, y = w^2, u > w
  const auto over = [](double end, const auto& f) {  // from 0, in panels that narrow toward 0
    double sum = 0;
    for (double high = end; high > 1e-9; high /= 2) {
      sum += boost::math::quadrature::gauss<double, 30>::integrate(f, high > 2e-9 ? high / 2 : 0.0, high);
    }
    return sum;
  };
  for (const int a : {0, 1, 2, 5}) {
    for (const double pole : {0.01, 0.5, 20.0}) {
      CAPTURE(a, pole);
      const auto integral = [&](const auto& f) {
        return over(14.0, [&](double u) {
          return over(u, [&](double w) {
            const double x = u * u, y = w * w;
            return 4 * std::pow(u * w, a) * std::exp(-(x + y) / 2) * (x - y) * f(x, y);
          });
        });
      };
      const double expected = integral([=](double x, double y) { return 1 / (x + pole) + 1 / (y + pole); }) /
                              integral([](double, double) { return 1.0; });
      const WishartSpectrum<double> spectrum(2 + a, 2);
      CHECK(relative(spectrum.mean_sum([=](double x) { return 1 / (x + pole); }), expected) < 1e-12);
    }
  }
}

TEST_CASE("drawn matrices have these means, and not those of complex matrices", "[statistics]") {
  // 9 comparisons at |z| <= 5: a true law fails once in 200 thousand runs
  for (const auto& [examples, dimension] : {Size{6, 6}, Size{5, 9}, Size{16, 7}}) {
    std::mt19937_64 engine(771);
    const WishartSpectrum<double> spectrum(examples, dimension);
    SampleMean ridge, information, square;
    for (int trial = 0; trial < 20'000; ++trial) {
      const Eigen::VectorXd x = drawn_eigenvalues(examples, dimension, engine);
      ridge.add((x.array() + 0.5).inverse().sum());
      information.add(x.array().log1p().sum());
      square.add(x.squaredNorm());
    }
    CHECK(std::abs(ridge.z(spectrum.mean_sum([](double x) { return 1 / (x + 0.5); }))) <= 5);
    CHECK(std::abs(information.z(spectrum.mean_sum([](double x) { return std::log1p(x); }))) <= 5);
    CHECK(std::abs(square.z(spectrum.mean_sum([](double x) { return x * x; }))) <= 5);
    const auto n = static_cast<double>(examples), d = static_cast<double>(dimension);
    CHECK_FALSE(std::abs(square.z(n * d * (n + d))) <= 5);  // that of complex matrices of unit variance
    const WishartSpectrum<double> longer(examples + 1, dimension);
    CHECK_FALSE(std::abs(ridge.z(longer.mean_sum([](double x) { return 1 / (x + 0.5); }))) <= 5);
  }
}

TEST_CASE("no examples, no eigenvalues but zeros") {
  const WishartSpectrum<double> spectrum(0, 7);
  CHECK(spectrum.nodes().empty());
  CHECK(spectrum.nonzeros() == 0);
  CHECK(spectrum.zeros() == 7);
  CHECK(spectrum.mean_sum([](double) { return 1.0; }) == 0.0);
}

TEST_CASE("nodes rise, and weights are not negative") {
  for (const Size& size : {Size{1, 1}, {20, 20}, {21, 20}, {300, 4}}) {
    const WishartSpectrum<double> spectrum(size.first, size.second);
    for (const double x : spectrum.nodes()) CHECK(x > 0);
    for (const double w : spectrum.weights()) CHECK(w >= -1e-15);
  }
}

TEST_CASE("sizes out of range are refused by name") {
  CHECK(refuses<std::invalid_argument>([] { WishartSpectrum<double>(-1, 3); }, {"examples", "-1"}));
  CHECK(refuses<std::invalid_argument>([] { WishartSpectrum<double>(3, 0); }, {"dimension", "value = 0"}));
  CHECK(refuses<std::invalid_argument>([] { WishartSpectrum<double>(2'000'000, 3); }, {"examples", "1000000"}));
  CHECK(refuses<std::invalid_argument>([] { WishartSpectrum<double>(20'000, 20'000); }, {"min(examples, dimension)"}));
}

}  // namespace incontext::testing
