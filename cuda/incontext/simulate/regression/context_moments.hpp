#pragma once

#include <cmath>
#include <cstdint>

#include "incontext/core/host_device.hpp"
#include "incontext/random/chi_square.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/regression_model.hpp"

/// What approximate softmax and linear attention need of a Gaussian context, apart from the labels. In the coordinates
/// g of x = mu_x + A g, with y = A^T M x_q the direction of the scores:
///
/// \f[ \bar g,\qquad c = C y,\qquad v = y^T C y,\qquad \bar z = y^T \bar g,\qquad
///     C = \tfrac1l \sum_j (g_j-\bar g)(g_j-\bar g)^T \f]
///
/// Two structs draw them with the same law: from tokens, and from their sufficient statistics.
namespace incontext::simulate {

/// The moments of a context, in working memory.
///
/// Runs on   host and device
template <class T, int W>
struct ContextMoments {
  LaneArray<T, W> mean;         // gbar: d entries
  LaneArray<T, W> attended;     // c: d entries
  Lanes<T, W>& score_variance;  // v
  Lanes<T, W>& score_mean;      // zbar

  INCONTEXT_HD static constexpr std::int64_t rows(int dimension) { return 2 * std::int64_t{dimension} + 2; }
  INCONTEXT_HD ContextMoments(LaneArray<T, W> scratch, int dimension)
      : mean(scratch.take(dimension)),
        attended(scratch.take(dimension)),
        score_variance(scratch.take(1)[0]),
        score_mean(scratch.take(1)[0]) {}
};

/// Draws every token of the context and sums up.
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
  INCONTEXT_HD static void draw(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> direction,
                                LaneArray<T, W> inputs, const ContextMoments<T, W>& moments) {
    constexpr int tile = random::normals_per_block<T>;
    const int d = model.dimension;
    const random::LaneStream stream(trials, RegressionStream::inputs);
    fill(moments.mean, d, T(0));
    fill(moments.attended, d, T(0));
    moments.score_mean = T(0);
    moments.score_variance = T(0);
    for (std::int64_t first = 0; first < model.context_length && !stop_requested(); first += tile) {
      const std::int64_t left = model.context_length - first;
      const int tokens = left < tile ? static_cast<int>(left) : tile;
      draw_normals(inputs, stream, static_cast<std::uint32_t>(first / tile * d), std::int64_t{tokens} * d);
      for (int token = 0; token < tokens; ++token) {
        const auto input = inputs.after(std::int64_t{token} * d);
        const Lanes<T, W> score = dot(direction, input, d);
        for (int i = 0; i < d; ++i) {
          moments.mean[i] += input[i];
          add_product(moments.attended[i], score, input[i]);
        }
        moments.score_mean += score;
        add_product(moments.score_variance, score, score);
      }
    }
    center(moments, d, T(1) / static_cast<T>(model.context_length));
  }

 private:
  /// From sums to centered means. The scores have mean zero over the inputs, so nothing cancels.
  template <int W>
  INCONTEXT_HD static void center(const ContextMoments<T, W>& moments, int dimension, T share) {
    moments.score_mean *= share;
    moments.score_variance = moments.score_variance * share - moments.score_mean * moments.score_mean;
    for (int i = 0; i < dimension; ++i) {
      moments.mean[i] *= share;
      moments.attended[i] = moments.attended[i] * share - moments.score_mean * moments.mean[i];
    }
  }
};

/// Draws the moments from their law: the mean from N(0, I/l), and C from Bartlett's factor of a Wishart matrix. In a
/// basis that begins with y, only the first column of the factor enters C y, and the others are not drawn:
///
/// \f[ l\, C y = |y|\, \chi\, (\chi\, \hat y + (I - \hat y \hat y^T)\, h),\quad
///     \chi^2 \sim \chi^2_{l-1},\ h \sim N(0, I) \f]
///
/// Source    derived: docs/theory/regression.md#simulators; Bartlett 1933.
/// Limits    y = 0: all zero.
/// Accuracy  against TokenMoments in tests/simulate/regression/regression_error.cpp.
/// Random    streams input_mean and direction (d normals each) and wishart (one chi-square): O(d) in place of O(d l).
/// Runs on   host and device
template <class T>
struct WishartMoments {
  INCONTEXT_HD static std::int64_t scratch_rows(int) { return 0; }

  template <int W>
  INCONTEXT_HD static void draw(const RegressionModel<T>& model, random::Trials<W> trials, LaneArray<T, W> direction,
                                LaneArray<T, W>, const ContextMoments<T, W>& moments) {
    using std::sqrt;
    const int d = model.dimension;
    const T share = T(1) / static_cast<T>(model.context_length);
    draw_normals(moments.mean, random::LaneStream(trials, RegressionStream::input_mean), 0, d);
    draw_normals(moments.attended, random::LaneStream(trials, RegressionStream::direction), 0, d);
    Lanes<double, W> chi_square;
    random::chi_square(random::LaneStream(trials, RegressionStream::wishart), 0, model.context_length - 1, chi_square);

    const auto square = Lanes<T, W>::each([&](int lane) { return static_cast<T>(chi_square[lane]); });
    const Lanes<T, W> length_square = dot(direction, direction, d);
    const Lanes<T, W> product = dot(moments.attended, direction, d);  // h . y
    const auto inverse =
        Lanes<T, W>::each([&](int lane) { return length_square[lane] > T(0) ? T(1) / length_square[lane] : T(0); });
    const Lanes<T, W> across = share * sqrt(square * length_square);        // the weight of h in c
    const Lanes<T, W> along = share * square - across * product * inverse;  // the weight of y in c
    moments.score_variance = share * square * length_square;
    const T mean_scale = sqrt(share);
    moments.score_mean = T(0);
    for (int i = 0; i < d; ++i) {
      moments.mean[i] *= mean_scale;
      moments.attended[i] = across * moments.attended[i] + along * direction[i];
      add_product(moments.score_mean, moments.mean[i], direction[i]);
    }
  }
};

}  // namespace incontext::simulate
