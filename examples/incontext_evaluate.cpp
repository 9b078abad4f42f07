// incontext-evaluate FILE|-: computes every case of a file of reference values and compares the results with the
// references in it.

#include <chrono>
#include <string>
#include <utility>

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
#include "examples/support/unused_options.hpp"

int main(int argc, char** argv) {
  using namespace incontext::examples;
  using namespace incontext::examples::evaluate;
  std::string file;
  OutputOptions output;
  const auto add_options = [&](CLI::App& app) {
    add_file(app, "file", file, "JSON file of cases, or - for standard input");
    add_output_options(app, output);
  };
  const auto evaluate = [&](const CLI::App& app) {
    const auto start = std::chrono::steady_clock::now();
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
    report.start = start;
    report.command = command_of(app);
    report.arguments = arguments_of(app);
    return deliver(std::move(report), output);
  };
  return run_program(
      {.name = "incontext-evaluate",
       .description =
           "Computes every case of a JSON file of oracles and compares with the references in it.\n"
           "Exit code: 0 every case agrees, 1 one disagrees, 2 bad input, 3 cases that are not judged: of a\n"
           "kind that is unknown, without a reference, or not finite where no reference says so;\n"
           "each is named.",
       .footer = "\nExamples:\n"
                 "  incontext-evaluate tests/oracles/scoring.json\n"
                 "  incontext-evaluate - --output computed.json <cases.json\n"},
      argc, argv, add_options, evaluate);
}
