#pragma once

#include <cstdint>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/simulate/regression/regression_run.hpp"
#include "incontext/simulate/regression/regression_types.hpp"
#include "incontext/simulate/regression/row_tokens.hpp"

namespace incontext::simulate {

/// The mean squared error of single-layer attention, simulated, when contexts and queries are rows of a data set, drawn
/// with replacement.
///
///     const simulate::RowLabels labels{.task_mean = beta, .noise_variance = 0.1};
///     const auto run = simulate::regression_error_on_rows(attention, rows, labels, 40, maps, {.seed = 7});
///
/// Source    the law regression::any_law_error and regression::labeled_rows_error are exact for.
/// Shapes    (attention: d, rows: n x d, maps: m) -> m estimates
/// Units     label units squared.
/// Domain    context_length >= 2; n >= 1 and below 2^32.
/// Errors    as regression_error; std::invalid_argument for shapes.
/// Accuracy  standard error in the result, and a bound on its rounding, as regression_error:
///           tests/simulate/regression/regression_error_on_rows.cpp.
/// Random    bits depend on seed and number of trials alone.
/// Runs on   serial, OpenMP, TBB, CUDA
template <class T = float, StreamedScoring Map>
Simulation regression_error_on_rows(const regression::Attention<double>& attention,
                                    const regression::Matrix<double>& rows, const RowLabels& labels,
                                    std::int64_t context_length, const std::vector<Map>& maps, const Options& options,
                                    const regression::ErrorConvention& convention = {});

// The sizes of what a trial on the rows of a data set adds.
namespace detail {

/// The root mean squares of what a trial adds, on which its rounding error depends, for contexts drawn from the rows of
/// a data set. Their scores are computed with the mean over the rows, which is then subtracted.
template <class Map>
RegressionScales scales_on_rows(const regression::Attention<double>& attention, const regression::Matrix<double>& rows,
                                const RowLabels& labels) {
  const double share = 1 / static_cast<double>(rows.rows());
  const regression::Matrix<double> moment = share * plain_product(rows.transpose(), rows);
  const regression::Matrix<double> centered = rows.rowwise() - plain_mean(rows).transpose();
  const regression::Matrix<double> covariance = share * plain_product(centered.transpose(), centered);
  double label_square = labels.noise_variance, label_variance = labels.noise_variance;
  if (labels.labels.size() > 0) {
    label_square = share * labels.labels.squaredNorm();
    label_variance = share * (labels.labels.array() - labels.labels.mean()).square().sum();
  } else {
    const regression::Matrix<double> task_moment =
        labels.task_covariance + plain_product(labels.task_mean, labels.task_mean.transpose());
    label_square += trace_of_product(task_moment, moment);
    label_variance += trace_of_product(task_moment, covariance);
  }
  RegressionScales scales = regression_scales(attention, moment, covariance, label_square, label_variance);
  if constexpr (reads_raw_scores<Map>) scales.score = scales.raw_score;
  return scales;
}

}  // namespace detail

template <class T, StreamedScoring Map>
Simulation regression_error_on_rows(const regression::Attention<double>& attention,
                                    const regression::Matrix<double>& rows, const RowLabels& labels,
                                    std::int64_t context_length, const std::vector<Map>& maps, const Options& options,
                                    const regression::ErrorConvention& convention) {
  constexpr auto where = "simulate::regression_error_on_rows";
  validate(options);
  const auto d = rows.cols();
  require_at_least(where, "rows.rows()", rows.rows(), Eigen::Index{1});
  const bool own_labels = labels.labels.size() > 0;
  if (own_labels) require_same_size(where, "labels.size()", labels.labels.size(), rows.rows());
  if (!own_labels) {
    require_same_size(where, "task_mean.size()", labels.task_mean.size(), d);
    regression::require_positive_semidefinite(where, "task_covariance", labels.task_covariance, d);
  }
  const regression::Vector<double> task_mean = own_labels ? regression::Vector<double>::Zero(d) : labels.task_mean;
  const regression::Matrix<double> task_factor =
      own_labels ? regression::Matrix<double>::Zero(d, d) : detail::plain_cholesky(labels.task_covariance);
  const auto grid = detail::checked_grid<T>(maps, context_length, convention, Estimator::literal);
  const Device device = resolve(options.device, options.gpu);
  Simulation simulation = detail::with_system(device, [&](auto system) {
    using System = decltype(system);
    using Memory = typename System::template Memory<T>;
    const RegressionModelStorage<T, System::template Memory> storage(
        attention, detail::plain_mean(rows), regression::Matrix<double>::Identity(d, d), task_mean, task_factor,
        own_labels ? 0.0 : labels.noise_variance, context_length);
    const std::vector<T> row_numbers = detail::held_by_rows<T>(where, "rows", rows);
    const std::vector<T> label_numbers = detail::held_by_rows<T>(where, "labels", labels.labels);
    const Memory row_memory(row_numbers.begin(), row_numbers.end());
    const Memory label_memory(label_numbers.begin(), label_numbers.end());
    const RowTokens<T> tokens{detail::address(row_memory), own_labels ? detail::address(label_memory) : nullptr,
                              static_cast<std::uint32_t>(rows.rows())};
    return detail::run_literal<System, Map>(device, storage.model(), tokens, grid, convention, options);
  });
  detail::set_rounding<T>(simulation, detail::scales_on_rows<Map>(attention, rows, labels), d, context_length, maps,
                          convention.query);
  return simulation;
}

}  // namespace incontext::simulate
