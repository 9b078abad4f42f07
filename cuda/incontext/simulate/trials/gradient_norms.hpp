#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/elementary.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/token_rows.hpp"
#include "incontext/simulate/types/gradient_norms.hpp"

namespace incontext::simulate {

/// Streams of a gradient's trial. Part of the reproducibility contract.
///
/// Runs on   host and device
enum class GradientStream : std::uint32_t { tokens = 24, upstream = 25 };

namespace detail {

/// Rows a spread: inverse temperature, sum a (g - g_top), sum a (y - y_top) of component 1, C_00, C_01, and whether the
/// row's own spread is the temperature.
inline constexpr int gradient_state = 6;

}  // namespace detail

/// One trial of a layer's gradients: n standard normal tokens in d dimensions, component 0 along w, and a random
/// direction h; the gradients' norms at every spread x = |w| of a grid.
///
/// \f[ |dW_V| = |\bar x_a|,\qquad |dW_K| = x\, |C_a h|,\quad a = \mathrm{softmax}(x g) \f]
///
/// NormSoftmax: \f$ x \to \beta = \max(x, 1/\sigma_g) \f$, and where it is the row's own spread that counts, C_a h
/// loses \f$ (C_a h)_0 \sum_j (g_j - \bar g)\, x_j / (n \sigma_g^2) \f$: nothing is left along w.
///
/// All is taken relative to the token of the highest score, so that nothing cancels where it has all the weight.
///
/// Source    derived: docs/theory/laws.md#gradient-flow, with dS from the map's Jacobian. arXiv 2310.12956, Fig. 5.
/// Shapes    detail::gradient_norms values for each spread, in the order of GradientNorm.
/// Units     dimensionless, for tokens of unit variance per component.
/// Domain    tokens >= 1 (NormSoftmax: 2), dimension >= 1 (key_orthogonal means nothing at 1), spreads >= 0.
/// Accuracy  trial by trial against the definition in double, tests/simulate/gradient_norms.cpp.
/// Random    streams of GradientStream; a component's tokens are consecutive numbers from a block of their own.
/// Runs on   host and device
template <class T>
struct GradientNormsTrial {
  using Scalar = T;
  static constexpr double rounding_in_eps = 128;  // without the rounding of the sums, which gradient_norms adds
  static constexpr std::string_view grows_with = "tokens x spreads";
  GradientMap map;
  std::int64_t tokens;
  std::int64_t dimension;
  const T* spreads;
  int points;

  INCONTEXT_HD int outputs() const { return points * detail::gradient_norms; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return tokens * (3 + points) + points * detail::gradient_state; }

  template <int W>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<T, W> scratch, T* values,
                        std::int64_t value_stride) const {
    const random::LaneStream<W> stream(seed, first_trial, static_cast<std::uint32_t>(GradientStream::tokens));
    alignas(W >= 16 ? 64 : 8) T cosine[W], sine[W], top_value[W], mean[W], variance[W];
    std::int32_t top[W];
    direction<W>({seed, first_trial, static_cast<std::uint32_t>(GradientStream::upstream)}, cosine, sine);
    const auto scores = scratch, second = scratch.after(tokens), component = scratch.after(2 * tokens);
    detail::draw_component<W>(stream, 0, tokens, scores);
    detail::find_top<W>(scores, tokens, top);
    detail::subtract_top<W>(scores, tokens, top, top_value);
    detail::spread_of_row<W>(scores, tokens, mean, variance);
    detail::draw_component<W>(stream, 1, tokens, second);
    alignas(W >= 16 ? 64 : 8) T second_top[W];
    detail::subtract_top<W>(second, tokens, top, second_top);
    for (int point = 0; point < points && !stop_requested(); ++point) {
      weigh<W>(scratch, point, variance);
      begin<W>(scratch, point, top_value, cosine, sine, values, value_stride);
    }
    for (std::int64_t c = 1; c < dimension && !stop_requested(); ++c) {
      alignas(W >= 16 ? 64 : 8) T slope[W];
      detail::draw_component<W>(stream, c, tokens, component);
      detail::subtract_top<W>(component, tokens, top, top_value);
      detail::fill<W>(slope, T(0));
      if (map == GradientMap::normsoftmax) {
        detail::regress<W>(scores, component, tokens, mean, variance, slope);
      }
      for (int point = 0; point < points; ++point) {
        add<W>(scratch, point, top_value, slope, cosine, sine, values, value_stride);
      }
    }
    for (int point = 0; point < points; ++point) finish<W>(state<W>(scratch, point), point, values, value_stride);
  }

