#pragma once

#include <benchmark/benchmark.h>

#include <cmath>
#include <string>

#include "incontext/statistics/agreement.hpp"

/// A benchmark is timed only if its answer is right. A wrong answer becomes an error in the report and makes the
/// program exit with 1 (Google Benchmark alone would exit with 0).
namespace incontext::bench {

/// The values that the command line set: see main.cpp.
struct Settings {
  std::string device = "automatic";
  double theory_factor = 1;  ///< other than 1, every benchmark must refuse: the power check
  bool refused = false;      ///< whether one has
};

Settings& settings();

inline void refuse(benchmark::State& state, const std::string& why) {
  settings().refused = true;
  state.SkipWithError(why.c_str());
}

/// Whether the estimate is within 5 standard errors of the closed form.
inline bool agrees(benchmark::State& state, double theory, const statistics::Estimate& estimate) {
  const auto agreement = statistics::agree(theory * settings().theory_factor, estimate);
  if (agreement.within(5)) return true;
  refuse(state, "wrong answer: theory " + std::to_string(agreement.theory) + ", simulation " +
                    std::to_string(estimate.mean) + " +- " + std::to_string(estimate.standard_error));
  return false;
}

/// Whether two numbers are equal up to rounding.
inline bool equals(benchmark::State& state, double theory, double value, double tolerance = 1e-12) {
  const double expected = theory * settings().theory_factor;
  if (std::abs(value - expected) <= tolerance * std::abs(expected)) return true;
  refuse(state, "wrong answer: theory " + std::to_string(expected) + ", value " + std::to_string(value));
  return false;
}

}  // namespace incontext::bench
