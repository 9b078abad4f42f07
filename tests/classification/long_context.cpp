#include "incontext/classification/long_context.hpp"

#include <cmath>

#include "incontext/classification/inverse_partition_function.hpp"
#include "incontext/classification/largest_weight.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("expansions about a long context close in on the exact law by one order more than they keep",
          "[classification]") {
  for (const int d : {2, 3, 10}) {
    for (const double kappa : {0.5, 3.0}) {
      const double v = partition_function_excess(d, kappa);
      for (const double small : {1e-2, 1e-3}) {
        const auto n = static_cast<std::int64_t>(v / small) + 10;
        const double x = v / static_cast<double>(n), y = 1 / static_cast<double>(n);
        const auto exact = inverse_partition_function(d, kappa, n, QueryToken::excluded);
        const auto close = long_context(d, kappa, n);
        INFO("d = " << d << ", kappa = " << kappa << ", n = " << n);
        CHECK(std::abs(close.mean / exact.mean - 1) <= 40 * x * x * x + 1e-12);
        CHECK(std::abs(close.variance / exact.variance - 1) <= 100 * (x + y) * (x + y));
        CHECK(std::abs(close.ipr / exact.ipr - 1) <= 60 * (x + y) * (x + y));
        // power: without the second order they are further off
        const double first = (1 + x) / (static_cast<double>(n) * std::exp(log_kernel_mean(d, kappa) - kappa));
        if (small > 5e-3 && x > 2e-3) CHECK(std::abs(first / exact.mean - 1) > std::abs(close.mean / exact.mean - 1));
      }
    }
  }
}

TEST_CASE("the largest weight of a long context is close to the exact one", "[classification]") {
  for (const int d : {3, 5}) {
    const double exact = expected_largest_weight(d, 4.0, 100'000, QueryToken::excluded);
    CHECK(std::abs(long_context(d, 4.0, 100'000).largest_weight / exact - 1) <= 0.01);
    CHECK(std::abs(long_context(d + 1, 4.0, 100'000).largest_weight / exact - 1) > 0.1);
  }
  // where the leading order is beyond every number, and 1/mu too
  CHECK(std::isinf(long_context(1'000'000'000, 1e4, 10).mean));
  CHECK(long_context(1'000'000'000, 1e4, 10).largest_weight == 1);
}

TEST_CASE("a long context without a kernel weighs all points alike, and bad input is refused", "[classification]") {
  const auto flat = long_context(3, 0.0, 50);
  CHECK(std::abs(flat.mean - 0.02) <= 1e-16);
  CHECK(flat.variance == 0);
  CHECK(std::abs(flat.ipr - 0.02) <= 1e-16);
  CHECK(std::abs(flat.largest_weight - 0.02) <= 1e-16);
  CHECK(names(message_of([] { long_context(1, 1.0, 5); }), "dimension", "value = 1"));
  CHECK(names(message_of([] { long_context(3, -1.0, 5); }), "kappa", "value = -1"));
  CHECK(names(message_of([] { long_context(3, 1.0, 0); }), "context_length", "value = 0"));
}

}  // namespace incontext::testing
