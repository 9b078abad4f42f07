#include <string>

#include "examples/calibrate/tables.hpp"

namespace incontext::examples::calibrate {

Table shifted_table(const calibration::ShiftedTemperature& found, const std::string& training_file,
                    const std::string& shifted_file, HeadPlace place) {
  Table table{.title = "Layer " + std::to_string(place.layer) + ", head " + std::to_string(place.head) +
                       ": the moment-ratio temperature",
              .columns = {{"sample"},
                          {.name = "queries"},
                          {.name = "temperature", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1}}};
  const auto add = [&](const std::string& name, const regression::MomentRatioEstimate<double>& estimate) {
    table.add_row({name, estimate.queries, estimate.ratio, estimate.standard_error});
  };
  add("training, " + training_file, found.training);
  add("shifted, " + shifted_file, found.shifted);
  table.add_row({"shifted over training", std::monostate{}, found.quotient, found.quotient_error});
  table.notes = {
      "E[z_j²] / E[z_q] (arXiv 2511.01292 eq. 20), errors by a jackknife over queries. The last row is the "
      "temperature for the shifted data, if the head is right at temperature 1 for its training data."};
  return table;
}

}  // namespace incontext::examples::calibrate
