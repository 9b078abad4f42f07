#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/wishart.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/trials/regression_model.hpp"
#include "incontext/simulate/trials/row_tokens.hpp"

namespace incontext::simulate {

/// The Gram matrix of a Gaussian context's centred inputs in the coordinates of the prior: (T B)(T B)^T with T = C^T A
/// and Bartlett's B of l - 1 degrees of freedom.
///
/// Source    derived: docs/theory/regression.md#simulators.
/// Shapes    transform T: d x d by rows; gram: lower triangle, entry (i, j) in row i d + j.
/// Random    stream wishart.
/// Runs on   host and device
struct GaussianGram {
  const double* transform;
  std::int64_t context_length;

  INCONTEXT_HD static std::int64_t scratch_rows(int dimension) { return 2 * std::int64_t{dimension} * dimension; }

  template <int W>
  INCONTEXT_HD void draw(std::uint64_t seed, std::uint64_t first_trial, int d, detail::Scratch<double, W> gram,
                         detail::Scratch<double, W> scratch) const {
    const auto factor = scratch;
    const auto product = scratch.after(std::int64_t{d} * d);
    const std::int64_t freedom = context_length - 1;
    const int columns = freedom < d ? static_cast<int>(freedom) : d;
    random::bartlett_factor<W>(seed, first_trial, static_cast<std::uint32_t>(Stream::wishart), {d, freedom},
                               factor.row(0), factor.stride);
    for (int i = 0; i < d && !stop_requested(); ++i) {
      for (int j = 0; j < columns; ++j) {
        double* entry = product.row(i * d + j);
        detail::fill<W>(entry, 0.0);
        for (int k = j; k < d; ++k) {
          if (transform[i * d + k] != 0) detail::add_scaled<W>(entry, transform[i * d + k], factor.row(k * d + j));
        }
      }
      for (int j = 0; j <= i; ++j) {
        detail::fill<W>(gram.row(i * d + j), 0.0);
        for (int k = 0; k < columns; ++k) {
          detail::add_product<W>(gram.row(i * d + j), product.row(i * d + k), product.row(j * d + k));
        }
      }
    }
  }
};

/// The same from rows of a data set drawn with replacement.
///
/// Source    the definition: the centred sum of outer products.
/// Shapes    rows: count x d, already centred over the data set and multiplied by C.
/// Random    stream rows, one word a token.
/// Runs on   host and device
struct RowGram {
  const double* rows;
  std::uint32_t count;
  std::int64_t context_length;

  INCONTEXT_HD static std::int64_t scratch_rows(int dimension) { return 2 * std::int64_t{dimension}; }

  template <int W>
  INCONTEXT_HD void draw(std::uint64_t seed, std::uint64_t first_trial, int d, detail::Scratch<double, W> gram,
                         detail::Scratch<double, W> scratch) const {
    const auto sum = scratch;
    const auto row = scratch.after(d);
    const random::LaneStream<W> choice(seed, first_trial, static_cast<std::uint32_t>(Stream::rows));
    std::uint32_t words[4][W];
    std::int64_t chosen[W];
    for (int i = 0; i < d; ++i) {
      detail::fill<W>(sum.row(i), 0.0);
      for (int j = 0; j <= i; ++j) detail::fill<W>(gram.row(i * d + j), 0.0);
    }
    for (std::int64_t token = 0; token < context_length && !stop_requested(); ++token) {
      if (token % 4 == 0) choice.words(static_cast<std::uint32_t>(token / 4), words);
      choose_rows<W>(words[token % 4], count, chosen);
      for (int i = 0; i < d; ++i) {
        for (int lane = 0; lane < W; ++lane) row.row(i)[lane] = rows[chosen[lane] * d + i];
        detail::add_scaled<W>(sum.row(i), 1.0, row.row(i));
        for (int j = 0; j <= i; ++j) detail::add_product<W>(gram.row(i * d + j), row.row(i), row.row(j));
      }
    }
    const double share = 1.0 / static_cast<double>(context_length);
    for (int i = 0; i < d; ++i) {
      for (int j = 0; j <= i; ++j) {
        for (int lane = 0; lane < W; ++lane) {
          gram.row(i * d + j)[lane] -= share * sum.row(i)[lane] * sum.row(j)[lane];
        }
      }
    }
  }
};

/// One trial of the Bayes ridge: the risk of the posterior mean given the inputs of one context, by a Cholesky
/// factorisation in every lane.
///
/// \f[ \sigma^2 + \mathrm{tr}(\Lambda P) = \sigma^2 \bigl(1 + |R^{-1} K|_F^2\bigr),\quad
///     R R^T = \sigma^2 I + C^T X_c^T X_c C,\ K K^T = C^T \Lambda C \f]
///
/// Source    arXiv 2511.01292 eqs. (11), (23)-(32), in the coordinates of the prior W = C C^T.
/// Shapes    one value a trial; second_moment_factor K: d x d lower, by rows.
/// Units     label units squared.
/// Domain    noise_variance > 0.
/// Accuracy  against regression::bayes_ridge on drawn contexts, tests/simulate/bayes_ridge.cpp.
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
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, detail::Scratch<double, W> scratch,
                        double* values, std::int64_t) const {
    const int d = dimension;
    const auto matrix = scratch;
    const auto column = scratch.after(std::int64_t{d} * d);
    gram.template draw<W>(seed, first_trial, d, matrix, scratch.after(std::int64_t{d} * (d + 1)));
    factorise<W>(matrix);
    alignas(W >= 16 ? 64 : 8) double total[W];
    detail::fill<W>(total, 0.0);
    for (int j = 0; j < d && !stop_requested(); ++j) {  // column j of R^{-1} K, from row j, as K is lower triangular
      for (int i = j; i < d; ++i) {
        double* entry = column.row(i);
        detail::fill<W>(entry, second_moment_factor[i * d + j]);
        for (int k = j; k < i; ++k) subtract_product<W>(entry, matrix.row(i * d + k), column.row(k));
        const double* pivot = matrix.row(i * d + i);
        for (int lane = 0; lane < W; ++lane) entry[lane] /= pivot[lane];
        detail::add_product<W>(total, entry, entry);
      }
    }
    for (int lane = 0; lane < W; ++lane) values[lane] = noise_variance * (1.0 + total[lane]);
  }

 private:
  template <int W>
  INCONTEXT_HD static void subtract_product(double* __restrict__ y, const double* a, const double* b) {
    for (int lane = 0; lane < W; ++lane) y[lane] -= a[lane] * b[lane];
  }

  /// Cholesky in place of noise_variance I + gram, lower triangle.
  template <int W>
  INCONTEXT_HD void factorise(detail::Scratch<double, W> matrix) const {
    using std::sqrt;
    const int d = dimension;
    for (int i = 0; i < d && !stop_requested(); ++i) {
      for (int j = 0; j <= i; ++j) {
        double* entry = matrix.row(i * d + j);
        if (i == j) {
          for (int lane = 0; lane < W; ++lane) entry[lane] += noise_variance;
        }
        for (int k = 0; k < j; ++k) subtract_product<W>(entry, matrix.row(i * d + k), matrix.row(j * d + k));
        const double* pivot = matrix.row(j * d + j);
        for (int lane = 0; lane < W; ++lane) entry[lane] = i == j ? sqrt(entry[lane]) : entry[lane] / pivot[lane];
      }
    }
  }
};

}  // namespace incontext::simulate
