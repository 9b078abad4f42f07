#include "incontext/training/reasoning_task.hpp"

#include <cmath>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace training;

TEST_CASE("chances of the reasoning task are counts over all inputs", "[training]") {
  for (const int n : {1, 2, 5, 10}) {
    double inputs = 0, differ = 0, coin = 0, first = 0, second = 0, surprise = 0;
    const auto task = reasoning_task(n);
    const double chance = task.parities_differ;
    for (int a = 0; a <= n; ++a) {
      for (int b = 0; b <= n; ++b) {
        for (int c = 0; c <= n; ++c) {
          for (int d = 0; d <= n; ++d) {
            const bool by_rule = (a + b) % 2 == 1;
            const int answer = by_rule ? c : d;
            ++inputs;
            differ += by_rule;
            first += answer == c;
            second += answer == d;
            coin += (answer == c) / 2.0 + (answer == d) / 2.0;
            if (c != d) surprise -= std::log(by_rule ? chance : 1 - chance);
          }
        }
      }
    }
    CHECK(static_cast<double>(task.inputs) == inputs);
    CHECK(task.training == static_cast<std::int64_t>(std::floor(0.3 * inputs)));
    CHECK(std::abs(task.parities_differ - differ / inputs) < 1e-15);
    CHECK(std::abs(task.coin_accuracy - coin / inputs) < 1e-15);
    CHECK(std::abs(task.always_c_accuracy - first / inputs) < 1e-15);
    CHECK(std::abs(task.always_d_accuracy - second / inputs) < 1e-15);
    CHECK(std::abs(task.plateau_cross_entropy - surprise / inputs) < 1e-12);
    // an untrained coin over the answers themselves is no plateau
    CHECK_FALSE(std::abs(std::log(n + 1.0) - surprise / inputs) < 0.1);
  }
}

TEST_CASE("the reasoning task refuses what has no inputs, or too many", "[training]") {
  CHECK_THROWS_AS(reasoning_task(0), std::invalid_argument);
  CHECK(names(message_of([] { reasoning_task(-2); }), "reasoning_task", "largest_value", "-2"));
  CHECK(names(message_of([] { reasoning_task(60000); }), "largest_value", "too large", "60000"));
  CHECK(names(message_of([] { reasoning_task(55000); }), "largest_value", "too large", "55000"));
  CHECK(reasoning_task(54999).inputs == 9150625000000000000);
}

}  // namespace incontext::testing
