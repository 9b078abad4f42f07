#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

/// Rounding of the maps, in units of eps, against the same templates at 50 digits.
namespace incontext::testing {

template <class T>
scoring::Softmax<Real50> at_50_digits(const scoring::Softmax<T>& map) {
  return {Real50(map.temperature)};
}
template <class T>
scoring::SSMax<Real50> at_50_digits(const scoring::SSMax<T>& map) {
  return {Real50(map.scale), Real50(map.bias)};
}
template <class T>
scoring::SSA<Real50> at_50_digits(const scoring::SSA<T>& map) {
  return {Real50(map.base), Real50(map.exponent), Real50(map.temperature)};
}
template <class T>
scoring::ApproximateSoftmax<Real50> at_50_digits(const scoring::ApproximateSoftmax<T>& map) {
  return {Real50(map.temperature)};
}
template <class T>
scoring::LinearAttention<Real50> at_50_digits(const scoring::LinearAttention<T>& map) {
  return {Real50(map.temperature), map.normalization};
}
template <class T>
scoring::NormSoftmax<Real50> at_50_digits(const scoring::NormSoftmax<T>& map) {
  return {Real50(map.temperature), map.scale};
}
template <class T>
scoring::SaSoftmax<Real50> at_50_digits(const scoring::SaSoftmax<T>&) {
  return {};
}
template <class T>
scoring::NormalizedSaSoftmax<Real50> at_50_digits(const scoring::NormalizedSaSoftmax<T>&) {
  return {};
}
template <class T>
scoring::Entmax<Real50> at_50_digits(const scoring::Entmax<T>& map) {
  return {Real50(map.alpha)};
}
template <class T>
scoring::Sparsemax<Real50> at_50_digits(const scoring::Sparsemax<T>&) {
  return {};
}
template <class Function, class T>
scoring::RatioScore<Function, Real50> at_50_digits(const scoring::RatioScore<Function, T>& map) {
  return {map.normalization};
}

struct Rounding {
  double weights = 0;
  double log_weights = 0;
  double jvp = 0;
  double vjp = 0;
  double derivative = 0;
};

inline double size50(const Real50& x) { return std::abs(static_cast<double>(x)); }

/// max_i |value_i - truth_i| / (eps scale_i); one rounding at the bottom of the range is forgiven.
template <class T>
double worst(const std::vector<T>& value, const std::vector<Real50>& truth, const std::vector<double>& scale) {
  double ratio = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const double one_rounding = static_cast<double>(std::numeric_limits<T>::epsilon()) * scale[i] +
                                static_cast<double>(std::numeric_limits<T>::min());
    const Real50 error = Real50(value[i]) - truth[i];
    raise(ratio, size50(error) / one_rounding);
  }
  return ratio;
}

/// 1 + |log(a_i / max a)|: the factor by which rounding of a_i's exponent is amplified.
inline std::vector<double> exponents(const std::vector<Real50>& weights) {
  using std::log;
  Real50 largest = 0;
  for (const Real50& a : weights) {
    if (largest < (a < 0 ? Real50(-a) : a)) largest = a < 0 ? Real50(-a) : a;
  }
  std::vector<double> sizes;
  for (const Real50& a : weights) {
    const Real50 size = a < 0 ? Real50(-a) : a;
    sizes.push_back(size > 0 ? 1 + static_cast<double>(Real50(log(Real50(largest / size)))) : 1);
  }
  return sizes;
}

/// The scale of one rounding of each weight, as the headers state it.
template <class Map>
std::vector<double> weight_scale(const Map&, const std::vector<Real50>&, const std::vector<Real50>& truth) {
  std::vector<double> scale = exponents(truth);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] *= size50(truth[i]);
  return scale;
}

inline std::vector<double> weight_scale(const scoring::ApproximateSoftmax<Real50>&, const std::vector<Real50>& z,
                                        const std::vector<Real50>& truth) {
  return std::vector<double>(z.size(), size50(largest_size(truth)) + 1 / static_cast<double>(z.size()));
}

