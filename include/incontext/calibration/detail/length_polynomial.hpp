#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/calibration/row_statistics.hpp"
#include "incontext/core/floating_point.hpp"

namespace incontext::calibration::detail {

/// At most four whole lengths of an octave, evenly placed in the logarithm.
inline std::vector<std::int64_t> length_nodes(std::int64_t shortest, std::int64_t longest) {
  std::vector<std::int64_t> nodes;
  const double ratio = std::log(static_cast<double>(longest) / static_cast<double>(shortest));
  for (const double place : {0.0, 1.0 / 3, 2.0 / 3, 1.0}) {
    const auto length =
        static_cast<std::int64_t>(std::llround(static_cast<double>(shortest) * std::exp(ratio * place)));
    if (nodes.empty() || nodes.back() < length) nodes.push_back(length);
  }
  return nodes;
}

/// A polynomial of at most third degree in u = log n - log 2^octave, through values at the nodes by Newton's divided
/// differences. Its mean over rows needs the mean powers of u alone, which RowStatistics has.
class LengthPolynomial {
 public:
  LengthPolynomial(const std::vector<std::int64_t>& nodes, std::vector<double> values) {
    const int octave = octave_of(nodes.back());
    std::vector<double> u;
    u.reserve(nodes.size());
    for (const std::int64_t n : nodes) u.push_back(std::log(std::ldexp(static_cast<double>(n), -octave)));
    for (std::size_t order = 1; order < u.size(); ++order) {
      for (std::size_t i = u.size() - 1; i >= order; --i) {
        values[i] = (values[i] - values[i - 1]) / (u[i] - u[i - order]);
      }
    }
    // Horner's scheme from Newton's form to powers of u
    for (std::size_t i = u.size(); i-- > 0;) {
      for (std::size_t k = 3; k > 0; --k) powers_[k] = powers_[k - 1] - u[i] * powers_[k];
      powers_[0] = values[i] - u[i] * powers_[0];
    }
    const double width = u.back() - u.front();
    if (u.size() == 4) cubic_part_ = std::abs(values[3]) * width * width * width / 16;
  }

  double mean(const RowStatistics& rows) const {
    return powers_[0] + powers_[1] * rows[RowStatistic::log_length] +
           powers_[2] * rows[RowStatistic::log_length_squared] + powers_[3] * rows[RowStatistic::log_length_cubed];
  }

  /// The most that the third order contributes. The fourth order, which is left out, would contribute less.
  double error() const { return cubic_part_; }

 private:
  std::array<double, 4> powers_{};
  double cubic_part_ = 0;
};

}  // namespace incontext::calibration::detail
