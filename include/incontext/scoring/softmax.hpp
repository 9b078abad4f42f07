#pragma once

#include <cstddef>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/softmax_pass.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/softmax_of.hpp"

namespace incontext::scoring {

namespace detail {

template <Real T>
struct SoftmaxExponent : Quotient<T> {
  static constexpr bool is_linear = true;
  static constexpr bool ignores_count = true;
};

}  // namespace detail

/// Softmax with a temperature, the scoring function of standard attention, on one row of scores.
///
/// \f[ a_i = \frac{e^{z_i/\tau}}{\sum_j e^{z_j/\tau}} \f]
///
/// Source    arXiv 2310.12956 eq. 1; arXiv 2508.14685 eq. 3. Evaluation and derivatives: softmax_of.hpp.
/// Units     temperature in units of the scores; weights dimensionless.
/// Domain    temperature > 0, infinity allowed; for derivatives one over it is finite, in double from 6e-309 on.
/// Limits    temperature -> infinity: uniform; temperature -> 0: hardmax, ties shared.
/// Errors    NaN weights and derivatives outside the domain.
/// Accuracy  as stated in softmax_of.hpp.
/// Runs on   host and device
template <Real T = double>
struct Softmax {
  using value_type = T;
  T temperature = T(1);

  INCONTEXT_HD detail::SoftmaxExponent<T> elementwise(std::ptrdiff_t) const { return {{temperature}}; }
};

template <Real T>
Softmax(T) -> Softmax<T>;

/// Refuses a map outside its domain: temperature > 0, infinity allowed.
///
/// Source    the domain of Softmax.
/// Errors    std::domain_error naming the parameter.
template <Real T>
void validate(const Softmax<T>& map) {
  require_above_zero("scoring::validate", "temperature", map.temperature);
}

}  // namespace incontext::scoring
