#pragma once

#include <algorithm>
#include <boost/math/constants/constants.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "incontext/classification/detail/angle_rule.hpp"
#include "incontext/classification/detail/contracts.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sphere_constants.hpp"
#include "incontext/classification/two_class_logits.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::classification::detail {

/// Average over queries, whose angle above the boundary has density 2 R_d cos^(d-2). The panels halve toward the
/// boundary, so that they resolve the layer in which the noise decides, however thin it is.
template <Real T, class Function>
T query_average(std::int64_t dimension, const Function& f) {
  using std::exp;
  const T half_pi = boost::math::constants::half_pi<T>();
  const double width = std::min(0.5, 2.0 / std::sqrt(static_cast<double>(dimension)));
  std::vector<T> edges{T(0), half_pi};
  // beyond 12 widths cos^(d-2) is below rounding
  for (double edge = width; edge < std::min(1.57, 12 * width); edge += width) edges.push_back(T(edge));
  add_graded_edges(edges, T(0), T(width / 2), T(width * 1e-13));
  std::sort(edges.begin(), edges.end());
  const T power = T(static_cast<double>(dimension - 2));
  const T density = T(2) * sphere_constants<T>(dimension).density;
  return density * panel_integral(edges, [&](const T& a) { return T(exp(T(power * log_cosine(a))) * f(a)); });
}

/// E[hinge max(-z, 0) + h(|z|)] for normal z, where h falls like e^-z: the smooth losses of a Gaussian logit have this
/// form.
template <Real T, class Function>
T gaussian_average(const LogitMoments<T>& z, const Function& h, const T& hinge) {
  using std::exp;
  using std::sqrt;
  const T stddev = sqrt(z.variance);
  // a standard deviation below the rounding of the mean counts as 0
  if (!(math::magnitude(z.mean) * std::numeric_limits<T>::epsilon() * T(16) < stddev)) {
    return h(math::magnitude(z.mean)) + hinge * (z.mean < T(0) ? T(-z.mean) : T(0));
  }
  const T digits = -std::log(std::numeric_limits<double>::epsilon()) * T(2);
  const T score = z.mean / stddev;
  const T density = exp(T(-score * score / T(2))) / boost::math::constants::root_two_pi<T>();
  const T negative_part = stddev * density - z.mean * math::normal_tail(score);
  const T reach = stddev * sqrt(digits), low = std::max(T(-digits / T(2)), T(z.mean - reach));
  const T high = std::min(T(digits / T(2)), T(z.mean + reach)), width = std::min(T(2), T(T(1.5) * stddev));
  if (!(low < high)) return hinge * negative_part;
  std::vector<T> edges{low};
  while (edges.back() < high) {
    const T last = edges.back(), next = std::min(T(last + width), high);
    edges.push_back(last < T(0) && T(0) < next ? T(0) : next);  // h has a kink at 0
  }
  const T smooth = panel_integral(edges, [&](const T& x) {
    const T g = (x - z.mean) / stddev;
    return T(h(math::magnitude(x)) * exp(T(-g * g / T(2))));
  });
  return hinge * negative_part + smooth / (stddev * boost::math::constants::root_two_pi<T>());
}

/// E log(1 + e^-z)
template <Real T>
T gaussian_cross_entropy(const LogitMoments<T>& z) {
  using std::exp;
  using std::log1p;
  return gaussian_average(
      z, [](const T& x) { return T(log1p(exp(T(-x)))); }, T(1));
}

/// E z/(1 + e^z), minus the derivative of the cross entropy by the logarithm of a factor of z.
template <Real T>
T gaussian_gain(const LogitMoments<T>& z) {
  using std::exp;
  return gaussian_average(
      z, [](const T& x) { return T(x / (T(1) + exp(x))); }, T(-1));
}

/// P(z < 0)
template <Real T>
T gaussian_error(const LogitMoments<T>& z) {
  using std::sqrt;
  return math::normal_tail(T(z.mean / sqrt(z.variance)));
}

}  // namespace incontext::classification::detail
