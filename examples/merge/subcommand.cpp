// incontext merge: unites the records of all parts of a run, which programs write with --part, to that of the whole.

#include <incontext/simulate/engine/records/united_records.hpp>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/output.hpp"
#include "examples/support/record_file.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::merge {

namespace {

int merge(const std::vector<std::string>& files, const std::string& output) {
  std::error_code error;
  if (std::filesystem::exists(output, error)) {
    throw_input_error("--output", "exists already", output, "the name of a new file");
  }
  std::string settings;
  std::vector<simulate::RecordedPart> parts;
  for (const std::string& file : files) {
    RecordedRun run = read_record(file, "FILE");
    if (!run.complete) throw_input_error("FILE", "is the record of an unfinished run", file, "--resume of it first");
    if (!run.trainings.empty())
      throw_input_error("FILE", "is the record of a training, which has no parts", file, "parts");
    if (settings.empty()) settings = run.settings;
    require_same_settings(run.settings, settings, "FILE", file);
    parts.push_back({file, run.part, std::move(run.simulations)});
  }
  write_file(output, record_text({settings, {}, true, simulate::united_records(std::move(parts))}));
  write_standard_output("United " + std::to_string(files.size()) + " parts: --resume " + output +
                        " with the options of the run prints its report\n");
  return exit_agreement;
}

struct MergeOptions {
  std::vector<std::string> files;
  std::string output;
};

}  // namespace

Subcommand subcommand() {
  const auto options = std::make_shared<MergeOptions>();
  return {.name = "merge",
          .question = "How do the parts of a divided run become one record?",
          .description =
              "Unites the records of all parts of a run (--part I/N --checkpoint FILE) to the record of the whole\n"
              "run, from which the program prints its report by --resume, with the bits of one run.\n"
              "Exit code: 0 united, 2 bad input: parts that are missing, given twice, unfinished, altered or of\n"
              "different runs.",
          .footer = "\nExample:\n  incontext merge part-*.json --output whole.json\n",
          .add_options =
              [options](CLI::App& app) {
                add_files(app, "files", options->files, "The records of all parts, in any order");
                add_written(app, "--output", options->output, "The record of the whole run; a new file")->required();
              },
          .body = [options](const CLI::App&) { return merge(options->files, options->output); }};
}

}  // namespace incontext::examples::merge
