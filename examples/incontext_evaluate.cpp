// incontext-evaluate FILE|-: computes every case of an oracle file and compares with the references it carries.

#include <string>

#include "examples/evaluate/attention.hpp"
#include "examples/evaluate/cases.hpp"
#include "examples/evaluate/classification.hpp"
#include "examples/evaluate/laws.hpp"
#include "examples/evaluate/registry.hpp"
#include "examples/evaluate/regression.hpp"
#include "examples/evaluate/scoring.hpp"
#include "examples/evaluate/softmax.hpp"
#include "examples/evaluate/training.hpp"
#include "examples/support/command_line.hpp"
#include "examples/support/deliver.hpp"

int main(int argc, char** argv) {
  using namespace incontext::examples;
  std::string file;
  OutputOptions output;
  const auto add_options = [&](CLI::App& app) {
    add_file(app, "file", file, "JSON file of cases, or - for standard input");
    add_output_options(app, output);
  };
  const auto evaluate = [&](const CLI::App& app) {
    if (!output.to_standard_output()) require_writable(output.file);
    Registry registry;
    register_regression(registry);
    register_laws(registry);
    register_scoring(registry);
    register_attention(registry);
    register_softmax_error(registry);
    register_training(registry);
    register_classification(registry);
    const auto cases = evaluate_cases(file, read_whole_file(file), registry);
    Report report = report_cases(cases, output.format != Format::table);
    report.arguments = arguments_of(app);
    deliver(report, output);
    return report.verdict.agrees ? exit_agreement : exit_disagreement;
  };
  return run_program(
      {.name = "incontext-evaluate",
       .description = "Computes every case of a JSON file of oracles and compares with the references in it.\n"
                      "A kind that is unknown is listed and counted, no more.\n"
                      "Exit code: 0 all agree, 1 a mismatch, 2 bad input."},
      argc, argv, add_options, evaluate);
}
