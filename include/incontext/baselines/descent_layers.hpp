#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "incontext/baselines/detail/descent_polynomial.hpp"
#include "incontext/baselines/ridge_risk.hpp"
#include "incontext/baselines/task_variances.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/minimum.hpp"

namespace incontext::baselines {

/// The mean squared error of L layers of linear attention, which are L steps of gradient descent on the context.
///
/// \f[ \sigma^2 + \psi^2 (d - l)_+
///     + \int \rho(x) \Bigl[\psi^2 p(t)^2 + \frac{\sigma^2}{l}\frac{(1 - p(t))^2}{t}\Bigr] dx,
///     \quad t = \frac xl,\quad p(t) = \prod_{k=1}^{L} (1 - \eta_k t) \f]
///
/// Layer k takes the residuals r of the labels to r - (eta_k / l) X X^T r and adds (eta_k / l) x_q X^T r to the answer.
/// Equal learning rates are one layer that is applied L times, a looped transformer.
///
///     const double error = baselines::descent_risk<double>(spectrum, variances, {0.4, 0.9});   // two layers
///
/// Source    the construction: von Oswald et al., arXiv 2212.07677; the error derived:
///           docs/theory/baselines.md#layers.
/// Shapes    (spectrum of l examples in d dimensions, task, L learning rates) -> scalar
/// Units     learning rates: 1 over squared input units; the risk: label units squared.
/// Domain    variances >= 0; finite learning rates, in any order.
/// Limits    no layer, or no example: sigma^2 + psi^2 d.
/// Errors    std::domain_error for values.
/// Accuracy  of the spectrum's means, times the largest p (tests/baselines/descent_layers.cpp).
template <Real T>
T descent_risk(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task, const std::vector<T>& learning_rates) {
  require_task_variances("descent_risk", task);
  for (std::size_t k = 0; k < learning_rates.size(); ++k) {
    require_finite("descent_risk", "learning_rates[" + std::to_string(k) + "]", learning_rates[k]);
  }
  return detail::DescentError<T>(spectrum, task).risk(learning_rates);
}

/// Layers of linear attention and what they reach.
///
/// Units     learning_rates: 1 over squared input units; the others: label units squared.
template <Real T>
struct DescentLayers {
  std::vector<T> learning_rates;  ///< of the layers; in rising order
  T risk;                         ///< with these rates
  T lower_bound;                  ///< of every choice of rates: the best polynomial, which may have complex roots
  numerics::SearchPlace place = numerics::SearchPlace::inside;  ///< of looped_layers' search
};

/// The one learning rate at which a looped layer of linear attention has the least mean error after `layers` rounds.
///
/// Source    docs/theory/baselines.md#layers; one-dimensional search by Brent's method.
/// Shapes    (spectrum, task, layers) -> learning rates: layers, all equal
/// Domain    task_variance > 0, layers 0 to 64; at least one example; the search is between 0 and twice the best rate
///           of one layer, and has one minimum there in every case that was tried.
/// Limits    one layer: 1 / (1 + (d + 1) / l + sigma^2 / (l psi^2)).
/// Errors    std::domain_error for variances, std::invalid_argument for layers and a spectrum of no example.
/// Accuracy  the risk to eps, the rate to its square root (tests/baselines/descent_layers.cpp).
template <Real T>
DescentLayers<T> looped_layers(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task, std::int64_t layers) {
  detail::require_descent("looped_layers", spectrum, task, layers);
  const detail::DescentError<T> error(spectrum, task);
  const auto rates = [&](const T& rate) { return std::vector<T>(static_cast<std::size_t>(layers), rate); };
  const T one = detail::BestPolynomial<T>(error, 1).rates().front();
  const auto found =
      numerics::minimum_between<T>([&](const T& rate) { return error.risk(rates(rate)); }, T(0), T(T(2) * one));
  return {.learning_rates = rates(found.argument),
          .risk = error.risk(rates(found.argument)),
          .lower_bound = detail::BestPolynomial<T>(error, layers).risk(),
          .place = found.place};
}

/// The learning rates at which L layers of linear attention have the least mean error.
///
/// The polynomials p of degree L with p(0) = 1 include the products of descent_risk. The best polynomial's
/// coefficients solve a linear system; where its roots are real, their inverses are the best learning rates, and `risk`
/// equals `lower_bound`. Where they are not, as with noise and many layers, the error is minimized by Levenberg and
/// Marquardt's method from the roots' real parts, and from the best equal rates, which it moves together; `risk` is
/// then above `lower_bound`.
///
///     const auto two = baselines::optimal_layers(spectrum, variances, 2);   // two.learning_rates, two.risk
///
/// Source    derived: docs/theory/baselines.md#layers.
/// Shapes    (spectrum, task, layers) -> learning rates: layers
/// Domain    task_variance > 0, layers 0 to 64; at least one example.
/// Limits    one layer: 1 / (1 + (d + 1) / l + sigma^2 / (l psi^2)). Many layers: lower_bound tends to the
///           Bayes risk; risk does without noise, and need not with noise.
/// Errors    std::domain_error for variances, std::invalid_argument for layers and a spectrum of no example.
/// Accuracy  the bound as descent_risk; the risk is that of the rates. Where roots are complex these are a local
///           minimum, as far as random changes of 0.1% and 20% tell, and a lower one is not excluded
///           (tests/baselines/descent_layers.cpp).
template <Real T>
DescentLayers<T> optimal_layers(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task, std::int64_t layers) {
  detail::require_descent("optimal_layers", spectrum, task, layers);
  const detail::DescentError<T> error(spectrum, task);
  const detail::BestPolynomial<T> best(error, layers);
  std::vector<T> rates = best.rates();
  if (!best.is_real()) {
    rates = error.descend(std::move(rates));
    std::vector<T> equal = error.descend(looped_layers(spectrum, task, layers).learning_rates);
    if (error.risk(equal) < error.risk(rates)) rates = std::move(equal);
  }
  std::sort(rates.begin(), rates.end());
  return {.learning_rates = rates, .risk = error.risk(rates), .lower_bound = best.risk()};
}

/// The fewest layers of linear attention whose least error is within a share of the Bayes risk's excess over the noise.
///
///     // 5% above what Bayes adds to the noise
///     const auto layers = baselines::layers_needed(spectrum, variances, 0.05);
///
/// Source    optimal_layers, for 0, 1, 2, ... layers.
/// Shapes    (spectrum, task, share) -> count
/// Domain    task_variance > 0, share > 0; at least one example.
/// Limits    65 where 64 layers do not suffice, as without noise and d <= l, where Bayes is 0.
/// Errors    as optimal_layers, std::domain_error for the share.
/// Accuracy  an upper bound where the best polynomial has complex roots, else exact up to rounding.
template <Real T>
std::int64_t layers_needed(const WishartSpectrum<T>& spectrum, const TaskVariances<T>& task, const T& share) {
  require_positive("layers_needed", "share", share);
  const T floor = bayes_risk(spectrum, task);
  const T enough = floor + share * (floor - task.noise_variance);
  std::int64_t layers = 0;
  while (layers <= 64 && !(optimal_layers(spectrum, task, layers).risk <= enough)) ++layers;
  return layers;
}

INCONTEXT_COMPILED(baselines_descent_layers, descent_risk<double>);
INCONTEXT_COMPILED(baselines_descent_layers, looped_layers<double>);
INCONTEXT_COMPILED(baselines_descent_layers, optimal_layers<double>);
INCONTEXT_COMPILED(baselines_descent_layers, layers_needed<double>);

}  // namespace incontext::baselines
