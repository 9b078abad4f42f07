#pragma once

#include <boost/math/tools/fraction.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/numerics/solve.hpp"

/// In-context learning of y = a x + b with a, b ~ N(0, sigma_F^2) and x ~ N(0, sigma_I^2), without noise.
namespace incontext::training {

/// Standard deviations of the task.
///
/// Units     input_stddev of x; function_stddev of a and b, a label's units.
template <Real T>
struct AffineTask {
  T input_stddev;
  T function_stddev;
};

/// E 1 / (1 + x^2) of the task's inputs.
///
/// \f[ \sqrt{\tfrac{\pi}{2}}\, \frac{e^{1/(2\sigma^2)}}{\sigma}\, \mathrm{erfc}\Bigl(\frac{1}{\sigma \sqrt2}\Bigr) \f]
///
/// Source    derived: docs/theory/training.md#affine-task; a continued fraction below sigma = 0.35.
/// Units     dimensionless, x as a pure number.
/// Domain    input_stddev >= 0.
/// Limits    input_stddev = 0: 1.
/// Errors    std::domain_error for input_stddev outside the domain.
/// Accuracy  64 eps relative: tests/training/affine_task.cpp.
template <Real T>
T mean_inverse_one_plus_square(const T& input_stddev);

/// Bayes mean squared errors after 0, 1 and 2 distinct examples, and of the answer 0 in the papers' metric.
///
/// Units     label units squared.
template <Real T>
struct AffineRisks {
  T no_example;
  T one_example;
  T two_examples;
  T zero_predictor;  ///< the sum over points 3 ... 40 of 40, divided by 40
};

/// Exact risks of the affine task.
///
/// \f[ \sigma_F^2 (1 + \sigma_I^2),\quad \sigma_F^2 \Bigl[E\frac{x^2}{1 + x^2} +
///     \sigma_I^2 E\frac{1}{1 + x^2}\Bigr],\quad 0,\quad \tfrac{38}{40}\, \sigma_F^2 (1 + \sigma_I^2) \f]
///
/// After one example the best guess is y_1 (x x_1 + 1) / (x_1^2 + 1).
///
/// Source    arXiv 2508.14685, Sec. 3 and eq. 2; derived: docs/theory/training.md#affine-task.
/// Domain    standard deviations >= 0.
/// Limits    input_stddev = 1: one example leaves sigma_F^2, whatever the law of x_1.
/// Errors    std::domain_error for a standard deviation outside the domain.
/// Accuracy  64 eps relative: tests/training/affine_task.cpp.
template <Real T>
AffineRisks<T> affine_risks(const AffineTask<T>& task);

/// Mean squared error of the true label clipped to [-B, B]: the error of a model whose output cannot leave that range.
///
/// \f[ \int dx\, \varphi(x)\, 2 \bigl[(s^2 + B^2) Q(B/s) - B s\, \varphi(B/s)\bigr],\qquad
///     s^2 = \sigma_F^2 (1 + \sigma_I^2 x^2) \f]
///
/// phi is the standard normal density, Q its upper tail, and B = bound.
///
/// For sigma_F = 4 to 10 one bound fits 17 of the 21 rows of Tables 1 and 4 of arXiv 2508.14685 within 40%. It does not
/// fit SSA's, that of Llama and those of two small models: incontext tasks --figure boundary prints every row.
///
/// Source    derived: docs/theory/training.md#clipped-answers.
/// Units     label units squared; bound in label units.
/// Domain    standard deviations >= 0 whose squares' product is finite, bound >= 0.
/// Limits    bound = 0: sigma_F^2 (1 + sigma_I^2); bound -> infinity: 0.
/// Errors    std::domain_error for a standard deviation or bound outside the domain; numerics::QuadratureError.
/// Accuracy  1e-11 relative for bound <= 10 sigma_F; to sigma_I = 1e9 and bounds of 20 standard deviations within 1e-7
///           of another rule: tests/training/affine_task.cpp.
template <Real T>
numerics::Quadrature<T> clipped_affine_error(const AffineTask<T>& task, const T& bound);

/// The bound B at which clipped answers have a given mean squared error.
///
/// \f[ B:\quad \mathrm{clipped\_affine\_error}(B) = \mathrm{error} \f]
///
///     const double bound = training::clipped_answer_bound(training::AffineTask<double>{1, 10}, 45.35 * 40 / 38);
///
/// A measured error says in this way where a model's answers seem to end. The errors of arXiv 2508.14685 are sums over
/// the points 3 to 40 divided by 40: multiply them by 40/38 first.
///
/// Source    derived: docs/theory/training.md#clipped-answers; root by Boost.Math's TOMS 748, the error falls with B.
/// Units     error in label units squared, the bound in label units.
/// Domain    input_stddev >= 0, function_stddev > 0, 0 < error <= sigma_F^2 (1 + sigma_I^2).
/// Limits    error = sigma_F^2 (1 + sigma_I^2): 0; error -> 0: infinity.
/// Errors    std::domain_error; numerics::QuadratureError.
/// Accuracy  1e-10 relative in the same range, where the error depends on the bound: tests/training/affine_task.cpp.
template <Real T>
T clipped_answer_bound(const AffineTask<T>& task, const T& error);

// Averages over one normal input that the errors of the affine task are made of.
namespace detail {

template <Real T>
void require_affine(std::string_view where, const AffineTask<T>& task) {
  require_non_negative(where, "input_stddev", task.input_stddev);
  require_non_negative(where, "function_stddev", task.function_stddev);
}

/// Terms of the continued fraction (1/2) / (z + 1 / (z + (3/2) / (z + ...))).
template <Real T>
struct MillsFraction {
  using result_type = std::pair<T, T>;
  T z, numerator = T(0.5);
  result_type operator()() {
    const result_type term(numerator, z);
    numerator = numerator + T(0.5);
    return term;
  }
};

/// E 1 / (1 + x^2) = sqrt(pi) z e^(z^2) erfc(z), z = 1 / (sigma sqrt(2)), and E x^2 / (1 + x^2).
template <Real T>
struct InverseSquareMeans {
  T inverse, rest;
};

template <Real T>
InverseSquareMeans<T> inverse_square_means(const T& input_stddev) {
  using std::erfc;
  using std::exp;
  using std::sqrt;
  const T scaled = input_stddev * sqrt(T(2));
  if (!(T(1e-30) < scaled)) return {T(1), T(0)};
  const T z = T(1) / scaled;
  if (z < T(2)) {
    const T inverse = sqrt(math::pi<T>()) * z * exp(T(z * z)) * erfc(z);
    return {inverse, T(1) - inverse};
  }
  MillsFraction<T> fraction{z};
  const T tail = boost::math::tools::continued_fraction_a(fraction, T(std::numeric_limits<T>::epsilon()));
  return {z / (z + tail), tail / (z + tail)};
}

/// Terms of the continued fraction 2 / (t + 3 / (t + 4 / (t + ...))).
template <Real T>
struct ExcessFraction {
  using result_type = std::pair<T, T>;
  T t, numerator = T(2);
  result_type operator()() {
    const result_type term(numerator, t);
    numerator = numerator + T(1);
    return term;
  }
};

/// E (|y| - t)_+^2, y standard normal: 2 [(1 + t^2) Q(t) - t phi(t)]. Far out the difference cancels, and Laplace's
/// continued fraction of Q / phi = 1 / (t + k), k = 1 / (t + l), makes it 2 phi l / ((t + l) (t + k)).
template <Real T>
T squared_excess(const T& t) {
  using std::exp;
  using std::sqrt;
  const T density = exp(T(-t * t / T(2))) / sqrt(T(2) * math::pi<T>());
  if (!(T(4) < t)) return T(2) * ((T(1) + t * t) * math::normal_tail(t) - t * density);
  if (!(T(0) < density)) return T(0);
  ExcessFraction<T> fraction{t};
  const T l = boost::math::tools::continued_fraction_a(fraction, T(std::numeric_limits<T>::epsilon()));
  return T(2) * density * l / ((t + l) * (t + T(1) / (t + l)));
}

}  // namespace detail

template <Real T>
T mean_inverse_one_plus_square(const T& input_stddev) {
  require_non_negative("training::mean_inverse_one_plus_square", "input_stddev", input_stddev);
  return detail::inverse_square_means(input_stddev).inverse;
}

template <Real T>
AffineRisks<T> affine_risks(const AffineTask<T>& task) {
  detail::require_affine("training::affine_risks", task);
  const T inputs = task.input_stddev * task.input_stddev, functions = task.function_stddev * task.function_stddev;
  const auto means = detail::inverse_square_means(task.input_stddev);
  const T prior = functions * (T(1) + inputs);
  return {.no_example = prior,
          .one_example = functions * (means.rest + inputs * means.inverse),
          .two_examples = T(0),
          .zero_predictor = prior * T(38) / T(40)};
}

template <Real T>
numerics::Quadrature<T> clipped_affine_error(const AffineTask<T>& task, const T& bound) {
  using std::exp;
  using std::sqrt;
  detail::require_affine("training::clipped_affine_error", task);
  require_non_negative("training::clipped_affine_error", "bound", bound);
  if (!(T(0) < task.function_stddev)) return {T(0), T(0)};
  using std::asinh;
  using std::cosh;
  using std::log;
  using std::sinh;
  const T functions = task.function_stddev, inputs = task.input_stddev, limit = bound / functions;
  // far bounds are met by inputs far out: x^2/2 + (B/s)^2/2 is B/(sigma_F sigma_I) at its least, or as much as at x = 0
  const T at_zero = limit * limit / T(2), out = limit < at_zero * inputs ? T(limit / inputs) : at_zero;
  const T reach = sqrt(T(T(2) * (T(6) - log(T(std::numeric_limits<T>::epsilon())) + out)));
  if (inputs < T(1)) {
    const T scale = T(2) * reach / sqrt(T(2) * math::pi<T>());
    return numerics::integrate_bump<T>("training::clipped_affine_error", [&](const T& u) {
      const T x = reach * (T(2) * u - T(1)), ratio = inputs * x;
      const T stddev = functions * sqrt(T(T(1) + ratio * ratio));
      return T(scale * exp(T(-x * x / T(2))) * stddev * stddev * detail::squared_excess(T(bound / stddev)));
    });
  }
  // sigma_I x = sinh(v): labels' standard deviations sigma_F cosh(v) of every size have their nodes
  const T end = asinh(T(inputs * reach));
  const T scale = T(2) * end * functions * functions * inputs * inputs / sqrt(T(2) * math::pi<T>());
  return numerics::integrate_bump<T>("training::clipped_affine_error", [&](const T& u) {
    const T v = end * (T(2) * u - T(1)), x = sinh(v) / inputs, size = cosh(v) / inputs;
    return T(scale * exp(T(-x * x / T(2))) * size * size * size *
             detail::squared_excess(T(bound / (functions * inputs * size))));
  });
}

template <Real T>
T clipped_answer_bound(const AffineTask<T>& task, const T& error) {
  constexpr std::string_view where = "training::clipped_answer_bound";
  detail::require_affine(where, task);
  require_positive(where, "function_stddev", task.function_stddev);
  require_positive(where, "error", error);
  const T largest = affine_risks(task).no_example;
  if (largest < error) throw_domain_error(where, "error is larger than that of the answer 0", error, "at most E y^2");
  const auto surplus = [&](const T& bound) { return T(clipped_affine_error(task, bound).value / error - T(1)); };
  T low = T(0), high = task.function_stddev;
  for (; T(0) < surplus(high); high = high * T(2)) low = high;
  if (!(T(0) < surplus(low))) return low;
  return numerics::root_between<T>(where, surplus, low, high);
}

INCONTEXT_COMPILED(training_affine_task, mean_inverse_one_plus_square<double>);
INCONTEXT_COMPILED(training_affine_task, affine_risks<double>);
INCONTEXT_COMPILED(training_affine_task, clipped_affine_error<double>);
INCONTEXT_COMPILED(training_affine_task, clipped_answer_bound<double>);

}  // namespace incontext::training
