#pragma once

#include <cmath>
#include <cstdio>
#include <string>

/// The smallest test harness: the consumers are compiled many times, and Catch2 takes longer to compile than they do.
namespace flags {

inline int failures = 0;
inline int checks = 0;

inline void fail(const std::string& name, long double value, long double expected, long double tolerance) {
  if (++failures <= 20) std::printf("%s: %.21Lg, not %.21Lg +- %.2Lg\n", name.c_str(), value, expected, tolerance);
}

/// Accepts |value - expected| <= tolerance; NaN is refused.
inline void near(const std::string& name, long double value, long double expected, long double tolerance) {
  ++checks;
  if (!(std::fabs(value - expected) <= tolerance)) fail(name, value, expected, tolerance);
}

inline void holds(const std::string& name, bool condition) { near(name, condition ? 1 : 0, 1, 0); }

inline int verdict() {
  std::printf("%d of %d checks failed\n", failures, checks);
  return failures == 0 && checks > 0 ? 0 : 1;
}

}  // namespace flags
