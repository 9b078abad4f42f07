#include "examples/support/deliver.hpp"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "examples/support/command_line.hpp"
#include "examples/support/ranks.hpp"
#include "examples/support/record_file.hpp"
#include "examples/support/render.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

namespace {

/// A pipe or a device has no older report that could be lost.
bool can_be_replaced(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

/// The file to which the report is written.
std::string target_of(const Report& report, const OutputOptions& options) {
  const bool as_asked = report.run.complete || options.replace_by_partial || !can_be_replaced(options.file);
  return as_asked ? options.file : partial_file(options.file);
}

void tell(const Report& report, const std::string& text) {
  std::fprintf(stderr, "%s: %s", report.program.c_str(), text.c_str());
}

/// A part has too few trials for a verdict of its own: its record is all that it leaves.
int deliver_part(const Report& report, const OutputOptions& options) {
  const RecordFile& record = *report.run.file;
  const std::string part = std::to_string(record.part().number) + "/" + std::to_string(record.part().count);
  if (!report.run.complete) tell(report, "stopped early: --resume " + record.file() + " continues part " + part + "\n");
  if (report.run.complete && !options.quiet) write_standard_output("Part " + part + " is in " + record.file() + "\n");
  return report.run.complete ? exit_agreement : exit_incomplete;
}

}  // namespace

std::string render(const Report& report, Format format) {
  switch (format) {
    case Format::csv:
      return render_csv(report);
    case Format::json:
      return render_json(report);
    case Format::table:
      break;
  }
  return render_text(report);
}

int deliver(Report report, const OutputOptions& options) {
  if (!is_first_rank()) return exit_code_of(report);
  wait_for_other_ranks();
  if (report.run.file) {
    report.run.file->finish(report.run.complete);
    if (report.run.file->part().count > 1) return deliver_part(report, options);
  }
  report.run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - report.start).count();
  const std::string text = render(report, options.format);
  if (!options.to_standard_output()) {
    const std::string target = target_of(report, options);
    write_file(target, text);
    if (!options.quiet) write_standard_output(render_verdict(report));
    if (target != options.file) {
      const bool older = std::filesystem::exists(options.file);
      tell(report,
           "stopped early: the partial report is " + target + (older ? "; " + options.file + " is unchanged\n" : "\n"));
    }
  } else if (!options.quiet) {
    write_standard_output(text);
    if (options.format != Format::table && exit_code_of(report) != exit_agreement) tell(report, render_verdict(report));
  }
  return exit_code_of(report);
}

}  // namespace incontext::examples
