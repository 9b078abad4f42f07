// Weights and derivatives of the scoring maps against their definitions in long double, under each accepted option.
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <incontext/core/elementary.hpp>
#include <incontext/scoring/entmax.hpp>
#include <incontext/scoring/jacobian_norms.hpp>
#include <incontext/scoring/normsoftmax.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/scoring/ssa.hpp>
#include <incontext/scoring/ssmax.hpp>

#include "checks.hpp"

namespace {

namespace scoring = incontext::scoring;
using Numbers = std::vector<long double>;
using Elementwise = std::function<long double(long double)>;

constexpr long double infinity = std::numeric_limits<long double>::infinity();

/// Scores that a float holds exactly, from about -3 to 3, no two alike.
template <class T>
std::vector<T> row_of(std::size_t size, double offset = 0) {
  std::vector<T> row;
  for (std::size_t i = 0; i < size; ++i) {
    const double wave = std::round(3 * std::sin(1.7 * static_cast<double>(i) + 0.3) * 8192) / 8192;
    row.push_back(static_cast<T>(wave + offset));
  }
  return row;
}

template <class T>
Numbers exactly(const std::vector<T>& row) {
  return {row.begin(), row.end()};
}

/// Softmax of phi(z) by its definition; masked entries get 0.
Numbers softmax(const Numbers& scores, const Elementwise& phi) {
  long double highest = -infinity, total = 0;
  for (const long double z : scores) {
    if (z > -infinity && phi(z) > highest) highest = phi(z);
  }
  Numbers weights;
  for (const long double z : scores) {
    weights.push_back(z > -infinity ? std::exp(phi(z) - highest) : 0);
    total += weights.back();
  }
  for (long double& weight : weights) weight /= total;
  return weights;
}

template <class T>
void compare(const std::string& name, const std::vector<T>& found, const Numbers& expected, long double eps_each) {
  constexpr long double eps = std::numeric_limits<T>::epsilon();
  long double highest = 0;
  for (const long double weight : expected) highest = weight > highest ? weight : highest;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const long double depth = expected[i] > 0 ? std::log(highest / expected[i]) : 0;
    flags::near(name + "[" + std::to_string(i) + "]", found[i], expected[i],
                eps_each * eps * (1 + depth) * expected[i]);
  }
}

/// Softmax after phi: weights, weights of a masked row, and both products with the Jacobian.
template <class T, class Map>
void check_softmax_like(const std::string& name, const Map& map, std::vector<T> row, const Elementwise& phi,
                        const Elementwise& slope) {
  const std::size_t n = row.size();
  std::vector<T> out(n), direction(n);
  Numbers expected = softmax(exactly(row), phi);
  weights(map, scoring::Row<const T>(row), scoring::Row<T>(out));
  compare(name + " weight", out, expected, 4);

  constexpr long double eps = std::numeric_limits<T>::epsilon();
  for (std::size_t i = 0; i < n; ++i) direction[i] = static_cast<T>(1000 + std::cos(2.1 * static_cast<double>(i)));
  long double mean_direction = 0, mean_tangent = 0, depth = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mean_direction += expected[i] * direction[i];
    mean_tangent += expected[i] * slope(row[i]) * direction[i];
    for (const long double other : expected) depth = std::max(depth, std::log(other / expected[i]));
  }
  jvp(map, scoring::Row<const T>(row), scoring::Row<const T>(direction), scoring::Row<T>(out));
  for (std::size_t i = 0; i < n; ++i) {
    const long double tangent = slope(row[i]) * direction[i];
    flags::near(name + " jvp", out[i], expected[i] * (tangent - mean_tangent),
                8 * eps * (1 + depth) * expected[i] * (std::fabs(tangent) + std::fabs(mean_tangent)));
  }
  vjp(map, scoring::Row<const T>(row), scoring::Row<const T>(direction), scoring::Row<T>(out));
  // The error is relative to the differences between the cotangents, not to the cotangents: an offset that they share
  // must not cost digits.
  long double scale = 0;
  for (std::size_t i = 0; i < n; ++i) scale += expected[i] * std::fabs(direction[i] - mean_direction);
  for (std::size_t i = 0; i < n; ++i) {
    const long double change = direction[i] - mean_direction, factor = slope(row[i]) * expected[i];
    flags::near(name + " vjp", out[i], factor * change, 16 * eps * (1 + depth) * factor * (scale + std::fabs(change)));
  }
}

