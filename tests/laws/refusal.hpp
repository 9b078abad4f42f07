#pragma once

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

/// Values every law refuses, and how far a number lies from the same template in long double.
namespace incontext::testing {

inline constexpr double out_of_reach[] = {std::numeric_limits<double>::quiet_NaN(),
                                          std::numeric_limits<double>::infinity(),
                                          -std::numeric_limits<double>::infinity()};

/// Whether a call throws std::domain_error and its message names every part.
template <class Call>
bool refuses(const Call& call, const std::vector<std::string>& parts) {
  try {
    call();
  } catch (const std::domain_error& error) {
    for (const std::string& part : parts) {
      if (std::string(error.what()).find(part) == std::string::npos) return false;
    }
    return true;
  } catch (...) {
  }
  return false;
}

/// |value - exact| in units of eps of T times scale; NaN if either is.
template <class T>
double eps_from(const T& value, long double exact, long double scale) {
  const long double error = static_cast<long double>(value) - exact;
  return static_cast<double>((error < 0 ? -error : error) /
                             (static_cast<long double>(std::numeric_limits<T>::epsilon()) * scale));
}

}  // namespace incontext::testing
