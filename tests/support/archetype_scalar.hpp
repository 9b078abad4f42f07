#pragma once

#include <cmath>
#include <limits>

/// A scalar with the operations that the concept Real requires and no others: explicit construction from a double, no
/// default, no compound assignment, no > and >=, six elementary functions, no conversion back.
namespace archetype {

class Scalar {
 public:
  constexpr explicit Scalar(double value) : value_(value) {}
  friend constexpr Scalar operator+(const Scalar& a, const Scalar& b) { return Scalar(a.value_ + b.value_); }
  friend constexpr Scalar operator-(const Scalar& a, const Scalar& b) { return Scalar(a.value_ - b.value_); }
  friend constexpr Scalar operator*(const Scalar& a, const Scalar& b) { return Scalar(a.value_ * b.value_); }
  friend constexpr Scalar operator/(const Scalar& a, const Scalar& b) { return Scalar(a.value_ / b.value_); }
  friend constexpr Scalar operator-(const Scalar& a) { return Scalar(-a.value_); }
  friend constexpr bool operator<(const Scalar& a, const Scalar& b) { return a.value_ < b.value_; }
  friend constexpr bool operator<=(const Scalar& a, const Scalar& b) { return a.value_ <= b.value_; }
  friend constexpr bool operator==(const Scalar& a, const Scalar& b) { return a.value_ == b.value_; }
  friend Scalar exp(const Scalar& x) { return Scalar(std::exp(x.value_)); }
  friend Scalar log(const Scalar& x) { return Scalar(std::log(x.value_)); }
  friend Scalar sqrt(const Scalar& x) { return Scalar(std::sqrt(x.value_)); }
  friend Scalar sin(const Scalar& x) { return Scalar(std::sin(x.value_)); }
  friend Scalar cos(const Scalar& x) { return Scalar(std::cos(x.value_)); }
  friend Scalar tanh(const Scalar& x) { return Scalar(std::tanh(x.value_)); }

  /// For the tests only; the library does not use this name.
  friend constexpr double as_double(const Scalar& x) { return x.value_; }

 private:
  double value_;
};

}  // namespace archetype

template <>
class std::numeric_limits<archetype::Scalar> {
 public:
  static constexpr bool is_specialized = true;
  static constexpr bool has_infinity = true;
  static constexpr bool has_quiet_NaN = true;
  static constexpr int digits = std::numeric_limits<double>::digits;
  static constexpr archetype::Scalar(min)() { return archetype::Scalar((std::numeric_limits<double>::min)()); }
  static constexpr archetype::Scalar(max)() { return archetype::Scalar((std::numeric_limits<double>::max)()); }
  static constexpr archetype::Scalar lowest() { return archetype::Scalar(std::numeric_limits<double>::lowest()); }
  static constexpr archetype::Scalar epsilon() { return archetype::Scalar(std::numeric_limits<double>::epsilon()); }
  static constexpr archetype::Scalar infinity() { return archetype::Scalar(std::numeric_limits<double>::infinity()); }
  static constexpr archetype::Scalar quiet_NaN() { return archetype::Scalar(std::numeric_limits<double>::quiet_NaN()); }
};
