#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace incontext::testing {

/// The largest |z| of several; NaN if any of them is NaN, so that it is within no bound.
inline double worst_of(std::initializer_list<double> deviations) {
  double worst = 0;
  for (const double z : deviations) {
    if (!(std::abs(z) <= worst)) worst = std::abs(z);
    if (std::isnan(worst)) break;
  }
  return worst;
}

/// The distance of a sample from a law in two ways, each as a normal deviate.
struct Fit {
  double chi_square_z;  // Pearson's statistic over the cells, by Wilson and Hilferty's cube root
  double ks_z;          // 2 sqrt(n) times Kolmogorov's distance at the cells' edges, whose tail is exp(-z^2/2)'s
};

/// A histogram of equal cells over [lower, upper], open at both ends, judged against a distribution function.
class Cells {
 public:
  Cells(double lower, double upper, int cells)
      : lower_(lower), width_((upper - lower) / cells), counts_(static_cast<std::size_t>(cells)) {}

  void add(double value) {
    const double cell = (value - lower_) * (1 / width_);
    const double last = static_cast<double>(counts_.size() - 1);
    ++counts_[static_cast<std::size_t>(cell > 0 ? (cell < last ? cell : last) : 0)];
  }

  template <class Distribution>
  Fit against(const Distribution& distribution) const {
    double total = 0;
    for (const std::int64_t count : counts_) total += static_cast<double>(count);
    double statistic = 0;
    double distance = 0;
    double freedom = -1;
    double observed_below = 0;
    double observed = 0;
    double expected = 0;
    double law_below = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      const double edge = lower_ + width_ * static_cast<double>(i + 1);
      const double law = i + 1 == counts_.size() ? 1.0 : distribution(edge);
      observed_below += static_cast<double>(counts_[i]);
      distance = std::max(distance, std::abs(observed_below / total - law));
      observed += static_cast<double>(counts_[i]);
      expected += total * (law - law_below);
      law_below = law;
      // neighboring cells are merged until the normal approximation of the count holds
      if (expected >= 50 && total * (1 - law) >= 50) {
        statistic += (observed - expected) * (observed - expected) / expected;
        ++freedom;
        observed = 0;
        expected = 0;
      }
    }
    statistic += (observed - expected) * (observed - expected) / expected;
    ++freedom;
    const double spread = 2 / (9 * freedom);
    const double chi_square_z = (std::cbrt(statistic / freedom) - (1 - spread)) / std::sqrt(spread);
    // P(sqrt(n) D > k) <= 2 exp(-2 k^2): with k = z/2 a false alarm at z = 5 is rarer than one in 1e5
    return {chi_square_z, 2 * distance * std::sqrt(total)};
  }

 private:
  double lower_;
  double width_;
  std::vector<std::int64_t> counts_;
};

}  // namespace incontext::testing
