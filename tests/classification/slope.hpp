#pragma once

namespace incontext::testing {

/// Central difference of a value by one number in long double.
template <class Value>
double slope(long double& number, const Value& value) {
  const long double at = number, h = 1e-6L;
  number = at + h;
  const long double above = value();
  number = at - h;
  const long double below = value();
  number = at;
  return static_cast<double>((above - below) / (2 * h));
}

}  // namespace incontext::testing