inline std::vector<double> weight_scale(const scoring::Entmax<Real50>& map, const std::vector<Real50>& z,
                                        const std::vector<Real50>&) {
  return std::vector<double>(z.size(), 1 + 1 / (size50(map.alpha) - 1));
}

inline std::vector<double> weight_scale(const scoring::Sparsemax<Real50>&, const std::vector<Real50>& z,
                                        const std::vector<Real50>&) {
  return std::vector<double>(z.size(), 2.0);
}

/// sum |f| / |N|
template <class Function>
double cancellation(const scoring::RatioScore<Function, Real50>& map, const std::vector<Real50>& z) {
  Real50 sum = 0;
  for (const Real50& x : z) sum += abs(Real50(Function::value(x)));
  return map.normalization == scoring::ScoreNormalization::sum
             ? 1 + size50(sum / scoring::detail::ratio_pass(map, view(z)).total)
             : 2;
}

template <class Function>
std::vector<double> weight_scale(const scoring::RatioScore<Function, Real50>& map, const std::vector<Real50>& z,
                                 const std::vector<Real50>& truth) {
  std::vector<double> scale;
  for (const Real50& a : truth) scale.push_back(size50(a) * cancellation(map, z));
  return scale;
}

/// The factor by which the scale of derivatives exceeds the sum with absolute values.
template <class Map>
double derivative_factor(const Map&, const std::vector<Real50>&, const std::vector<double>& exponents) {
  return *std::max_element(exponents.begin(), exponents.end());
}

inline double derivative_factor(const scoring::ApproximateSoftmax<Real50>&, const std::vector<Real50>&,
                                const std::vector<double>&) {
  return 1;
}

inline double derivative_factor(const scoring::LinearAttention<Real50>&, const std::vector<Real50>&,
                                const std::vector<double>&) {
  return 1;
}

template <class Function>
double derivative_factor(const scoring::RatioScore<Function, Real50>& map, const std::vector<Real50>& z,
                         const std::vector<double>&) {
  const double factor = cancellation(map, z);
  return factor * factor;
}

/// |J| |u| at 50 digits, or |J|^T |u|.
template <class Map>
std::vector<double> absolute_product(const Map& map, const std::vector<Real50>& z, const std::vector<double>& u,
                                     bool transposed) {
  const std::size_t n = z.size();
  std::vector<Real50> all(n * n);
  jacobian(map, z,
           scoring::MatrixView<Real50>(all.data(), static_cast<std::ptrdiff_t>(n), static_cast<std::ptrdiff_t>(n)));
  std::vector<double> sums(n, 0.0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) sums[i] += size50(all[transposed ? j * n + i : i * n + j]) * u[j];
  }
  return sums;
}

/// The two terms of NormSoftmax' Jacobian cancel (entirely for n = 2), so each is taken with its absolute value.
inline std::vector<double> absolute_product(const scoring::NormSoftmax<Real50>& map, const std::vector<Real50>& z,
                                            std::vector<double> u, bool transposed) {
  const auto pass = scoring::detail::normsoftmax_pass(map.temperature, map.scale, scoring::detail::as_grid(view(z)));
  const double divisor = size50(pass.divisor);
  const auto couple = [&](std::vector<double>& row, std::vector<double> factor) {
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) sum += size50(pass.center.deviation(z[i])) * row[i];
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += factor[i] * sum;
  };
  std::vector<double> factor;
  for (const Real50& x : z) factor.push_back(size50(pass.slope * pass.center.deviation(x)) / divisor);
  const scoring::Softmax<Real50> softmax{pass.divisor};
  if (!transposed) couple(u, factor);
  std::vector<double> sums = absolute_product(softmax, z, u, transposed);
  if (transposed) couple(sums, factor);
  return sums;
}