 private:
  template <int W>
  INCONTEXT_HD detail::Scratch<T, W> weights(detail::Scratch<T, W> scratch, int point) const {
    return scratch.after(tokens * (3 + point));
  }

  template <int W>
  INCONTEXT_HD detail::Scratch<T, W> state(detail::Scratch<T, W> scratch, int point) const {
    return scratch.after(tokens * (3 + points) + point * detail::gradient_state);
  }

  /// h = cosine e_0 + sine e_1, a rotation of an isotropic direction that leaves w alone.
  template <int W>
  INCONTEXT_HD void direction(const random::LaneStream<W>& stream, T* cosine, T* sine) const {
    using std::sqrt;
    constexpr int per_block = random::normals_per_block<T>;
    alignas(W >= 16 ? 64 : 8) T normal[per_block][W];
    detail::fill<W>(cosine, T(0));
    detail::fill<W>(sine, T(0));
    for (std::int64_t first = 0; first < dimension && !stop_requested(); first += per_block) {
      random::normals(stream, static_cast<std::uint32_t>(first / per_block), normal);
      for (int k = 0; k < per_block && first + k < dimension; ++k) {
        if (first + k == 0) {
          for (int lane = 0; lane < W; ++lane) cosine[lane] = normal[0][lane];
        } else {
          detail::add_product<W>(sine, normal[k], normal[k]);
        }
      }
    }
    for (int lane = 0; lane < W; ++lane) {
      const T length = sqrt(cosine[lane] * cosine[lane] + sine[lane]);
      cosine[lane] /= length;
      sine[lane] = sqrt(sine[lane]) / length;
    }
  }

  /// The weights at one spread, and the state that every component needs.
  template <int W>
  INCONTEXT_HD void weigh(detail::Scratch<T, W> scratch, int point, const T* variance) const {
    using std::sqrt;
    const auto a = weights<W>(scratch, point), own = state<W>(scratch, point);
    alignas(W >= 16 ? 64 : 8) T sum[W];
    detail::fill<W>(sum, T(0));
    for (int i = 0; i < detail::gradient_state; ++i) detail::fill<W>(own.row(i), T(0));
    for (int lane = 0; lane < W; ++lane) {
      const T x = spreads[point];
      const bool narrow = map == GradientMap::normsoftmax && x * x * variance[lane] < T(1);
      own.row(0)[lane] = narrow ? T(1) / sqrt(variance[lane]) : x;
      own.row(5)[lane] = narrow ? T(1) : T(0);
    }
    for (std::int64_t j = 0; j < tokens; ++j) {
      for (int lane = 0; lane < W; ++lane) {
        const T exponent = own.row(0)[lane] * scratch.row(j)[lane];
        a.row(j)[lane] = elementary::exp(exponent);
        sum[lane] += a.row(j)[lane];
      }
    }
    for (int lane = 0; lane < W; ++lane) sum[lane] = T(1) / sum[lane];
    for (std::int64_t j = 0; j < tokens; ++j) {
      for (int lane = 0; lane < W; ++lane) a.row(j)[lane] *= sum[lane];
      detail::add_product<W>(own.row(1), a.row(j), scratch.row(j));
      detail::add_product<W>(own.row(2), a.row(j), scratch.row(tokens + j));
    }
    for (std::int64_t j = 0; j < tokens; ++j) {
      const T *g = scratch.row(j), *y = scratch.row(tokens + j), *weight = a.row(j);
      for (int lane = 0; lane < W; ++lane) {
        const T tilted = weight[lane] * (g[lane] - own.row(1)[lane]);
        own.row(3)[lane] += tilted * g[lane];
        own.row(4)[lane] += tilted * y[lane];
      }
    }
  }

