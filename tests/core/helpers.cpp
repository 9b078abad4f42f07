// The helpers that the tests of all rooms share.

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

namespace helpers_test {

using namespace incontext::testing;

namespace {

template <class Value>
std::string printed(const Value& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

TEST_CASE("the worst error is printed with the case that had it, and a NaN stays") {
  Worst worst;
  CHECK(worst <= 0);
  worst.add(1.5, "d ", 3, ", n ", 7);
  worst.add(0.5, "another");
  CHECK(worst == 1.5);
  CHECK(printed(worst) == "1.5 at d 3, n 7");
  worst.add(std::numeric_limits<double>::quiet_NaN(), "the NaN");
  worst.add(9, "after it");
  CHECK_FALSE(worst <= 100);
  CHECK_FALSE(worst > 0);
  CHECK(printed(worst) == "nan at the NaN");
}

TEST_CASE("a refusal counts only by its type, and with all that its message should name") {
  const auto refuse = [] { throw std::domain_error("count is 3"); };
  CHECK(refuses(refuse, {"count", "3"}));
  CHECK_FALSE(refuses(refuse, {"count", "4"}));
  CHECK(printed(refuses(refuse, {"count", "4"})) == "'4' is not in: count is 3");
  CHECK_FALSE(refuses([] {}, {}));
  CHECK(printed(refuses([] {}, {})) == "nothing was refused");
  CHECK(refuses<std::logic_error>(refuse, {}));
  CHECK_THROWS_AS(refuses<std::invalid_argument>(refuse, {}), std::domain_error);
  CHECK(names(message_of(refuse), "count"));
  CHECK_FALSE(names("", "count"));
}

TEST_CASE("a sample has its mean, variance and z") {
  SampleMean mean;
  for (const double x : {1.0, 2.0, 4.0, 5.0}) mean.add(x);
  CHECK(mean.mean() == 3);
  CHECK(std::abs(mean.variance() - 10.0 / 3) < 1e-15);
  CHECK(std::abs(mean.z(2) - 1 / std::sqrt(10.0 / 12)) < 1e-15);
}

}  // namespace helpers_test
