#include "incontext/core/elementary.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

#include "support/catch.hpp"

namespace elementary_test {

using namespace incontext;

namespace {

constexpr long double turn = 6.283185307179586476925286766559005768L;
constexpr float infinity_f = std::numeric_limits<float>::infinity();
constexpr double infinity = std::numeric_limits<double>::infinity();

float as_float(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }
std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
double as_double(std::uint64_t bits) { return __builtin_bit_cast(double, bits); }
std::uint64_t bits_of(double x) { return __builtin_bit_cast(std::uint64_t, x); }

/// The largest error of a function over many arguments. NaN counts as beyond the bound.
class Errors {
 public:
  explicit Errors(double bound) : bound_(bound) {}
  void add(double argument, double error) {
    if (!(error <= bound_)) {
      if (beyond_ == 0) first_beyond_ = argument;
      ++beyond_;
    }
    if (error > largest_) largest_ = error;
  }
  void check() const {
    INFO("largest error " << largest_ << ", first argument beyond the bound " << first_beyond_);
    CHECK(beyond_ == 0);
    CHECK(largest_ > 0.5 * bound_);  // the bound is at most twice the largest error, and the oracle detects errors
  }

 private:
  double bound_;
  double largest_ = 0;
  double first_beyond_ = 0;
  std::int64_t beyond_ = 0;
};

double relative(double value, double truth) { return value == truth ? 0 : std::abs(value / truth - 1); }
double relative(double value, long double truth) {
  return value == truth ? 0 : static_cast<double>(std::abs(value / truth - 1));
}

}  // namespace

TEST_CASE("minus twice the float logarithm keeps its bound on every number of [1/2, 2] and on every binade") {
  Errors errors(3e-7);
  const auto try_at = [&](float x) {
    errors.add(x, relative(elementary::minus_two_log(x), -2 * std::log(static_cast<double>(x))));
  };
  for (std::uint32_t bits = bits_of(0.5f); bits <= bits_of(2.0f); ++bits) try_at(as_float(bits));
  for (std::uint32_t bits = bits_of(std::numeric_limits<float>::min()); bits < bits_of(infinity_f); bits += 997) {
    try_at(as_float(bits));
  }
  try_at(std::numeric_limits<float>::min());
  try_at(std::numeric_limits<float>::max());
  errors.check();
  CHECK(elementary::minus_two_log(1.0f) == 0);
}

TEST_CASE("minus twice the float logarithm keeps its bound on the uniforms that feed it") {
  Errors errors(3e-7);
  for (std::uint32_t k = 1; k < 0x7fffffffu - 331; k += 330) {
    const float u = static_cast<float>(static_cast<std::int32_t>(k)) * 0x1p-31f;
    errors.add(u, relative(elementary::minus_two_log(u), -2 * std::log(static_cast<double>(u))));
  }
  errors.add(0x1p-31, relative(elementary::minus_two_log(0x1p-31f), -2 * std::log(0x1p-31)));
  errors.check();
}

TEST_CASE("the double logarithm keeps its bound everywhere and near 1") {
  Errors errors(4e-16);
  const auto try_at = [&](double x) { errors.add(x, relative(elementary::log(x), std::log((long double)x))); };
  std::mt19937_64 random(11);
  const std::uint64_t least = bits_of(std::numeric_limits<double>::min());
  const std::uint64_t range = bits_of(infinity) - least;
  for (int i = 0; i < 1000000; ++i) {
    try_at(as_double(least + random() % range));                                             // every binade
    try_at(0.5 + 1.5 * (static_cast<double>(random() >> 12) * 0x1p-52));                     // where it is worst
    try_at(1 + std::ldexp(static_cast<double>(random() >> 12) * 0x1p-52 - 0.5, -(i % 52)));  // toward 1
    try_at(std::ldexp(1 + static_cast<double>(random() >> 12) * 0x1p-52, -1 - (i % 53)));    // uniforms
  }
  try_at(std::numeric_limits<double>::min());
  try_at(std::numeric_limits<double>::max());
  errors.check();
  CHECK(bits_of(elementary::log(1.0)) == 0);
}

TEST_CASE("the float exponential keeps its bound on both signs") {
  Errors errors(9e-8);
  const auto try_at = [&](float x) { errors.add(x, relative(elementary::exp(x), std::exp(static_cast<double>(x)))); };
  for (std::uint32_t bits = bits_of(-0.0f); bits <= bits_of(-87.33f); bits += 499) try_at(as_float(bits));
  for (std::uint32_t bits = bits_of(0.0f); bits <= bits_of(88.0f); bits += 499) try_at(as_float(bits));
  for (int i = 0; i <= 1 << 21; ++i) try_at(static_cast<float>(i) * (-87.33f / 0x1p21f));
  try_at(-87.33f);
  try_at(88.0f);
  errors.check();
  CHECK(elementary::exp(0.0f) == 1.0f);
  CHECK(elementary::exp(-0.0f) == 1.0f);
}

TEST_CASE("the double exponential keeps its bound on both signs") {
  Errors errors(2e-16);
  const auto try_at = [&](double x) { errors.add(x, relative(elementary::exp(x), std::exp((long double)x))); };
  std::mt19937_64 random(12);
  for (int i = 0; i < 1000000; ++i) {
    const double u = static_cast<double>(random() >> 12) * 0x1p-52;
    try_at(-708.39 * u);
    try_at(-u);
    try_at(709 * u);
    try_at(-std::ldexp(u, -(i % 60)));
  }
  try_at(-708.39);
  try_at(709.0);
  errors.check();
  CHECK(elementary::exp(0.0) == 1.0);
  CHECK(elementary::exp(-0.0) == 1.0);
}

TEST_CASE("exponentials reach zero half an octave below the normal range and stay there") {
  for (float x :
       {-87.6832f, -87.7f, -88.0f, -89.0f, -104.0f, -1e3f, -1e30f, -std::numeric_limits<float>::max(), -infinity_f}) {
    CAPTURE(x);
    CHECK(bits_of(elementary::exp(x)) == 0);
  }
  for (double x : {-708.743, -709.0, -710.0, -746.0, -1e4, -1e300, -std::numeric_limits<double>::max(), -infinity}) {
    CAPTURE(x);
    CHECK(bits_of(elementary::exp(x)) == 0);
  }
  CHECK(elementary::exp(-87.683f) > 0);
  CHECK(elementary::exp(-708.7428) > 0);
  // between the two the result is subnormal and right to a unit in its last place
  for (float x = -87.683f; x < -87.3366f; x += 1e-4f) {
    CHECK(std::abs(elementary::exp(x) - std::exp(static_cast<double>(x))) <= 0x1p-149);
  }
}

TEST_CASE("the exponential of a NaN of either sign is NaN") {
  for (float sign : {1.0f, -1.0f}) {
    CHECK(std::isnan(elementary::exp(std::copysign(std::numeric_limits<float>::quiet_NaN(), sign))));
    CHECK(std::isnan(
        elementary::exp(std::copysign(std::numeric_limits<double>::quiet_NaN(), static_cast<double>(sign)))));
  }
}

TEST_CASE("float sine and cosine of turns keep their bound on every quarter turn") {
  Errors sines(2.1e-7);
  Errors cosines(2.1e-7);
  const auto try_at = [&](float t) {
    float sine, cosine;
    elementary::sincos_turns(t, sine, cosine);
    const double angle = static_cast<double>(turn) * static_cast<double>(t);
    sines.add(t, std::abs(sine - std::sin(angle)));
    cosines.add(t, std::abs(cosine - std::cos(angle)));
  };
  for (std::uint32_t bits = bits_of(0x1p-4f); bits <= bits_of(0.25f); bits += 3) try_at(as_float(bits));
  for (std::uint32_t bits = 0; bits < bits_of(0x1p-4f); bits += 1009) try_at(as_float(bits));
  for (int i = -(1 << 20); i <= 1 << 20; ++i) try_at(static_cast<float>(i) * 0x1p-22f);
  sines.check();
  cosines.check();
}

TEST_CASE("double sine and cosine of turns keep their bound on every quarter turn") {
  Errors sines(4e-16);
  Errors cosines(4e-16);
  const auto try_at = [&](double t) {
    double sine, cosine;
    elementary::sincos_turns(t, sine, cosine);
    sines.add(t, static_cast<double>(std::abs(sine - std::sin(turn * t))));
    cosines.add(t, static_cast<double>(std::abs(cosine - std::cos(turn * t))));
  };
  std::mt19937_64 random(13);
  for (int i = 0; i < 1000000; ++i) {
    const double t = 0.5 * (static_cast<double>(random() >> 12) * 0x1p-52) - 0.25;
    try_at(t);
    try_at(std::ldexp(t, -(i % 60)));
  }
  for (double t : {-0.25, -0.125, 0.0, 0.125, 0.25}) try_at(t);
  sines.check();
  cosines.check();
}

TEMPLATE_TEST_CASE("sine is odd and cosine even, bit by bit", "", float, double) {
  std::mt19937_64 random(14);
  for (int i = 0; i < 10000; ++i) {
    const auto t = static_cast<TestType>(0.25 * (static_cast<double>(random() >> 12) * 0x1p-52));
    TestType sine, cosine, negative_sine, same_cosine;
    elementary::sincos_turns(t, sine, cosine);
    elementary::sincos_turns(-t, negative_sine, same_cosine);
    REQUIRE(negative_sine == -sine);
    REQUIRE(same_cosine == cosine);
  }
}

}  // namespace elementary_test
