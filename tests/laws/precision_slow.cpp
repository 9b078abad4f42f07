#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "laws/functionals.hpp"
#include "support/catch.hpp"

/// The exact rows in double against the same templates in long double, which sum to 1e-19 with finer nodes.
namespace incontext::testing {

using namespace laws;

namespace {

double relative(double value, long double reference) {
  return std::abs(reference == 0 ? value : static_cast<double>(value / reference - 1));
}

}  // namespace

TEST_CASE("a row keeps its digits from one score to 1e15, at every temperature", "[laws]") {
  for (const double n : {2.0, 3.0, 1e3, 1e6, 1e12, 1e15}) {
    for (const double theta : {0.0, 1e-9, 1e-3, 0.3, 0.7, 1.1, 4.0, 200.0}) {
      const double x = theta * critical_score_stddev(n);
      const auto row = values(gaussian_row(n, x));
      const auto exact = values(gaussian_row(static_cast<long double>(n), static_cast<long double>(x)));
      for (std::size_t i = 0; i < functionals; ++i) {
        const double error = relative(row[i], exact[i]);
        INFO("n " << n << ", theta " << theta << ", functional " << i << ": " << row[i]);
        CHECK(error < 1e-11);
      }
    }
  }
  const auto single = gaussian_row(10.0f, 2.0f);
  CHECK(relative(static_cast<double>(single.entropy), gaussian_row(10.0, 2.0).entropy) < 1e-5);
}

TEST_CASE("weights of a needle keep their digits, at every temperature", "[laws]") {
  for (const double n : {1.0, 2.0, 1e3, 1e6, 1e12}) {
    for (const double x : {0.0, 1e-6, 0.3, 3.0, 80.0, 800.0}) {
      for (const double share : {-1.0, 0.0, 0.7, 1.0, 1.5}) {
        const double exponent = share * (std::log(n) + x * std::min(x, std::sqrt(2 * std::log(n))) + 1);
        const double needle = needle_weight(n, x, exponent).value, noise = noise_weight(n, x, exponent).value;
        if (needle < 1e-290 || noise < 1e-290) continue;
        using L = long double;
        INFO("n " << n << ", x " << x << ", beta m " << exponent << ": " << needle << " " << noise);
        CHECK(relative(needle, needle_weight(L(n), L(x), L(exponent)).value) < 1e-11);
        CHECK(relative(noise, noise_weight(L(n), L(x), L(exponent)).value) < 1e-11);
      }
    }
  }
}

TEST_CASE("the largest weight keeps its digits, at every temperature", "[laws]") {
  for (const double n : {2.0, 1e6, 9e15}) {
    for (const double x : {0.1, 2.1, 9.0}) {
      const auto exact = largest_weight(static_cast<long double>(n), static_cast<long double>(x));
      CHECK(relative(largest_weight(n, x).value, exact.value) < 2e-13);
    }
  }
}

}  // namespace incontext::testing
