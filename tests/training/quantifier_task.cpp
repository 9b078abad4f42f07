#include "incontext/training/quantifier_task.hpp"

#include <cmath>
#include <stdexcept>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace training;

TEST_CASE("chances of the quantifier task are counts over all patterns of signs", "[training]") {
  for (int length = 1; length <= 12; ++length) {
    double every = 0, some = 0, last = 0, largest = 0, prefixes = 0, sequences = 0;
    const int patterns = 1 << length;
    for (int pattern = 0; pattern < patterns; ++pattern) {  // bit i: x_(i+1) is positive
      const bool all = pattern == patterns - 1, any = pattern != 0, last_positive = (pattern >> (length - 1)) & 1;
      every += all;
      some += any;
      last += last_positive != all;
      largest += any != all;
      bool wrong = false;
      for (int i = 1; i <= length; ++i) {
        const bool prefix_all = (pattern & ((1 << i) - 1)) == (1 << i) - 1;
        prefixes += prefix_all / static_cast<double>(length);
        wrong = wrong || (i >= 4 && prefix_all);
      }
      sequences += wrong;
    }
    const auto task = quantifier_task(length);
    CHECK(std::abs(task.every - every / patterns) < 1e-15);
    CHECK(std::abs(task.some - some / patterns) < 1e-15);
    CHECK(std::abs(task.last_sign_error - last / patterns) < 1e-15);
    CHECK(std::abs(task.largest_sign_error - largest / patterns) < 1e-15);
    CHECK(std::abs(task.constant_false_mean_error - prefixes / patterns) < 1e-14);
    CHECK(task.constant_false_sequence_error == sequences / patterns);
    // the sign of the last input is no answer
    if (length > 1) CHECK_FALSE(task.last_sign_error < 0.1);
  }
  CHECK(quantifier_task(5000).every == 0);
  CHECK(quantifier_task(1'000'000'000'000).constant_false_mean_error == 1e-12);
  CHECK(quantifier_task<float>(3).every == 0.125f);
}

TEST_CASE("the quantifier task refuses an empty prompt", "[training]") {
  CHECK_THROWS_AS(quantifier_task(0), std::invalid_argument);
  CHECK(names(message_of([] { quantifier_task(-3); }), "quantifier_task", "length", "-3"));
}

}  // namespace incontext::testing
