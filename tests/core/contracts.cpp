#include "incontext/core/contracts.hpp"

#include <Eigen/Core>
#include <boost/math/differentiation/autodiff.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unsupported/Eigen/AutoDiff>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace contracts_test {

using namespace incontext;
using testing::message_of;

namespace {

/// The text between "value = " and "; needs".
template <class Value>
std::string value_in_message(const Value& value) {
  const std::string text = message_of<std::domain_error>([&] { throw_domain_error("f", "x", value, "y"); });
  const std::string before = "incontext::f: x (value = ", after = "; needs y)";
  if (text.substr(0, before.size()) != before || text.size() < before.size() + after.size())
    return "no message: " + text;
  return text.substr(before.size(), text.size() - before.size() - after.size());
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("a refusal names the function, the problem, the value and what is needed") {
  CHECK(message_of<std::domain_error>([] { throw_domain_error("f", "x is bad", 2.5, "x < 1"); }) ==
        "incontext::f: x is bad (value = 2.5; needs x < 1)");
  CHECK(message_of<std::invalid_argument>([] { throw_invalid_argument("g", "n is bad", 3, "an even n"); }) ==
        "incontext::g: n is bad (value = 3; needs an even n)");
  CHECK(message_of<std::invalid_argument>([] { throw_invalid_argument("g", "name", std::string("abc"), "def"); }) ==
        "incontext::g: name (value = abc; needs def)");
}

TEST_CASE("the value in a message can be read back to the same number") {
  const double third = 1.0 / 3.0;
  CHECK(std::stod(value_in_message(third)) == third);
  CHECK(std::stof(value_in_message(1.0f / 3.0f)) == 1.0f / 3.0f);
  CHECK(std::stold(value_in_message(1.0L / 3.0L)) == 1.0L / 3.0L);
  const boost::multiprecision::cpp_bin_float_50 precise = boost::multiprecision::cpp_bin_float_50(1) / 3;
  CHECK(boost::multiprecision::cpp_bin_float_50(value_in_message(precise)) == precise);
}

TEST_CASE("a message shows numbers of every kind") {
  CHECK(value_in_message(-1e300) == "-1.0000000000000001e+300");
  CHECK(value_in_message(0.25f) == "0.25");
  CHECK(value_in_message(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(value_in_message(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(value_in_message(-infinity) == "-inf");
  CHECK(value_in_message("included") == "included");
  CHECK(value_in_message(std::string_view("excluded")) == "excluded");
  CHECK(value_in_message(Eigen::AutoDiffScalar<Eigen::Vector2d>(0.5, 2, 0)) == "0.5");
  CHECK(value_in_message(boost::math::differentiation::make_fvar<double, 2>(0.75)) == "0.75");
}

TEMPLATE_TEST_CASE("require_positive refuses zero, negatives, infinities and NaN", "", float, double, long double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  CHECK_NOTHROW(require_positive("f", "x", T(1)));
  CHECK_NOTHROW(require_positive("f", "x", (Limits::min)()));
  CHECK_NOTHROW(require_positive("f", "x", Limits::denorm_min()));
  CHECK_NOTHROW(require_positive("f", "x", (Limits::max)()));
  for (const T value : {T(0), -T(0), -T(1), -Limits::denorm_min(), Limits::infinity(), -Limits::infinity(),
                        Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    CHECK_THROWS_AS(require_positive("f", "x", value), std::domain_error);
  }
}

TEMPLATE_TEST_CASE("require_non_negative takes zero of both signs and refuses the rest", "", float, double,
                   long double) {
  using T = TestType;
  using Limits = std::numeric_limits<T>;
  for (const T value : {T(0), -T(0), Limits::denorm_min(), T(1), (Limits::max)()}) {
    CHECK_NOTHROW(require_non_negative("f", "x", value));
  }
  for (const T value : {-T(1), -Limits::denorm_min(), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    CHECK_THROWS_AS(require_non_negative("f", "x", value), std::domain_error);
  }
}

TEST_CASE("a number in a sentence has the digits that are asked for") {
  CHECK(short_text(0.123456, 2) == "0.12");
  CHECK(short_text(1234567, 3) == "1.23e+06");
  CHECK(short_text(infinity, 4) == "inf");
}

TEST_CASE("the contracts name their parameter") {
  CHECK(message_of<std::domain_error>([] { require_positive("f", "noise_variance", -1.0); }) ==
        "incontext::f: noise_variance is not positive and finite (value = -1; needs 0 < value < infinity)");
  CHECK(message_of<std::domain_error>([] {
          require_positive("f", "temperature", not_a_number);
        }).find("value = nan;") != std::string::npos);
  CHECK(message_of<std::domain_error>([] { require_non_negative("f", "noise_variance", infinity); }) ==
        "incontext::f: noise_variance is negative or not finite (value = inf; needs 0 <= value < infinity)");
  CHECK(message_of<std::invalid_argument>([] { require_at_least("f", "context_length", 0, 1); }) ==
        "incontext::f: context_length is too small (value = 0; needs at least 1)");
  CHECK(message_of<std::invalid_argument>([] { require_same_size("f", "labels", 3, 4); }) ==
        "incontext::f: labels has the wrong size (value = 3; needs 4)");
}

TEMPLATE_TEST_CASE("sizes are checked at their boundary", "", int, long, unsigned, std::size_t) {
  using T = TestType;
  CHECK_NOTHROW(require_at_least("f", "n", T(2), T(2)));
  CHECK_NOTHROW(require_at_least("f", "n", T(3), T(2)));
  CHECK_THROWS_AS(require_at_least("f", "n", T(1), T(2)), std::invalid_argument);
  CHECK_NOTHROW(require_same_size("f", "n", T(2), T(2)));
  CHECK_THROWS_AS(require_same_size("f", "n", T(1), T(2)), std::invalid_argument);
  CHECK_THROWS_AS(require_same_size("f", "n", T(3), T(2)), std::invalid_argument);
}

}  // namespace contracts_test
