#pragma once

#include <cmath>
#include <ctime>
#include <exception>
#include <initializer_list>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/catch.hpp"

namespace incontext::testing {

/// The processor time within which every call must return or refuse.
inline constexpr double most_seconds = 10;

/// Checks that a call returns numbers or infinities, or refuses with a message, within that time.
template <class Call>
void check_answers(const std::string& name, std::initializer_list<double> arguments, const Call& call) {
  std::ostringstream shown;
  shown << name << '(';
  for (const double argument : arguments) shown << argument << ", ";
  const std::clock_t start = std::clock();
  std::string problem;
  try {
    for (const double value : std::vector<double>(call())) {
      if (std::isnan(value)) problem = "NaN";
    }
  } catch (const std::bad_alloc&) {
    problem = "no memory";
  } catch (const std::exception& error) {
    if (std::string(error.what()).size() < 20) problem = "a refusal without words";
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (problem.empty() && seconds < most_seconds) return;
  FAIL_CHECK(shown.str() << "): " << problem << " after " << seconds << " s");
}

}  // namespace incontext::testing
