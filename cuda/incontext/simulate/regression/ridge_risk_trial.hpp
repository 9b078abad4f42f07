#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/wishart.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/regression/regression_model.hpp"
#include "incontext/simulate/regression/row_tokens.hpp"

namespace incontext::simulate {

/// The Gram matrix of a Gaussian context's inputs in the coordinates of the prior: (T B)(T B)^T with T = C^T A and B
/// the Bartlett factor of l - 1 degrees of freedom for the centered inputs, and what their mean adds where it is kept:
/// v v^T, v = sqrt(l) C^T (mean input) = sqrt(l) C^T mu + T z.
///
/// Source    derived: docs/theory/regression.md#simulators.
/// Shapes    transform T: d x d by rows; mean C^T mu: d, or null where the context's mean is removed; gram: lower
///           triangle, entry (i, j) in row i d + j.
/// Random    streams wishart, and input_mean where the mean is kept.
/// Runs on   host and device
struct GaussianGram {
  const double* transform;
  const double* mean;
  std::int64_t context_length;

  INCONTEXT_HD static std::int64_t scratch_rows(int dimension) { return 2 * std::int64_t{dimension} * dimension; }

  template <int W>
  INCONTEXT_HD void draw(random::Trials<W> trials, int d, LaneArray<double, W> gram,
                         LaneArray<double, W> scratch) const {
    const auto factor = scratch.take(std::int64_t{d} * d), product = scratch.take(std::int64_t{d} * d);
    const std::int64_t freedom = context_length - 1;
    const int columns = freedom < d ? static_cast<int>(freedom) : d;
    if (freedom > 0) {
      random::bartlett_factor(trials, {RegressionStream::wishart, RegressionStream::wishart_diagonal}, {d, freedom},
                              factor.base, factor.stride);
    }
    for (int i = 0; i < d && !stop_requested(); ++i) {
      for (int j = 0; j < columns; ++j) {
        Lanes<double, W>& entry = product[i * d + j];
        entry = 0.0;
        for (int k = j; k < d; ++k) {
          if (transform[i * d + k] != 0) add_scaled(entry, transform[i * d + k], factor[k * d + j]);
        }
      }
      for (int j = 0; j <= i; ++j) {
        gram[i * d + j] = 0.0;
        for (int k = 0; k < columns; ++k) add_product(gram[i * d + j], product[i * d + k], product[j * d + k]);
      }
    }
    if (mean != nullptr) add_mean(trials, d, gram, factor, product);
  }

 private:
  template <int W>
  INCONTEXT_HD void add_mean(random::Trials<W> trials, int d, LaneArray<double, W> gram, LaneArray<double, W> normals,
                             LaneArray<double, W> mean_input) const {
    constexpr int per_block = random::normals_per_block<double>;
    const random::LaneStream<W> stream(trials, RegressionStream::input_mean);
    Lanes<double, W> drawn[per_block];
    for (int k = 0; k < d; ++k) {
      if (k % per_block == 0) random::normals(stream, static_cast<std::uint32_t>(k / per_block), drawn);
      normals[k] = drawn[k % per_block];
    }
    const double root = std::sqrt(static_cast<double>(context_length));
    for (int i = 0; i < d; ++i) {
      mean_input[i] = root * mean[i];
      for (int k = 0; k < d; ++k) {
        if (transform[i * d + k] != 0) add_scaled(mean_input[i], transform[i * d + k], normals[k]);
      }
      for (int j = 0; j <= i; ++j) add_product(gram[i * d + j], mean_input[i], mean_input[j]);
    }
  }
};

/// The Gram matrix of a context whose inputs are rows of a data set, drawn with replacement.
///
/// Source    the definition: the sum of outer products, centered where the context's mean is removed.
/// Shapes    rows: count x d, multiplied by C; centered over the data set where the context's mean is removed.
/// Random    stream rows, one word per token.
/// Runs on   host and device
struct RowGram {
  const double* rows;
  std::uint32_t count;
  std::int64_t context_length;
  bool removes_mean;

  INCONTEXT_HD static std::int64_t scratch_rows(int dimension) { return 2 * std::int64_t{dimension}; }

