#include "examples/temperature/scores.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <incontext/regression/moment_ratio.hpp>
#include <string>
#include <utility>

#include "examples/support/data_table.hpp"
#include "examples/temperature/situation.hpp"
#include "incontext/scoring/scoring.hpp"

namespace incontext::examples::temperature {

namespace {

using Estimate = regression::MomentRatioEstimate<double>;

void mask_later_keys(Matrix& scores) {
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    const Eigen::Index seen = scoring::visible_keys(scoring::Visibility::causal, i, scores.rows(), scores.cols());
    scores.row(i).tail(scores.cols() - seen).setConstant(-INFINITY);
  }
}

Estimate with_self_scores(const TemperatureOptions& o, const Matrix& scores) {
  const Matrix self = read_matrix(o.self_scores).values;
  if (std::min(self.rows(), self.cols()) != 1 || self.size() != scores.rows()) {
    throw_input_error("--self-scores " + o.self_scores, "has the wrong size",
                      std::to_string(self.rows()) + " x " + std::to_string(self.cols()),
                      "a number for each of the " + std::to_string(scores.rows()) + " queries");
  }
  return regression::moment_ratio_from_scores<double>(scores, Vector(self.reshaped()));
}

Estimate with_self_column(const TemperatureOptions& o, const Matrix& scores) {
  if (*o.self_column > scores.cols()) {
    throw_input_error("--self-column", "is not a column of " + o.scores, *o.self_column,
                      "1 to " + std::to_string(scores.cols()));
  }
  return regression::moment_ratio_from_scores<double>(scores, regression::SelfInColumn{*o.self_column - 1});
}

Estimate with_self_on_diagonal(const TemperatureOptions& o, const Matrix& scores) {
  if (scores.rows() != scores.cols()) {
    throw_input_error("--scores " + o.scores, "is not square",
                      std::to_string(scores.rows()) + " x " + std::to_string(scores.cols()),
                      "as many keys as queries, or --self-column or --self-scores");
  }
  return regression::moment_ratio_from_scores<double>(scores, regression::SelfOnDiagonal{});
}

Estimate estimate_of(const TemperatureOptions& o, const Matrix& scores) {
  try {
    if (!o.self_scores.empty()) return with_self_scores(o, scores);
    return o.self_column ? with_self_column(o, scores) : with_self_on_diagonal(o, scores);
  } catch (const InputError&) {
    throw;
  } catch (const std::exception& error) {
    throw InputError("--scores " + o.scores + ": " + without_function(error.what()));
  }
}

}  // namespace

Table scores_table(const TemperatureOptions& o) {
  MatrixFile read = read_scores(o.scores);
  Matrix& scores = read.values;
  if (o.causal) mask_later_keys(scores);
  for (Eigen::Index i = 0; i < scores.rows() && !o.no_finite_masks; ++i) {
    std::vector<double> row(scores.row(i).begin(), scores.row(i).end());
    hide_finite_masks(row, o.scores + ": row " + std::to_string(i + 1));
    scores.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), scores.cols());
  }
  const Estimate estimate = estimate_of(o, scores);
  Table table{.name = "moment_ratio",
              .title = o.scores + ": " + std::to_string(scores.rows()) + " queries x " + std::to_string(scores.cols()) +
                       " keys" + (o.causal ? ", causal" : ""),
              .columns = {{"quantity"},
                          {.name = "value", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1}},
              .notes = std::move(read.notes)};
  table.add_row({"moment-ratio temperature", estimate.ratio, estimate.standard_error});
  table.add_row({"mean squared score of other keys", estimate.second_moment, std::monostate{}});
  table.add_row({"mean score of a query on itself", estimate.first_moment, std::monostate{}});
  table.notes.push_back("Temperature ≈ E[z_j²] / E[z_q]; the error is a jackknife over queries (delta method: " +
                        in_words(estimate.delta_standard_error) + ").");
  table.notes.push_back("The scores must be raw: they are used as given, without division by a temperature.");
  const std::int64_t left_out = scores.rows() - estimate.queries;
  if (scores.minCoeff() == -INFINITY) {
    table.notes.push_back(
        "Each query counts once, with the mean over the other keys it sees. Queries left out, because they "
        "see no other key or do not see themselves: " +
        std::to_string(left_out) + " of " + std::to_string(scores.rows()) + " queries.");
  }
  return table;
}

}  // namespace incontext::examples::temperature
