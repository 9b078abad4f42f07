#include "incontext/core/count.hpp"

#include <Eigen/Core>
#include <boost/math/differentiation/autodiff.hpp>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <unsupported/Eigen/AutoDiff>

#include "support/archetype_scalar.hpp"
#include "support/catch.hpp"

namespace count_test {

using namespace incontext;
using Real50 = boost::multiprecision::cpp_bin_float_50;

namespace {

template <Real T>
T twice(const Count<T>& count, const T& factor) {
  const T& n = count;
  return n * factor;
}

}  // namespace

TEST_CASE("a count is made from any integer, the scalar, or what converts to it; other arguments set the scalar") {
  const std::int64_t length = 131071;
  STATIC_REQUIRE(std::same_as<decltype(twice(length, 2.0)), double>);
  STATIC_REQUIRE(std::same_as<decltype(twice(7, 2.0f)), float>);
  STATIC_REQUIRE(std::same_as<decltype(twice(7, Real50(2))), Real50>);
  CHECK(twice(131071, 2.0) == 262142);
  CHECK(twice(length, 2.0) == 262142);
  CHECK(twice(std::size_t{131071}, 2.0) == 262142);
  CHECK(twice(std::uint8_t{200}, 2.0) == 400);
  CHECK(twice(2.5, 2.0) == 5);
  CHECK(twice(2.5f, 2.0) == 5);
  CHECK(twice(1e300, 2.0) == 2e300);
  CHECK(twice(7, 2.0f) == 14.0f);
}

TEST_CASE("a count keeps all digits of an integer that the scalar can hold") {
  const std::int64_t odd = (std::int64_t{1} << 62) + 1;
  CHECK(twice(odd, Real50(1)) == Real50(odd));
  CHECK(twice(odd, 1.0L) == static_cast<long double>(odd));
  CHECK(twice(odd, 1.0) == 0x1p62);
  CHECK(twice(std::numeric_limits<std::uint64_t>::max(), 1.0) == 0x1p64);
  const std::int64_t above_half = (std::int64_t{1} << 60) + (std::int64_t{1} << 36) + 1;  // double rounds it to a half
  CHECK(twice(above_half, 1.0f) == 0x1.000002p60f);
}

TEST_CASE("a count reads as an automatic-differentiation scalar, or as any other Real") {
  using Dual = Eigen::AutoDiffScalar<Eigen::Vector2d>;
  const Dual factor(3.0, 2, 0);
  const Dual product = twice(5, factor);
  CHECK(product.value() == 15);
  CHECK(product.derivatives() == Eigen::Vector2d(5, 0));
  CHECK(twice(factor, factor).derivatives() == Eigen::Vector2d(6, 0));
  const auto taylor = boost::math::differentiation::make_fvar<double, 2>(3.0);
  CHECK(twice(5, taylor).derivative(1) == 5);
  CHECK(as_double(twice(5, archetype::Scalar(3))) == 15);
}

TEST_CASE("bool and text are refused as counts, and a formula of integer counts alone is computed in double") {
  STATIC_REQUIRE_FALSE(std::convertible_to<bool, CountOf<double>>);
  STATIC_REQUIRE_FALSE(std::convertible_to<std::string, CountOf<double>>);
  STATIC_REQUIRE_FALSE(std::convertible_to<Real50, CountOf<double>>);  // would lose digits
  STATIC_REQUIRE(std::same_as<RealOf<int>, double>);
  STATIC_REQUIRE(std::same_as<RealOf<std::int64_t>, double>);
  STATIC_REQUIRE(std::same_as<RealOf<float>, float>);
  STATIC_REQUIRE(std::same_as<RealOf<Real50>, Real50>);
}

}  // namespace count_test
