// incontext calibrate: what a head of a real model does, whether the laws of normal rows describe it, and which inverse
// temperature keeps it the same in longer rows; all from its raw attention scores.

#include <optional>
#include <utility>

#include "examples/calibrate/measurement.hpp"
#include "examples/calibrate/options.hpp"
#include "examples/calibrate/plot.hpp"
#include "examples/calibrate/tables.hpp"
#include "examples/incontext/subcommand.hpp"

namespace incontext::examples::calibrate {

namespace {

using namespace incontext::examples;
using namespace incontext::examples::calibrate;
using incontext::calibration::HeadCalibration;

/// The head to be shown in detail: the one asked for, or the only one.
std::optional<HeadPlace> detailed_head(const CalibrateOptions& o, const MappedScores& scores) {
  const auto& array = scores.array();
  if (o.head && (o.head->layer >= array.layers() || o.head->head >= array.heads())) {
    throw_input_error(
        "--head", "is not in " + scores.file(), std::to_string(o.head->layer) + "," + std::to_string(o.head->head),
        "layers 0 to " + std::to_string(array.layers() - 1) + ", heads 0 to " + std::to_string(array.heads() - 1));
  }
  if (o.head) return o.head;
  if (array.layers() * array.heads() == 1) return HeadPlace{0, 0};
  for (const auto& [option, given] :
       {std::pair("--plot", !o.plot.empty()), {"--shifted", !o.shifted.empty()}, {"--gap", o.gap.has_value()}}) {
    if (given) throw InputError(std::string(option) + " is about one head (needs --head LAYER,HEAD)");
  }
  return {};
}

void add_detail(Report& report, const CalibrateOptions& o, const MappedScores& scores, const HeadCalibration& head) {
  const incontext::calibration::HeadDetail one = describe(scores, head, o);
  for (Table& table : detail_tables(one, o)) report.tables.push_back(std::move(table));
  if (!o.shifted.empty()) {
    const MappedScores other(o.shifted);
    const HeadPlace place{head.layer, head.head};
    report.tables.push_back(shifted_table(shifted(scores, other, place, o), scores.file(), other.file(), place));
  }
  if (!o.plot.empty()) write_file(o.plot, drawing_of(one), "--plot");
}

Report report_of(const CLI::App& app, CalibrateOptions& options) {
  Report report = report_on(app, check_combination(app, options));
  const MappedScores scores(options.scores);
  const auto place = detailed_head(options, scores);
  const auto measured = measure(scores, options);
  const auto heads = calibrate_all(measured, options);
  report.tables = summary_tables(heads, measured, scores, options);
  for (const HeadCalibration& head : heads) {
    if (place && head.layer == place->layer && head.head == place->head) add_detail(report, options, scores, head);
  }
  return report;
}

}  // namespace

Subcommand subcommand() {
  return reporting<CalibrateOptions>(
      {.name = "calibrate",
       .question = "What do the heads of your own model do, and which temperature suits longer rows?",
       .description =
           "What do the heads of a model do, and at which temperature? Reads raw attention scores (before softmax),\n"
           "measures the law of the scores in a row and of the weights, and puts beside them what the laws of rows of\n"
           "normal scores predict from the row length and the scores' standard deviation alone. For one head: where "
           "it\n"
           "fades or freezes, and the inverse temperatures that hold entropy, largest weight or a needle's weight in\n"
           "longer rows. A score of -inf, or a large negative one (at most -5000, such as -1e4), masks a key.\n"
           "Exit code: 0 the report is complete, whatever it says about the heads, 2 bad input.",
       .footer = "\nExamples:\n"
                 "  incontext calibrate --scores scores.npy --causal\n"
                 "  incontext calibrate --scores scores.npy --causal --head 3,5 --gap 6 --plot head.svg\n"
                 "  incontext calibrate --scores scores.npy --format json --output heads.json\n"},
      add_calibrate_options, report_of);
}

}  // namespace incontext::examples::calibrate
