#pragma once

#include <Eigen/Core>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <limits>

namespace incontext::testing {

/// The rounding oracle: the library's own templates, evaluated with 50 decimal digits.
using Real50 = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>;

}  // namespace incontext::testing

/// Boost 1.74's own specialization lacks infinity and quiet_NaN, which SelfAdjointEigenSolver needs.
template <>
struct Eigen::NumTraits<incontext::testing::Real50> : Eigen::GenericNumTraits<incontext::testing::Real50> {
  using Real = incontext::testing::Real50;
  using NonInteger = Real;
  using Nested = Real;
  using Literal = double;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 8,
    AddCost = 16,
    MulCost = 32
  };
  static Real epsilon() { return std::numeric_limits<Real>::epsilon(); }
  static Real dummy_precision() { return 1000 * epsilon(); }
  static Real highest() { return (std::numeric_limits<Real>::max)(); }
  static Real lowest() { return std::numeric_limits<Real>::lowest(); }
  static Real infinity() { return std::numeric_limits<Real>::infinity(); }
  static Real quiet_NaN() { return std::numeric_limits<Real>::quiet_NaN(); }
  static int digits10() { return std::numeric_limits<Real>::digits10; }
};
