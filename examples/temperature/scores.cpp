#include "examples/temperature/scores.hpp"

#include <string>

#include "examples/support/closed_forms.hpp"
#include "examples/support/data_table.hpp"
#include "examples/temperature/situation.hpp"

namespace incontext::examples {

Table scores_table(const TemperatureOptions& o) {
  const Matrix scores = read_matrix(o.scores);
  const auto estimate = [&] {
    try {
      if (!o.self_scores.empty()) {
        const Matrix self = read_matrix(o.self_scores);
        if (self.cols() != 1)
          throw_input_error("--self-scores " + o.self_scores, "is not one column", self.cols(), "1");
        return regression::moment_ratio_from_scores<double>(scores, Vector(self.col(0)));
      }
      if (o.self_column) {
        return regression::moment_ratio_from_scores<double>(scores, regression::SelfInColumn{*o.self_column});
      }
      return regression::moment_ratio_from_scores<double>(scores, regression::SelfOnDiagonal{});
    } catch (const InputError&) {
      throw;
    } catch (const std::exception& error) {
      throw InputError(o.scores + ": " + error.what());
    }
  }();
  Table table{.title = o.scores + ": " + std::to_string(scores.rows()) + " queries x " + std::to_string(scores.cols()) +
                       " keys",
              .columns = {{"quantity"},
                          {.name = "value", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1}}};
  table.add_row({"moment-ratio temperature", estimate.ratio, estimate.standard_error});
  table.add_row({"mean squared score of other keys", estimate.second_moment, std::monostate{}});
  table.add_row({"mean score of a query on itself", estimate.first_moment, std::monostate{}});
  table.notes = {"Temperature ≈ E[z_j²] / E[z_q]; the error is a jackknife over queries (delta method: " +
                     in_words(estimate.delta_standard_error) + ").",
                 "The scores are taken as they stand: raw, before any temperature."};
  return table;
}

}  // namespace incontext::examples
