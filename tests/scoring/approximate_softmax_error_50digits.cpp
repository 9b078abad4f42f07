#include <cmath>
#include <vector>

#include "incontext/scoring/approximate_softmax_error_bounds.hpp"
#include "incontext/scoring/approximate_softmax_expected_error.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

// Rounding of the approximate softmax's error and of its bounds, against the same templates at 50 digits.
namespace incontext::testing {

using namespace scoring;

namespace {

double off(const Real50& value, const Real50& truth) { return std::abs(static_cast<double>(Real50(value - truth))); }

template <class T>
std::vector<T> error_of(const std::vector<T>& z) {
  std::vector<T> out(z.size());
  approximate_softmax_error(ApproximateSoftmax<T>{T(2)}, z, out);
  return out;
}

}  // namespace

TEMPLATE_TEST_CASE("the error of a row rounds as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
  Random random(151);
  for (const double size : {1e-6, 1e-3, 0.3, 4.0, 60.0}) {
    for (int trial = 0; trial < 40; ++trial) {
      const auto z = converted<T>(random.normals(2 + random.below(12), size));
      const auto exact = converted<Real50>(z);
      const auto error = error_of(z);
      const auto truth = error_of(exact);
      const double n = static_cast<double>(z.size());
      Real50 mean = total(exact) / Real50(n);
      std::vector<double> c;
      double spread = 0;
      for (const Real50& x : exact) c.push_back(static_cast<double>(Real50(x - mean)) / 2);
      for (const double x : c) spread += x * x / n;
      const bool small = largest_size(c) <= 1;
      std::vector<T> leading(z.size());
      approximate_softmax_leading_error(ApproximateSoftmax<T>{T(2)}, z, leading);
      for (std::size_t i = 0; i < z.size(); ++i) {
        const double bound = 32 * eps * (small ? (c[i] * c[i] + spread) / n : 1 + std::abs(c[i]));
        INFO("size " << size << ", n " << n);
        CHECK(off(Real50(error[i]), truth[i]) <= bound);
        if (small)
          CHECK_FALSE(off(Real50(error[i]) + Real50((c[i] * c[i] + spread) / n * 64 * eps), truth[i]) <= bound);
        const double exact_leading = (c[i] * c[i] - spread) / 2 / n;
        CHECK(std::abs(static_cast<double>(leading[i]) - exact_leading) <= 8 * eps * (c[i] * c[i] + spread) / n);
      }
    }
  }
}

TEMPLATE_TEST_CASE("the bounds over a range round as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const std::ptrdiff_t n : {2, 3, 10, 1000, 1000000}) {
    for (const double size : {1e-6, 1e-3, 0.125, 1.0, 5.0, 31.0, 33.0, 100.0}) {
      const T range = T(size);
      const double bound = 32 * eps * (size <= 1 ? size * size : 1 + size);
      INFO("n " << n << ", range " << size);
      CHECK(off(Real50(approximate_softmax_error_supremum(n, range)),
                approximate_softmax_error_supremum(n, Real50(range))) <= bound);
      CHECK(off(Real50(approximate_softmax_error_infimum(n, range).value),
                approximate_softmax_error_infimum(n, Real50(range)).value) <= bound);
      CHECK(off(Real50(approximate_softmax_error_at_gap(n, T(-range))),
                approximate_softmax_error_at_gap(n, Real50(-range))) <= bound);
    }
  }
}

TEMPLATE_TEST_CASE("expected errors round as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const double size : {1e-8, 1e-4, 0.01, 0.25, 1.0, 4.0, 16.0}) {
    const T v = T(size);
    const Real50 exact(v);
    const auto close = [&](T value, const Real50& truth, double bound) {
      INFO("v " << size << ": " << value << " against " << truth);
      CHECK(off(Real50(value), truth) <= bound + static_cast<double>(std::numeric_limits<T>::min()));
    };
    const auto magnitude = [](const Real50& x) { return std::abs(static_cast<double>(x)); };
    const Real50 squared = approximate_softmax_expected_squared_error_limit(exact);
    close(approximate_softmax_expected_squared_error_limit(v), squared, 8 * eps * magnitude(squared));
    close(approximate_softmax_expected_absolute_error_limit(v),
          approximate_softmax_expected_absolute_error_limit(exact), 64 * eps);
    const Real50 probability = approximate_softmax_negative_weight_probability(10, exact);
    close(approximate_softmax_negative_weight_probability(10, v), probability,
          8 * eps * (1 + 1 / size) * magnitude(probability));
    const Real50 output = approximate_softmax_output_error(100, 8, exact);
    close(approximate_softmax_output_error(100, 8, v), output, 16 * eps * magnitude(output));
    const T ipr = T(0.0625);
    close(approximate_softmax_expected_squared_error(100, v, ipr),
          approximate_softmax_expected_squared_error(100, exact, Real50(ipr)), 8 * eps * (1 + size + 6.25));
  }
}

}  // namespace incontext::testing