  /// Component 0, along w.
  template <int W>
  INCONTEXT_HD void begin(detail::Scratch<T, W> scratch, int point, const T* top_value, const T* cosine, const T* sine,
                          T* values, std::int64_t stride) const {
    const auto own = state<W>(scratch, point);
    T* out = values + point * detail::gradient_norms * stride;
    for (int i = 0; i < detail::gradient_norms; ++i) detail::fill<W>(out + i * stride, T(0));
    for (int lane = 0; lane < W; ++lane) {
      const T kept = T(1) - own.row(5)[lane];
      add_component(out + lane, stride, top_value[lane] + own.row(1)[lane], kept * own.row(3)[lane],
                    kept * own.row(4)[lane], cosine[lane], sine[lane]);
    }
  }

  template <int W>
  INCONTEXT_HD void add(detail::Scratch<T, W> scratch, int point, const T* top_value, const T* slope, const T* cosine,
                        const T* sine, T* values, std::int64_t stride) const {
    const auto a = weights<W>(scratch, point), own = state<W>(scratch, point);
    alignas(W >= 16 ? 64 : 8) T token[W], parallel[W], orthogonal[W];
    detail::fill<W>(token, T(0));
    detail::fill<W>(parallel, T(0));
    detail::fill<W>(orthogonal, T(0));
    const T* __restrict__ mean = own.row(1);
    const T* __restrict__ second_mean = own.row(2);
    for (std::int64_t j = 0; j < tokens; ++j) {
      const T* __restrict__ g = scratch.row(j);
      const T* __restrict__ second = scratch.row(tokens + j);
      const T* __restrict__ y = scratch.row(2 * tokens + j);
      const T* __restrict__ weight = a.row(j);
      for (int lane = 0; lane < W; ++lane) {
        const T share = weight[lane] * y[lane];
        token[lane] += share;
        parallel[lane] += (g[lane] - mean[lane]) * share;
        orthogonal[lane] += (second[lane] - second_mean[lane]) * share;
      }
    }
    T* out = values + point * detail::gradient_norms * stride;
    for (int lane = 0; lane < W; ++lane) {
      const T lost = own.row(5)[lane] * slope[lane];
      add_component(out + lane, stride, top_value[lane] + token[lane], parallel[lane] - lost * own.row(3)[lane],
                    orthogonal[lane] - lost * own.row(4)[lane], cosine[lane], sine[lane]);
    }
  }

  INCONTEXT_HD static void add_component(T* out, std::int64_t stride, T token, T parallel, T orthogonal, T cosine,
                                         T sine) {
    const T along = cosine * parallel + sine * orthogonal;
    out[static_cast<int>(GradientNorm::value) * stride] += token * token;
    out[static_cast<int>(GradientNorm::key) * stride] += along * along;
    out[static_cast<int>(GradientNorm::key_parallel) * stride] += parallel * parallel;
    out[static_cast<int>(GradientNorm::key_orthogonal) * stride] += orthogonal * orthogonal;
  }

  template <int W>
  INCONTEXT_HD void finish(detail::Scratch<T, W> own, int point, T* values, std::int64_t stride) const {
    using std::sqrt;
    T* out = values + point * detail::gradient_norms * stride;
    T* key_row = out + static_cast<int>(GradientNorm::key) * stride;
    for (int lane = 0; lane < W; ++lane) {
      const T square = own.row(0)[lane] * own.row(0)[lane];
      const T value = out[static_cast<int>(GradientNorm::value) * stride + lane], key = square * key_row[lane];
      key_row[lane] = key;
      out[static_cast<int>(GradientNorm::product) * stride + lane] = key * value;
      out[static_cast<int>(GradientNorm::ratio) * stride + lane] = sqrt(key / value);
      out[static_cast<int>(GradientNorm::key_parallel) * stride + lane] *= square;
      out[static_cast<int>(GradientNorm::key_orthogonal) * stride + lane] *= square;
    }
  }
};

}  // namespace incontext::simulate
