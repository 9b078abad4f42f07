#pragma once

#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/simulate/engine/lanes.hpp"

namespace incontext::simulate {

/// The learning rates of descents, one after the other: those of descent k begin at rates[starts[k]] and end before
/// rates[starts[k + 1]].
///
/// Runs on   host and device
struct DescentRates {
  int count;
  const std::int64_t* starts;
  const double* rates;
};

/// Each trial draws a task, the inputs of a context and its labels, lets gradient descent and ridge regression estimate
/// the task from them, and returns the squared errors of their answers, averaged over the query. It uses no spectrum
/// and none of the formulas that it judges.
///
/// \f[ \sigma^2 + |\hat w - w|^2,\quad \hat w_{k+1} = \hat w_k + \frac{\eta_k}{l} X^T (y - X \hat w_k)
///     \quad\text{or}\quad (X^T X + \lambda I)\,\hat w = X^T y \f]
///
/// Source    the definitions; layers of linear attention are steps of descent: von Oswald et al., arXiv 2212.07677.
/// Shapes    one value per descent, then one per penalty.
/// Units     label units squared.
/// Domain    penalties positive, or 0 where the examples are more than the dimensions.
/// Accuracy  against matrices of another library, tests/simulate/baselines/baseline_errors.cpp.
/// Random    streams task (d normals), inputs (d normals per example, in blocks of its own) and noise.
/// Runs on   host and device, in double
struct BaselineTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "dimension x dimension";
  int dimension;
  std::int64_t examples;
  double task_stddev, noise_stddev;
  DescentRates descents;
  int penalty_count;
  const double* penalties;

  INCONTEXT_HD int outputs() const { return descents.count + penalty_count; }
  INCONTEXT_HD std::int64_t scratch_rows() const {
    return 2 * std::int64_t{dimension} * dimension + 5 * std::int64_t{dimension};
  }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, LaneArray<double, W> scratch, LaneArray<double, W> errors) const {
    const int d = dimension;
    const auto task = scratch.take(d), input = scratch.take(d), moment = scratch.take(d), estimate = scratch.take(d);
    const auto rest = scratch.take(d), gram = scratch.take(std::int64_t{d} * d);
    draw_normals(task, random::LaneStream(trials, random::RegressionStream::task), 0, d);
    for (int i = 0; i < d; ++i) task[i] *= task_stddev;
    read_context(trials, task, input, moment, gram);
    for (int k = 0; k < descents.count; ++k) {
      descend(k, gram, moment, estimate, rest);
      errors[k] = squared_distance(estimate, task) + noise_stddev * noise_stddev;
    }
    for (int k = 0; k < penalty_count; ++k) {
      solve(penalties[k], gram, moment, estimate, scratch);
      errors[descents.count + k] = squared_distance(estimate, task) + noise_stddev * noise_stddev;
    }
  }

 private:
  /// Draws the examples, and adds up X^T X (lower triangle, by rows) and X^T y.
  template <int W>
  INCONTEXT_HD void read_context(random::Trials<W> trials, LaneArray<double, W> task, LaneArray<double, W> input,
                                 LaneArray<double, W> moment, LaneArray<double, W> gram) const {
    constexpr int per_block = random::normals_per_block<double>;
    const int d = dimension;
    const random::LaneStream inputs(trials, random::RegressionStream::inputs);
    const random::LaneStream noise(trials, random::RegressionStream::noise);
    const auto blocks = static_cast<std::uint32_t>((d + per_block - 1) / per_block);
    Lanes<double, W> normal[per_block];
    fill(moment, d, 0.0);
    fill(gram, std::int64_t{d} * d, 0.0);
    for (std::int64_t j = 0; j < examples && !stop_requested(); ++j) {
      if (j % per_block == 0) random::normals(noise, static_cast<std::uint32_t>(j / per_block), normal);
      draw_normals(input, inputs, static_cast<std::uint32_t>(j) * blocks, d);
      Lanes<double, W> label = noise_stddev * normal[j % per_block];
      add_dot(label, task, input, d);
      for (int i = 0; i < d; ++i) {
        add_product(moment[i], input[i], label);
        for (int m = 0; m <= i; ++m) add_product(gram[i * d + m], input[i], input[m]);
      }
    }
  }

  template <int W>
  INCONTEXT_HD void descend(int descent, LaneArray<double, W> gram, LaneArray<double, W> moment,
                            LaneArray<double, W> estimate, LaneArray<double, W> rest) const {
    const int d = dimension;
    fill(estimate, d, 0.0);
    for (std::int64_t k = descents.starts[descent]; k < descents.starts[descent + 1] && !stop_requested(); ++k) {
      for (int i = 0; i < d; ++i) {
        rest[i] = moment[i];
        for (int m = 0; m < d; ++m) subtract_product(rest[i], gram[m <= i ? i * d + m : m * d + i], estimate[m]);
      }
      const double step = descents.rates[k] / static_cast<double>(examples);
      for (int i = 0; i < d; ++i) add_scaled(estimate[i], step, rest[i]);
    }
  }

  /// Ridge regression by a Cholesky factorization.
  template <int W>
  INCONTEXT_HD void solve(double penalty, LaneArray<double, W> gram, LaneArray<double, W> moment,
                          LaneArray<double, W> estimate, LaneArray<double, W> factor) const {
    const int d = dimension;
    for (int i = 0; i < d && !stop_requested(); ++i) {
      estimate[i] = moment[i];
      for (int j = 0; j <= i; ++j) {
        Lanes<double, W>& entry = factor[i * d + j];
        entry = gram[i * d + j];
        if (i == j) entry = entry + penalty;
        for (int k = 0; k < j; ++k) subtract_product(entry, factor[i * d + k], factor[j * d + k]);
        if (i == j) {
          entry = sqrt(entry);
        } else {
          entry /= factor[j * d + j];
          subtract_product(estimate[i], entry, estimate[j]);
        }
      }
      estimate[i] /= factor[i * d + i];
    }
    for (int i = d - 1; i >= 0; --i) {
      for (int k = i + 1; k < d; ++k) subtract_product(estimate[i], factor[k * d + i], estimate[k]);
      estimate[i] /= factor[i * d + i];
    }
  }

  template <int W>
  INCONTEXT_HD Lanes<double, W> squared_distance(LaneArray<double, W> a, LaneArray<double, W> b) const {
    Lanes<double, W> sum(0.0);
    for (int i = 0; i < dimension; ++i) {
      const Lanes<double, W> apart = a[i] - b[i];
      add_product(sum, apart, apart);
    }
    return sum;
  }
};

}  // namespace incontext::simulate
