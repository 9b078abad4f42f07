#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/chi_square.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/regression_model.hpp"

/// What approximate softmax and linear attention take from a Gaussian context, whatever the labels: in the coordinates
/// g of x = mu_x + A g, with y = A^T M x_q the direction of the scores,
///
/// \f[ \bar g,\qquad c = C y,\qquad v = y^T C y,\qquad \bar z = y^T \bar g,\qquad
///     C = \tfrac1l \sum_j (g_j-\bar g)(g_j-\bar g)^T \f]
///
/// Two ways to draw them with the same law: from tokens, and from their sufficient statistics.
namespace incontext::simulate {

/// Where in scratch the moments of a context lie.
///
/// Runs on   host and device
template <class T, int W>
struct ContextMoments {
  detail::Scratch<T, W> mean;      // gbar: d rows
  detail::Scratch<T, W> attended;  // c: d rows
  T* score_variance;               // v
  T* score_mean;                   // zbar

  INCONTEXT_HD static constexpr std::int64_t rows(int dimension) { return 2 * std::int64_t{dimension} + 2; }
  INCONTEXT_HD ContextMoments(detail::Scratch<T, W> scratch, int dimension)
      : mean(scratch),
        attended(scratch.after(dimension)),
        score_variance(scratch.row(2 * dimension)),
        score_mean(scratch.row(2 * dimension + 1)) {}
};

/// Draws every token of the context and sums.
///
/// Source    the definition.
/// Random    stream inputs: d l normals, the same as GaussianTokens reads.
/// Runs on   host and device
template <class T>
struct TokenMoments {
  INCONTEXT_HD static std::int64_t scratch_rows(int dimension) {
    return std::int64_t{random::normals_per_block<T>} * dimension;
  }

  template <int W>
  INCONTEXT_HD static void draw(const RegressionModel<T>& model, std::uint64_t seed, std::uint64_t first_trial,
                                detail::Scratch<T, W> direction, detail::Scratch<T, W> inputs,
                                ContextMoments<T, W> moments) {
    constexpr int tile = random::normals_per_block<T>;
    const int d = model.dimension;
    const random::LaneStream<W> stream(seed, first_trial, static_cast<std::uint32_t>(Stream::inputs));
    alignas(W >= 16 ? 64 : 8) T normal[tile][W];
    alignas(W >= 16 ? 64 : 8) T score[W];
    for (int i = 0; i < 2 * d + 2; ++i) detail::fill<W>(moments.mean.row(i), T(0));
    for (std::int64_t first = 0; first < model.context_length && !stop_requested(); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      const auto first_block = static_cast<std::uint32_t>(first / tile * d);
      for (int block = 0; block * tile < tokens * d; ++block) {
        random::normals(stream, first_block + static_cast<std::uint32_t>(block), normal);
        for (int k = 0; k < tile; ++k) {
          T* row = inputs.row(block * tile + k);
          for (int lane = 0; lane < W; ++lane) row[lane] = normal[k][lane];
        }
      }
      for (int token = 0; token < tokens; ++token) {
        const auto input = inputs.after(std::int64_t{token} * d);
        detail::fill<W>(score, T(0));
        detail::add_dot<W>(score, direction, input, d);
        for (int i = 0; i < d; ++i) {
          detail::add_scaled<W>(moments.mean.row(i), T(1), input.row(i));
          detail::add_product<W>(moments.attended.row(i), score, input.row(i));
        }
        detail::add_scaled<W>(moments.score_mean, T(1), score);
        detail::add_product<W>(moments.score_variance, score, score);
      }
    }
    centre<W>(moments, d, T(1) / static_cast<T>(model.context_length));
  }