/// The weights of a row in which some scores are masked, NaN or infinite.
template <class T, class Map>
void check_special_rows(const std::string& name, const Map& map, const std::vector<T>& row, const Elementwise& phi) {
  constexpr T top = std::numeric_limits<T>::infinity();
  std::vector<T> out(row.size()), special = row;
  special[1] = special[row.size() - 1] = -top;
  weights(map, scoring::Row<const T>(special), scoring::Row<T>(out));
  compare(name + " weight beside a mask", out, softmax(exactly(special), phi), 4);
  log_weights(map, scoring::Row<const T>(special), scoring::Row<T>(out));
  flags::holds(name + " log weight of a mask", out[1] == -top && out[0] > -top);
  const auto undefined = [&](const std::string& what, const std::vector<T>& scores) {
    weights(map, scoring::Row<const T>(scores), scoring::Row<T>(out));
    for (const T weight : out) flags::holds(name + " of " + what + " is NaN", std::isnan(weight));
    vjp(map, scoring::Row<const T>(scores), scoring::Row<const T>(row), scoring::Row<T>(out));
    for (const T entry : out) flags::holds(name + " vjp of " + what + " is NaN", std::isnan(entry));
  };
  special = row;
  special[row.size() / 2] = std::numeric_limits<T>::quiet_NaN();
  undefined("a row with NaN", special);
  special[row.size() / 2] = top;
  undefined("a row with infinity", special);
  undefined("a row of masks", std::vector<T>(row.size(), -top));
}

/// d a / d theta = a (f - a . f) with f = d phi / d theta.
template <class T, class Map, class Parameter>
void check_parameter(const std::string& name, const Map& map, Parameter parameter, const std::vector<T>& row,
                     const Elementwise& phi, const Elementwise& rate) {
  constexpr long double eps = std::numeric_limits<T>::epsilon();
  const Numbers a = softmax(exactly(row), phi);
  long double mean = 0, largest = 0;
  for (std::size_t i = 0; i < row.size(); ++i) mean += a[i] * rate(row[i]);
  for (std::size_t i = 0; i < row.size(); ++i) largest = std::max(largest, a[i] * std::fabs(rate(row[i]) - mean));
  std::vector<T> out(row.size());
  derivative(map, parameter, scoring::Row<const T>(row), scoring::Row<T>(out));
  for (std::size_t i = 0; i < row.size(); ++i) {
    flags::near(name, out[i], a[i] * (rate(row[i]) - mean), 64 * eps * largest);
  }
}

template <class T>
void check_normsoftmax(const std::string& name, const std::vector<T>& row) {
  const Numbers scores = exactly(row);
  long double mean = 0, variance = 0;
  for (const long double z : scores) mean += z / static_cast<long double>(row.size());
  for (const long double z : scores) variance += (z - mean) * (z - mean) / static_cast<long double>(row.size());
  const long double divisor = std::sqrt(variance);
  std::vector<T> out(row.size());
  weights(scoring::NormSoftmax<T>{T(100)}, scoring::Row<const T>(row), scoring::Row<T>(out));
  compare(name, out, softmax(scores, [&](long double z) { return (z - mean) / divisor; }), 8);
}

/// 1.5-entmax: a_i = (z_i / 2 - t)_+^2, the threshold t by bisection.
template <class T>
void check_entmax(const std::string& name, const std::vector<T>& row) {
  long double low = -10, high = 10;
  const auto weight = [](long double z, long double t) { return z / 2 > t ? (z / 2 - t) * (z / 2 - t) : 0; };
  for (int step = 0; step < 80; ++step) {
    const long double middle = (low + high) / 2;
    long double total = 0;
    for (const T z : row) total += weight(z, middle);
    (total > 1 ? low : high) = middle;
  }
  std::vector<T> out(row.size());
  weights(scoring::Entmax<T>{T(1.5)}, scoring::Row<const T>(row), scoring::Row<T>(out));
  for (std::size_t i = 0; i < row.size(); ++i) {
    flags::near(name, out[i], weight(row[i], low), 24 * std::numeric_limits<T>::epsilon());
  }
}

