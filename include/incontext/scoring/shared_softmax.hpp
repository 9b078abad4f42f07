#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/scoring/detail/centered_row.hpp"
#include "incontext/scoring/detail/packed_derivatives.hpp"
#include "incontext/scoring/detail/row_blocks.hpp"
#include "incontext/scoring/detail/softmax_row.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
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
/// Limits    n = 1: (1).
/// Errors    NaN row, as weights.
/// Accuracy  the bits of weights: tests/apply/host_gpu/apply.cpp.
/// Runs on   host and device
template <SharedSoftmax Map, class Threads>
INCONTEXT_HD bool weights_by_threads(const Map& map, const Threads& threads, Row<const Value<Map>> scores,
                                     Row<Value<Map>> out);

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
                                 Row<const Value<Map>> direction, Row<Value<Map>> out);

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
                                 Row<const Value<Map>> cotangent, Row<Value<Map>> out);

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
                                              Row<Value<Map>> scratch, Value<Map>& result);

// Softmax of one row by sixteen threads of a GPU. Thread l takes the numbers l, l + 16, ... of the row, so that
// neighboring threads read and write neighboring memory. Each thread computes one of the sixteen partial sums that a
// CPU computes for a row (row_blocks.hpp), so that the bits are the same.
namespace detail {

inline namespace INCONTEXT_PACKS {

/// What sixteen threads do together with a row; plain data.
template <class T, class Threads>
struct SharedRow {
  static constexpr int lanes = sum_lanes;
  static_assert(Threads::lanes == lanes && pack_width<T> == 1);
  Threads threads;
  Row<const T> scores;

  /// The whole row's lowest and highest visible score, and their number.
  INCONTEXT_HD RowExtent<T> extent() const {
    RowExtent<T> own;
    for (std::ptrdiff_t i = threads.lane(); i < scores.size; i += lanes) {
      const T z = scores[i];
      if (!is_visible(z)) continue;
      ++own.count;
      own.low = z < own.low ? z : own.low;
      own.high = own.high < z ? z : own.high;
    }
    RowExtent<T> all;
    for (int l = 0; l < lanes; ++l) {
      const T low = threads.from(l, own.low), high = threads.from(l, own.high);
      all.low = low < all.low ? low : all.low;
      all.high = all.high < high ? high : all.high;
      all.count += threads.from(l, own.count);
    }
    return all;
  }

  /// The first place of a score that the row has.
  INCONTEXT_HD std::ptrdiff_t first_place_of(const T& score) const {
    std::ptrdiff_t own = threads.lane();
    while (own < scores.size && !(scores[own] == score)) own += lanes;
    std::ptrdiff_t first = scores.size;
    for (int l = 0; l < lanes; ++l) {
      const std::ptrdiff_t other = threads.from(l, own);
      first = other < first ? other : first;
    }
    return first;
  }

  /// The sum over the row of term(i), a number or several.
  template <int sums, class Terms>
  INCONTEXT_HD void add_up(T (&result)[sums], const Terms& terms_of) const {
    T total[sums] = {}, lost[sums] = {};
    for (std::ptrdiff_t first = threads.lane(); first < scores.size; first += row_block) {
      T term[4][sums] = {};
      for (int g = 0; g < 4; ++g) {
        if (first + g * lanes < scores.size) terms_of(first + g * lanes, term[g]);
      }
      for (int s = 0; s < sums; ++s) {
        math::add_compensated(total[s], lost[s], T((term[0][s] + term[1][s]) + (term[2][s] + term[3][s])));
      }
    }
    for (int s = 0; s < sums; ++s) {
      Sum<T> sum;
      for (int l = 0; l < lanes; ++l) sum.add(threads.from(l, total[s]));
      for (int l = 0; l < lanes; ++l) sum.add(threads.from(l, lost[s]));
      result[s] = sum.value();
    }
  }

  template <class Visit>
  INCONTEXT_HD void for_own(const Visit& visit) const {
    for (std::ptrdiff_t i = threads.lane(); i < scores.size; i += lanes) visit(i);
  }
};

/// Calls visit(phi, exponent, reference) as with_exponent does; false where that is false.
template <bool quick, class Map, class T, class Threads, class Visit>
INCONTEXT_HD bool with_shared_exponent(const Map& map, const SharedRow<T, Threads>& row, const Visit& visit) {
  if (row.scores.size < shortest_packed_row) return false;
  const auto extent = row.extent();
  const auto phi = map.elementwise(extent.count);
  if (extent.count == 0 || !math::is_finite(extent.high) || !phi.in_domain()) return false;
  const T reference = phi.decreasing() ? extent.low : extent.high;
  const auto exponent = phi.exponent_from(reference);
  if (!exponent.fits(extent)) return false;
  if constexpr (quick && std::same_as<T, float> && requires { exponent.quick(); }) {
    if (exponent.quick_fits(extent)) {
      visit(phi, exponent.quick(), reference);
      return true;
    }
  }
  visit(phi, exponent, reference);
  return true;
}

/// The readings of CenteredRow by several threads. The powers are kept in `out`, which must not be another row.
template <class T, class Threads, class Exponent, class Rate>
struct SharedCenter {
  SharedRow<T, Threads> row;
  Exponent exponent;
  Rate rate;
  Row<const T> direction;
  Row<T> out;

  INCONTEXT_HD static T product(const T& power, const T& difference) {
    return power > T(0) ? power * difference : T(0);
  }

  INCONTEXT_HD RowCenter<T> begin(std::ptrdiff_t top) const {
    const T top_rate = rate(row.scores[top], direction[top]);
    T sums[2];
    row.add_up(sums, [&](std::ptrdiff_t i, T(&term)[2]) {
      const T z = row.scores[i];
      term[0] = power_of<true, T>(exponent, z);
      term[1] = product(term[0], rate(z, direction[i]) - top_rate);
      out[i] = term[0];
    });
    RowCenter<T> center;
    center.top = top;
    center.share = math::is_finite(sums[0]) ? T(T(1) / sums[0]) : math::not_a_number<T>();
    center.at_top = -(sums[1] * center.share);
    center.mean = top_rate - center.at_top;
    return center;
  }

  template <class Factor>
  INCONTEXT_HD void write(RowCenter<T> center, const Factor& factor) const {
    T rates[1];
    row.add_up(rates, [&](std::ptrdiff_t i, T(&term)[1]) {
      term[0] = product(out[i], rate(row.scores[i], direction[i]) - center.mean);
    });
    center.correction = rates[0] * center.share;
    row.for_own([&](std::ptrdiff_t i) {
      const T z = row.scores[i];
      const T weight = out[i] * center.share;
      const T difference = (rate(z, direction[i]) - center.mean) - center.correction;
      const T change = weight * difference * factor(z);
      out[i] = is_visible(z) ? change : T(0);
      if (i == center.top) out[i] = T(center.share * center.at_top) * factor(z);
    });
  }

  /// sum_i a_i (r_i - a . r) f_i for a function of the score that is 0 at the top.
  template <class Function>
  INCONTEXT_HD T project(const RowCenter<T>& center, const Function& function) const {
    T sums[3];
    row.add_up(sums, [&](std::ptrdiff_t i, T(&term)[3]) {
      const T z = row.scores[i];
      const T f = function(z, z), from_mean = rate(z, direction[i]) - center.mean;
      term[0] = product(out[i], from_mean);
      term[1] = product(out[i], f);
      term[2] = product(out[i], from_mean * f);
    });
    return (sums[2] - sums[0] * center.share * sums[1]) * center.share;
  }
};

template <class T, class Threads, class Exponent, class Rate>
INCONTEXT_HD SharedCenter<T, Threads, Exponent, Rate> shared_center(const SharedRow<T, Threads>& row,
                                                                    const Exponent& exponent, const Rate& rate,
                                                                    Row<const T> direction, Row<T> out) {
  return {row, exponent, rate, direction, out};
}

}  // namespace INCONTEXT_PACKS

}  // namespace detail

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
