#include <incontext/calibration/visible_scores.hpp>
#include <incontext/regression/moment_ratio_from_scores.hpp>

#include <cmath>
#include <exception>
#include <string>

#include "examples/calibrate/tables.hpp"
#include "examples/support/closed_forms.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

using Estimate = regression::MomentRatioEstimate<double>;

/// The scores of a head as a matrix, which the jackknife over queries needs.
regression::Matrix<double> matrix_of(const MappedScores& scores, HeadPlace place, const CalibrateOptions& o) {
  const auto one = calibration::one_head(scores.array(), place.layer, place.head);
  if (one.queries() != one.keys()) {
    throw_input_error(scores.file(), "is not square, so that no score of a query on itself is known",
                      std::to_string(one.queries()) + " x " + std::to_string(one.keys()), "as many keys as queries");
  }
  constexpr std::int64_t most = 16384;
  if (one.keys() > most)
    throw_input_error(scores.file(), "has too many keys for --shifted", one.keys(), "at most 16384");
  regression::Matrix<double> matrix(one.queries(), one.keys());
  for (std::int64_t q = 0; q < one.queries(); ++q) {
    for (std::int64_t k = 0; k < one.keys(); ++k) {
      const double score = calibration::score_at(one, q, k);
      const bool masked = score <= calibration::highest_mask || (o.causal && k > q);
      matrix(q, k) = masked ? -INFINITY : o.inverse_temperature * score;
    }
  }
  return matrix;
}

Estimate ratio_of(const MappedScores& scores, HeadPlace place, const CalibrateOptions& o) {
  const auto matrix = matrix_of(scores, place, o);
  try {
    return regression::moment_ratio_from_scores<double>(matrix, regression::SelfOnDiagonal{});
  } catch (const std::exception& error) {
    throw InputError(scores.file() + ": " + without_function(error.what()));
  }
}

}  // namespace

Table shifted_table(const MappedScores& training, const MappedScores& shifted, HeadPlace place,
                    const CalibrateOptions& o) {
  const Estimate before = ratio_of(training, place, o), after = ratio_of(shifted, place, o);
  const double change = after.ratio / before.ratio;
  const double relative = std::hypot(before.standard_error / before.ratio, after.standard_error / after.ratio);
  Table table{.title = "Layer " + std::to_string(place.layer) + ", head " + std::to_string(place.head) +
                       ": the moment-ratio temperature",
              .columns = {{"sample"},
                          {.name = "queries"},
                          {.name = "temperature", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1}}};
  table.add_row({"training, " + training.file(), before.queries, before.ratio, before.standard_error});
  table.add_row({"shifted, " + shifted.file(), after.queries, after.ratio, after.standard_error});
  table.add_row({"shifted over training", std::monostate{}, change, change * relative});
  table.notes = {
      "E[z_j²] / E[z_q] (arXiv 2511.01292 eq. 20), errors by a jackknife over queries. The last row is the "
      "temperature for the shifted data, if the head is right at temperature 1 for its training data."};
  return table;
}

}  // namespace incontext::examples::calibrate