template <class T>
void check_maps(const std::string& type) {
  for (const std::size_t n : {15u, 16u, 64u, 1000u}) {
    const std::string name = type + " " + std::to_string(n) + " ";
    const auto row = row_of<T>(n);
    const long double size = static_cast<long double>(n);
    const auto linear = [](long double factor) { return [=](long double z) { return factor * z; }; };
    const auto constant = [](long double value) { return [=](long double) { return value; }; };

    check_softmax_like<T>(name + "softmax", scoring::Softmax<T>{T(0.75)}, row, linear(1 / 0.75L), constant(1 / 0.75L));
    const auto far = row_of<T>(n, 512);
    check_softmax_like<T>(name + "softmax far from 0", scoring::Softmax<T>{T(0.75)}, far, linear(1 / 0.75L),
                          constant(1 / 0.75L));
    check_special_rows<T>(name + "softmax", scoring::Softmax<T>{T(0.75)}, row, linear(1 / 0.75L));
    check_parameter<T>(name + "softmax by temperature", scoring::Softmax<T>{T(0.75)}, scoring::parameter::Temperature{},
                       row, linear(1 / 0.75L), linear(-1 / (0.75L * 0.75L)));

    const long double factor = 0.5L * std::log(size);
    check_softmax_like<T>(name + "SSMax", scoring::SSMax<T>{T(0.5)}, row, linear(factor), constant(factor));
    check_parameter<T>(name + "SSMax by scale", scoring::SSMax<T>{T(0.5)}, scoring::parameter::Scale{}, row,
                       linear(factor), linear(std::log(size)));

    for (const long double k : {1.5L, 4.0L}) {  // one and the other of SSA's two ways over packs
      const auto phi = [=](long double z) { return std::copysign(k * std::log1p(std::fabs(z)), z); };
      const auto slope = [=](long double z) { return k / (1 + std::fabs(z)); };
      const scoring::SSA<T> map{T(1), static_cast<T>(k)};
      check_softmax_like<T>(name + "SSA", map, row, phi, slope);
      check_special_rows<T>(name + "SSA", map, row, phi);
      check_parameter<T>(name + "SSA by exponent", map, scoring::parameter::Exponent{}, row, phi,
                         [=](long double z) { return phi(z) / k; });
    }
    check_normsoftmax<T>(name + "NormSoftmax", row);
    check_normsoftmax<T>(name + "NormSoftmax far from 0", far);
    check_entmax<T>(name + "1.5-entmax", row);
  }
}

/// The elementary functions of the simulators, and a compensated sum that a plain one gets wrong.
void check_elementary() {
  namespace elementary = incontext::elementary;
  for (int i = 1; i <= 2000; ++i) {
    const double x = 0.04 * i;
    const long double float_x = static_cast<float>(x);
    flags::near("exp", elementary::exp(-x), std::exp(-static_cast<long double>(x)), 4e-16L * std::exp(-x));
    flags::near("float exp", elementary::exp(-static_cast<float>(x)), std::exp(-float_x), 2e-7L * std::exp(-float_x));
    flags::near("log", elementary::log(x), std::log(static_cast<long double>(x)),
                8e-16L * (0.1 + std::fabs(std::log(x))));
    flags::near("float log", elementary::minus_two_log(static_cast<float>(x)), -2 * std::log(float_x),
                6e-7L * (0.1 + std::fabs(std::log(x))));
    double sine, cosine;
    elementary::sincos_turns(x / 320, sine, cosine);
    const long double angle = 2 * 3.14159265358979323846264338327950288L * static_cast<long double>(x / 320);
    flags::near("sine", sine, std::sin(angle), 8e-16L);
    flags::near("cosine", cosine, std::cos(angle), 8e-16L);
  }
  // trace of diag(p) - p p^T = 1 - sum p^2: a million weights of 1e-7 beside one of 0.9
  std::vector<double> p(1000001, 1e-7);
  p[500000] = 0.9;
  const double trace = scoring::jacobian_norms(scoring::Row<const double>(p)).trace;
  const long double rest = 1000000 * static_cast<long double>(1e-7), top = static_cast<long double>(0.9);
  const long double small = static_cast<long double>(1e-7);
  flags::near("compensated sum", trace, top * rest + rest * (1 - small), 1e-16L);
}

}  // namespace

int main() {
  check_maps<float>("float");
  check_maps<double>("double");
  check_elementary();
  return flags::verdict();
}