 private:
  /// From sums to centred means. The scores have mean zero over the inputs, so nothing cancels.
  template <int W>
  INCONTEXT_HD static void centre(ContextMoments<T, W> moments, int dimension, T share) {
    for (int lane = 0; lane < W; ++lane) {
      const T mean = moments.score_mean[lane] * share;
      moments.score_mean[lane] = mean;
      moments.score_variance[lane] = moments.score_variance[lane] * share - mean * mean;
    }
    for (int i = 0; i < dimension; ++i) {
      T* mean = moments.mean.row(i);
      T* attended = moments.attended.row(i);
      for (int lane = 0; lane < W; ++lane) {
        mean[lane] *= share;
        attended[lane] = attended[lane] * share - moments.score_mean[lane] * mean[lane];
      }
    }
  }
};

/// Draws the moments from their law: the mean from N(0, I/l); C from Bartlett's Wishart factor, of which, in a basis
/// that begins with y, only the first column meets y:
///
/// \f[ l\, C y = |y|\, \chi\, (\chi\, \hat y + (I - \hat y \hat y^T)\, h),\quad \chi^2 \sim \chi^2_{l-1},\
///     h \sim N(0, I) \f]
///
/// Source    derived: docs/theory/regression.md#simulators; Bartlett 1933.
/// Limits    y = 0: all zero.
/// Accuracy  against TokenMoments in tests/simulate/regression.cpp.
/// Random    streams input_mean and direction (d normals each), wishart (one chi-square): O(d) in place of O(d l).
/// Runs on   host and device
template <class T>
struct WishartMoments {
  INCONTEXT_HD static std::int64_t scratch_rows(int) { return 0; }

  template <int W>
  INCONTEXT_HD static void draw(const RegressionModel<T>& model, std::uint64_t seed, std::uint64_t first_trial,
                                detail::Scratch<T, W> direction, detail::Scratch<T, W>, ContextMoments<T, W> moments) {
    using std::sqrt;
    const int d = model.dimension;
    const T share = T(1) / static_cast<T>(model.context_length);
    standard_normals<W>(moments.mean, {seed, first_trial, static_cast<std::uint32_t>(Stream::input_mean)}, d);
    standard_normals<W>(moments.attended, {seed, first_trial, static_cast<std::uint32_t>(Stream::direction)}, d);
    alignas(W >= 16 ? 64 : 8) double chi_square[W];
    random::chi_square(random::LaneStream<W>(seed, first_trial, static_cast<std::uint32_t>(Stream::wishart)), 0u,
                       model.context_length - 1, chi_square);

    alignas(W >= 16 ? 64 : 8) T length_square[W];
    alignas(W >= 16 ? 64 : 8) T along[W];   // h . y / |y|^2, then the weight of y in c
    alignas(W >= 16 ? 64 : 8) T across[W];  // weight of h in c
    detail::fill<W>(length_square, T(0));
    detail::fill<W>(along, T(0));
    detail::add_dot<W>(length_square, direction, direction, d);
    detail::add_dot<W>(along, moments.attended, direction, d);
    for (int lane = 0; lane < W; ++lane) {
      const auto square = static_cast<T>(chi_square[lane]);
      const T inverse = length_square[lane] > T(0) ? T(1) / length_square[lane] : T(0);
      across[lane] = share * sqrt(square * length_square[lane]);
      along[lane] = share * square - across[lane] * along[lane] * inverse;
      moments.score_variance[lane] = share * square * length_square[lane];
    }
    const T mean_scale = sqrt(share);
    detail::fill<W>(moments.score_mean, T(0));
    for (int i = 0; i < d; ++i) {
      T* mean = moments.mean.row(i);
      T* attended = moments.attended.row(i);
      const T* y = direction.row(i);
      for (int lane = 0; lane < W; ++lane) {
        mean[lane] *= mean_scale;
        attended[lane] = across[lane] * attended[lane] + along[lane] * y[lane];
        moments.score_mean[lane] += mean[lane] * y[lane];
      }
    }
  }

 private:
  template <int W>
  INCONTEXT_HD static void standard_normals(detail::Scratch<T, W> out, const random::LaneStream<W>& stream, int count) {
    constexpr int per_block = random::normals_per_block<T>;
    alignas(W >= 16 ? 64 : 8) T normal[per_block][W];
    for (int i = 0; i < count; ++i) {
      if (i % per_block == 0) random::normals(stream, static_cast<std::uint32_t>(i / per_block), normal);
      for (int lane = 0; lane < W; ++lane) out.row(i)[lane] = normal[i % per_block][lane];
    }
  }
};

}  // namespace incontext::simulate
