#include "incontext/core/real.hpp"

#include <array>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <complex>
#include <memory>
#include <string>
#include <vector>

#include "incontext/core/host_device.hpp"
#include "support/catch.hpp"

namespace real_test {

using namespace incontext;

namespace incontext::testing {

/// The least a scalar must offer: no implicit conversions, no compound operators, no libm.
class Minimal {
 public:
  explicit Minimal(double value) : value_(value) {}
  friend Minimal operator+(Minimal a, Minimal b) { return Minimal(a.value_ + b.value_); }
  friend Minimal operator-(Minimal a, Minimal b) { return Minimal(a.value_ - b.value_); }
  friend Minimal operator*(Minimal a, Minimal b) { return Minimal(a.value_ * b.value_); }
  friend Minimal operator/(Minimal a, Minimal b) { return Minimal(a.value_ / b.value_); }
  friend Minimal operator-(Minimal a) { return Minimal(-a.value_); }
  friend bool operator<(Minimal a, Minimal b) { return a.value_ < b.value_; }
  friend bool operator<=(Minimal a, Minimal b) { return a.value_ <= b.value_; }

 private:
  double value_;
};

}  // namespace incontext::testing

namespace {

using incontext::testing::Minimal;

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
  STATIC_REQUIRE(Real<Minimal>);
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
