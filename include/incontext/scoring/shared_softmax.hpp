#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/packed_derivatives.hpp"
#include "incontext/scoring/detail/shared_row.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// Weights and derivatives of one row by sixteen threads of a GPU, with the bits that one thread gives.
///
/// Common to every function here. All sixteen threads call it with the same arguments but `threads`, which has lane(),
/// the thread's number from 0 to 15, and from(l, x), the x of thread l. `out` and `scratch` share no element with the
/// other rows. A row that packs do not compute (below 16 scores, undefined, or beyond their range) is left to the
/// function for one thread: the answer is then false, and nothing is written.
namespace incontext::scoring {

/// A map that sixteen threads compute together: softmax after an elementwise map with powers and slopes for packs.
///
/// Runs on   host and device
template <class Map>
concept SharedSoftmax =
    SoftmaxLike<Map> && detail::PackedSlopes<decltype(std::declval<const Map&>().elementwise(1)), Value<Map>>;

/// Weights of one row.
///
/// Source    weights of softmax_of.hpp.
/// Shapes    (scores: n, out: n)
/// Units     dimensionless.
/// Limits    n = 1: (1).
/// Errors    NaN row, as weights.
/// Accuracy  the bits of weights: tests/apply/host_gpu/apply.cpp.
/// Runs on   host and device
template <SharedSoftmax Map, class Threads>
INCONTEXT_HD bool weights_by_threads(const Map& map, const Threads& threads, Row<const Value<Map>> scores,
                                     Row<Value<Map>> out) {
  using T = Value<Map>;
  const detail::SharedRow<T, Threads> row{threads, scores};
  const auto write = [&](const auto&, const auto& exponent, const T&) {
    T total[1];
    row.add_up(total, [&](std::ptrdiff_t i, T(&term)[1]) {
      term[0] = detail::power_of<true, T>(exponent, scores[i]);
      out[i] = term[0];
    });
    const T factor = math::is_finite(total[0]) ? T(T(1) / total[0]) : math::not_a_number<T>();
    row.for_own([&](std::ptrdiff_t i) { out[i] = out[i] * factor; });
  };
  return detail::with_shared_exponent<true>(map, row, write);
}

/// Jacobian times a direction.
///
/// Source    jvp of softmax_of.hpp.
/// Shapes    (scores: n, direction: n, out: n)
/// Units     those of the direction over those of the scores.
/// Limits    n = 1: (0).
/// Errors    NaN row, as jvp.
/// Accuracy  the bits of jvp: tests/apply/host_gpu/apply.cpp.
/// Runs on   host and device
template <SharedSoftmax Map, class Threads>
INCONTEXT_HD bool jvp_by_threads(const Map& map, const Threads& threads, Row<const Value<Map>> scores,
                                 Row<const Value<Map>> direction, Row<Value<Map>> out) {
  using T = Value<Map>;
  const detail::SharedRow<T, Threads> row{threads, scores};
  const auto write = [&](const auto& phi, const auto& exponent, const T& reference) {
    using Slope = std::remove_cvref_t<decltype(phi.slopes())>;
    const std::ptrdiff_t top = row.first_place_of(reference);
    if constexpr (std::same_as<Slope, detail::ConstantFactor<T>>) {
      const auto center = detail::shared_center(row, exponent, detail::DirectionRate<T>{}, direction, out);
      center.write(center.begin(top), phi.slopes());
    } else {
      const auto center =
          detail::shared_center(row, exponent, detail::SlopeRate<T, Slope>{phi.slopes()}, direction, out);
      center.write(center.begin(top), detail::ConstantFactor<T>{T(1)});
    }
  };
  return detail::with_shared_exponent<true>(map, row, write);
}

/// Transposed Jacobian times a cotangent.
///
/// Source    vjp of softmax_of.hpp.
/// Shapes    (scores: n, cotangent: n, out: n)
/// Units     those of the cotangent over those of the scores.
/// Limits    n = 1: (0).
/// Errors    NaN row, as vjp.
/// Accuracy  the bits of vjp: tests/apply/host_gpu/apply.cpp.
/// Runs on   host and device
template <SharedSoftmax Map, class Threads>
INCONTEXT_HD bool vjp_by_threads(const Map& map, const Threads& threads, Row<const Value<Map>> scores,
                                 Row<const Value<Map>> cotangent, Row<Value<Map>> out) {
  using T = Value<Map>;
  const detail::SharedRow<T, Threads> row{threads, scores};
  const auto write = [&](const auto& phi, const auto& exponent, const T& reference) {
    const auto center = detail::shared_center(row, exponent, detail::DirectionRate<T>{}, cotangent, out);
    center.write(center.begin(row.first_place_of(reference)), phi.slopes());
  };
  return detail::with_shared_exponent<true>(map, row, write);
}

/// Derivative of g . a with respect to one parameter of the map.
///
/// Source    derivative_along of softmax_of.hpp.
/// Shapes    (scores: n, cotangent: n, scratch: n) -> scalar, in `result`
/// Units     those of g . a over the parameter's.
/// Limits    n = 1: 0; equal g: 0.
/// Errors    NaN where derivative_along answers with NaN.
/// Accuracy  the bits of derivative_along: tests/apply/host_gpu/apply.cpp.
/// Runs on   host and device
template <SharedSoftmax Map, class Parameter, class Threads>
INCONTEXT_HD bool derivative_along_by_threads(const Map& map, Parameter parameter, const Threads& threads,
                                              Row<const Value<Map>> scores, Row<const Value<Map>> cotangent,
                                              Row<Value<Map>> scratch, Value<Map>& result) {
  using T = Value<Map>;
  using Phi = decltype(map.elementwise(1));
  const detail::SharedRow<T, Threads> row{threads, scores};
  if constexpr (detail::PackedParameter<Phi, Parameter, T>) {
    constexpr bool proportional = detail::PackedProportional<Phi, Parameter, T>;
    const auto sum = [&](const auto& phi, const auto& exponent, const T& reference) {
      const auto center = detail::shared_center(row, exponent, detail::DirectionRate<T>{}, cotangent, scratch);
      const auto from_top = center.begin(row.first_place_of(reference));
      if constexpr (proportional) {  // phi's differences, which one thread would have kept, are computed again
        const T rate = phi.rate_in_phi(parameter) / elementary::log2_e<T>;
        result = center.project(
            from_top, [&](const T& z, const T&) { return T((detail::is_visible(z) ? T(exponent(z)) : z) * rate); });
      } else {
        result = center.project(from_top, phi.rates_by(parameter, reference));
      }
    };
    return detail::with_shared_exponent<!proportional>(map, row, sum);
  } else {
    return false;
  }
}

}  // namespace incontext::scoring