  template <int W>
  INCONTEXT_HD void draw(random::Trials<W> trials, int d, LaneArray<double, W> gram,
                         LaneArray<double, W> scratch) const {
    constexpr int words_per_block = 4;  // one word per token
    const auto sum = scratch.take(d), row = scratch.take(d);
    const random::LaneStream choice(trials, RegressionStream::rows);
    Lanes<std::uint32_t, W> words[words_per_block];
    for (int i = 0; i < d; ++i) {
      sum[i] = 0.0;
      fill(gram.after(i * d), i + 1, 0.0);
    }
    for (std::int64_t token = 0; token < context_length && !stop_requested(); ++token) {
      const int word = static_cast<int>(token % words_per_block);
      if (word == 0) choice.words(static_cast<std::uint32_t>(token / words_per_block), words);
      const Lanes<std::int64_t, W> chosen = choose_rows(words[word], count);
      for (int i = 0; i < d; ++i) {
        row[i] = Lanes<double, W>::each([&](int lane) { return rows[chosen[lane] * d + i]; });
        sum[i] += row[i];
        for (int j = 0; j <= i; ++j) add_product(gram[i * d + j], row[i], row[j]);
      }
    }
    if (!removes_mean) return;
    const double share = 1.0 / static_cast<double>(context_length);
    for (int i = 0; i < d; ++i) {
      for (int j = 0; j <= i; ++j) gram[i * d + j] -= share * sum[i] * sum[j];
    }
  }
};

/// Each trial draws the inputs of one context and returns the risk of ridge regression with the true prior given them,
/// by a Cholesky factorization: with the Gram matrix of all of the context that of the posterior mean, with that of the
/// centered inputs that of the ridge (11).
///
/// \f[ \sigma^2 + \mathrm{tr}(\Lambda P) = \sigma^2 \bigl(1 + |R^{-1} K|_F^2\bigr),\quad
///     R R^T = \sigma^2 I + C^T X^T X C,\ K K^T = C^T \Lambda C \f]
///
/// Source    linear regression with a normal prior; arXiv 2511.01292 eqs. (11), (23)-(32), in the coordinates of the
///           prior W = C C^T.
/// Shapes    one value per trial; second_moment_factor K: d x d lower, by rows.
/// Units     label units squared.
/// Domain    noise_variance > 0.
/// Accuracy  against regression::posterior and centered_ridge on drawn contexts,
///           tests/simulate/regression/ridge_risk.cpp.
/// Random    that of Gram.
/// Runs on   host and device, in double
template <class Gram>
struct RidgeRiskTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "dimension x dimension";
  Gram gram;
  int dimension;
  double noise_variance;
  const double* second_moment_factor;

  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return std::int64_t{dimension} * (dimension + 1) + Gram::scratch_rows(dimension);
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<double, W> scratch, LaneArray<double, W> risk) const {
    const int d = dimension;
    const auto matrix = scratch.take(std::int64_t{d} * d), column = scratch.take(d);
    gram.draw(trials, d, matrix, scratch);
    factorize(matrix);
    Lanes<double, W> total(0.0);
    for (int j = 0; j < d && !stop_requested(); ++j) {  // column j of R^{-1} K, from row j, as K is lower triangular
      for (int i = j; i < d; ++i) {
        column[i] = second_moment_factor[i * d + j];
        for (int k = j; k < i; ++k) subtract_product(column[i], matrix[i * d + k], column[k]);
        column[i] /= matrix[i * d + i];
        add_product(total, column[i], column[i]);
      }
    }
    risk[0] = noise_variance * (1.0 + total);
  }

 private:
  /// Replaces gram by the Cholesky factor of noise_variance I + gram (lower triangle).
  template <int W>
  INCONTEXT_HD void factorize(LaneArray<double, W> matrix) const {
    const int d = dimension;
    for (int i = 0; i < d && !stop_requested(); ++i) {
      for (int j = 0; j <= i; ++j) {
        Lanes<double, W>& entry = matrix[i * d + j];
        if (i == j) entry = entry + noise_variance;
        for (int k = 0; k < j; ++k) subtract_product(entry, matrix[i * d + k], matrix[j * d + k]);
        if (i == j) {
          entry = sqrt(entry);
        } else {
          entry /= matrix[j * d + j];
        }
      }
    }
  }
};

}  // namespace incontext::simulate
