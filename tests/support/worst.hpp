#pragma once

#include <cmath>
#include <ostream>
#include <sstream>
#include <string>

namespace incontext::testing {

/// The largest of many errors and the case in which it occurred, which a failing CHECK(worst <= bound) prints. A NaN is
/// kept, and is within no bound.
class Worst {
 public:
  /// `parts` name the case; they are written one after the other.
  template <class... Parts>
  void add(double error, const Parts&... parts) {
    if (std::isnan(value_) || error <= value_) return;
    value_ = error;
    std::ostringstream text;
    (text << ... << parts);
    place_ = text.str();
  }

  operator double() const { return value_; }
  friend std::ostream& operator<<(std::ostream& out, const Worst& worst) {
    return out << worst.value_ << (worst.place_.empty() ? "" : " at ") << worst.place_;
  }

 private:
  double value_ = 0;
  std::string place_ = {};
};

}  // namespace incontext::testing
