// incontext evaluate FILE|-: computes every case of a file of reference values and compares the results with the
// references in it.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "examples/evaluate/attention.hpp"
#include "examples/evaluate/baselines.hpp"
#include "examples/evaluate/cases.hpp"
#include "examples/evaluate/classification.hpp"
#include "examples/evaluate/laws.hpp"
#include "examples/evaluate/registry.hpp"
#include "examples/evaluate/regression.hpp"
#include "examples/evaluate/scoring.hpp"
#include "examples/evaluate/softmax.hpp"
#include "examples/evaluate/temperature_rules.hpp"
#include "examples/evaluate/training.hpp"
#include "examples/incontext/subcommand.hpp"
#include "examples/support/progress.hpp"

namespace incontext::examples::evaluate {

namespace {

struct EvaluateOptions {
  std::string file;
  bool all_rows = false;
  OutputOptions output = {};
};

void add_evaluate_options(CLI::App& app, EvaluateOptions& o) {
  add_file(app, "file", o.file, "JSON file of cases, or - for standard input");
  add_flag(app, "--all-rows", o.all_rows, "In the table, too, the rows that agree; CSV and JSON always have them");
  head_options(app, "Cases");
  add_output_options(app, o.output);
}

Registry all_kinds() {
  Registry registry;
  register_regression(registry);
  register_laws(registry);
  register_scoring(registry);
  register_attention(registry);
  register_softmax_error(registry);
  register_training(registry);
  register_baselines(registry);
  register_temperature_rules(registry);
  register_classification(registry);
  return registry;
}

Report report_of(const CLI::App& app, EvaluateOptions& o) {
  const auto start = std::chrono::steady_clock::now();
  ProgressLine line(o.output.quiet, ::isatty(STDERR_FILENO) != 0, stderr, "stop");
  const auto progress = [&](std::size_t done, std::size_t all) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    line.show(o.file, static_cast<std::int64_t>(done), static_cast<std::int64_t>(all), passed.count());
  };
  const auto cases = evaluate_cases(o.file, read_whole_file(o.file), all_kinds(), progress);
  line.clear();
  Report report = report_cases(cases, o.output.format != Format::table ? ReportedRows::in_full
                                      : o.all_rows                     ? ReportedRows::all
                                                                       : ReportedRows::not_agreeing);
  const Report whose = report_on(app, UnusedOptions(app));
  report.program = whose.program;
  report.command = whose.command;
  report.arguments = whose.arguments;
  report.start = start;
  return report;
}

}  // namespace

Subcommand subcommand() {
  return reporting<EvaluateOptions>(
      {.name = "evaluate",
       .question = "Do the formulas give the reference values in a file?",
       .description =
           "Computes every case of a JSON file of oracles and compares with the references in it.\n"
           "Exit code: 0 every case agrees, 1 one disagrees, 2 bad input, 3 cases that are not judged: of a\n"
           "kind that is unknown, without a reference, or not finite where no reference says so;\n"
           "each is named.",
       .footer = "\nExamples:\n"
                 "  incontext evaluate tests/oracles/scoring.json\n"
                 "  incontext evaluate - --output computed.json <cases.json\n"},
      add_evaluate_options, report_of);
}

}  // namespace incontext::examples::evaluate
