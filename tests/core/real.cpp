#include "incontext/core/real.hpp"

#include <array>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <complex>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "incontext/core/host_device.hpp"
#include "support/archetype_scalar.hpp"
#include "support/catch.hpp"

namespace real_test {

using namespace incontext;

namespace {

/// The archetype scalar without one property, which a number selects: 0 exp, 1 limits, 2 infinity, 3 NaN, 4 atan with
/// more digits.
template <int absent>
class Lacking {
 public:
  explicit Lacking(double value) : value_(value) {}
  friend Lacking operator+(Lacking a, Lacking b) { return Lacking(a.value_ + b.value_); }
  friend Lacking operator-(Lacking a, Lacking b) { return Lacking(a.value_ - b.value_); }
  friend Lacking operator*(Lacking a, Lacking b) { return Lacking(a.value_ * b.value_); }
  friend Lacking operator/(Lacking a, Lacking b) { return Lacking(a.value_ / b.value_); }
  friend Lacking operator-(Lacking a) { return Lacking(-a.value_); }
  friend bool operator<(Lacking a, Lacking b) { return a.value_ < b.value_; }
  friend bool operator<=(Lacking a, Lacking b) { return a.value_ <= b.value_; }
  friend bool operator==(Lacking a, Lacking b) { return a.value_ == b.value_; }
  friend Lacking exp(Lacking x)
    requires(absent != 0)
  {
    return x;
  }
  friend Lacking log(Lacking x) { return x; }
  friend Lacking sqrt(Lacking x) { return x; }
  friend Lacking sin(Lacking x) { return x; }
  friend Lacking cos(Lacking x) { return x; }
  friend Lacking tanh(Lacking x) { return x; }

 private:
  double value_;
};

}  // namespace

}  // namespace real_test

template <int absent>
class std::numeric_limits<real_test::Lacking<absent>> {
 public:
  static constexpr bool is_specialized = absent != 1;
  static constexpr bool has_infinity = absent != 2;
  static constexpr bool has_quiet_NaN = absent != 3;
  static constexpr int digits = absent == 4 ? 100 : 53;
};

namespace real_test {

namespace {

struct Plain {
  std::array<double, 3> values;
  int count;
};

struct WithVirtual {
  virtual ~WithVirtual() = default;
};

struct WithReference {
  int& target;
};

INCONTEXT_HD constexpr int marked(int x) { return x + 1; }

}  // namespace

TEST_CASE("Real takes scalars of every precision") {
  STATIC_REQUIRE(Real<float>);
  STATIC_REQUIRE(Real<double>);
  STATIC_REQUIRE(Real<long double>);
  STATIC_REQUIRE(Real<archetype::Scalar>);
  STATIC_REQUIRE(Real<Lacking<-1>>);
  STATIC_REQUIRE(
      Real<boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>>);
  STATIC_REQUIRE(Real<boost::multiprecision::cpp_bin_float_50>);
}

TEST_CASE("Real refuses integers, and what has no order or no arithmetic") {
  STATIC_REQUIRE_FALSE(Real<int>);
  STATIC_REQUIRE_FALSE(Real<long>);
  STATIC_REQUIRE_FALSE(Real<unsigned>);
  STATIC_REQUIRE_FALSE(Real<bool>);
  STATIC_REQUIRE_FALSE(Real<char>);
  STATIC_REQUIRE_FALSE(Real<std::complex<double>>);
  STATIC_REQUIRE_FALSE(Real<std::string>);
  STATIC_REQUIRE_FALSE(Real<double*>);
  STATIC_REQUIRE_FALSE(Real<double&>);
  STATIC_REQUIRE_FALSE(Real<const double>);
  STATIC_REQUIRE_FALSE(Real<void>);
}

TEST_CASE("Real refuses a scalar without elementary functions, or whose infinity and NaN would be answered with 0") {
  STATIC_REQUIRE_FALSE(Real<Lacking<0>>);
  STATIC_REQUIRE_FALSE(Real<Lacking<1>>);
  STATIC_REQUIRE_FALSE(Real<Lacking<2>>);
  STATIC_REQUIRE_FALSE(Real<Lacking<3>>);
  STATIC_REQUIRE_FALSE(Real<Lacking<4>>);
}

TEST_CASE("DevicePlain is what a kernel may copy bit by bit") {
  STATIC_REQUIRE(DevicePlain<double>);
  STATIC_REQUIRE(DevicePlain<Plain>);
  STATIC_REQUIRE(DevicePlain<const double*>);
  STATIC_REQUIRE_FALSE(DevicePlain<std::vector<double>>);
  STATIC_REQUIRE_FALSE(DevicePlain<std::string>);
  STATIC_REQUIRE_FALSE(DevicePlain<std::unique_ptr<int>>);
  STATIC_REQUIRE_FALSE(DevicePlain<WithVirtual>);
}

TEST_CASE("INCONTEXT_HD leaves a host function what it is") {
  STATIC_REQUIRE(marked(1) == 2);
  CHECK(marked(2) == 3);
}

}  // namespace real_test