template <class T, class Map, class Map50>
void measure(const Map& map, const Map50& map50, const std::vector<T>& z, const std::vector<T>& u, Rounding& rounding) {
  const auto z50 = converted<Real50>(z);
  const auto u50 = converted<Real50>(u);
  const auto truth = weights_of(map50, z50);
  if (all_nan(truth)) return;
  const std::size_t n = z.size();
  std::vector<double> scale = weight_scale(map50, z50, truth);
  raise(rounding.weights, worst(weights_of(map, z), truth, scale));
  const std::vector<double> sizes = exponents(truth);
  if constexpr (scoring::LogScoring<Map>) {
    std::vector<T> log_row(n);
    std::vector<Real50> log_truth(n);
    log_weights(map, z, log_row);
    log_weights(map50, z50, log_truth);
    for (std::size_t i = 0; i < n; ++i) {
      scale[i] = scale[i] / size50(truth[i]) + size50(log_truth[i]);
      if (truth[i] > 0) continue;
      if (log_row[i] < 0 && !(log_row[i] >= std::numeric_limits<T>::lowest())) log_row[i] = T(0);  // both -infinity
      log_truth[i] = 0;
      scale[i] = 1;
    }
    raise(rounding.log_weights, worst(log_row, log_truth, scale));
  }
  const double factor = derivative_factor(map50, z50, sizes);
  std::vector<double> sizes_of_u;
  for (const Real50& x : u50) sizes_of_u.push_back(size50(x));
  std::vector<double> sums = absolute_product(map50, z50, sizes_of_u, false);
  for (double& x : sums) x *= factor;
  raise(rounding.jvp, worst(jvp_of(map, z, u), jvp_of(map50, z50, u50), sums));
  sums = absolute_product(map50, z50, sizes_of_u, true);
  for (double& x : sums) x *= factor;
  raise(rounding.vjp, worst(vjp_of(map, z, u), vjp_of(map50, z50, u50), sums));
  for_each_parameter<Map>([&](auto name, const char*) {
    const auto expected = derivative_of(map50, name, z50);
    const double largest = size50(largest_size(expected));
    for (std::size_t i = 0; i < n; ++i) scale[i] = (size50(truth[i]) * largest + size50(expected[i])) * factor;
    raise(rounding.derivative, worst(derivative_of(map, name, z), expected, scale));
  });
}

/// How many scores rows have, drawn evenly.
struct Lengths {
  std::size_t shortest = 2;
  std::size_t longest = 15;
};

/// The worst rounding of every map that `for_each(visitor)` visits, over random rows with scores of three standard
/// deviations, and directions with and without a common offset.
template <class T, class ForEach>
std::map<std::string, Rounding> rounding_of(ForEach for_each, std::uint64_t seed, int rows, Lengths lengths = {}) {
  std::map<std::string, Rounding> worst_of;
  Random random(seed);
  for (int trial = 0; trial < rows; ++trial) {
    const std::size_t n = lengths.shortest + random.below(lengths.longest - lengths.shortest + 1);
    const double stddev = trial % 3 == 0 ? 0.125 : (trial % 3 == 1 ? 1 : 10);
    const auto z = converted<T>(random.normals(n, stddev));
    std::vector<T> u = converted<T>(random.normals(n));
    for (T& x : u) x += T(trial % 4 == 3 ? 1000 : 0);
    for_each([&](auto map, const Facts& facts) { measure<T>(map, at_50_digits(map), z, u, worst_of[facts.name]); });
  }
  return worst_of;
}

template <class T>
inline constexpr int rounding_rows = sizeof(T) == sizeof(float) ? 24 : 36;

inline void check_rounding(const std::string& name, const Rounding& rounding, double weights, double derivatives,
                           double parameters) {
  INFO(name << ": weights " << rounding.weights << ", logarithms " << rounding.log_weights << ", jvp " << rounding.jvp
            << ", vjp " << rounding.vjp << ", parameters " << rounding.derivative);
  CHECK(rounding.weights <= weights);
  CHECK(rounding.log_weights <= 8);
  CHECK(rounding.jvp <= derivatives);
  CHECK(rounding.vjp <= derivatives);
  CHECK(rounding.derivative <= parameters);
}

}  // namespace incontext::testing
