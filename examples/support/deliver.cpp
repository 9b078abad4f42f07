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

/// Writes the record of a run for the last time, and tells how to go on with one that was stopped. A disk that is full
/// is no reason to lose the report: false, and the error is told.
bool finish_record(const Report& report) {
  RecordFile& record = *report.run.file;
  try {
    record.finish(report.run.complete);
  } catch (const InputError& error) {
    tell(report, std::string(error.what()) + "\n");
    return false;
  }
  if (!report.run.complete)
    tell(report, "stopped early: --resume " + record.file() + " with the same options goes on\n");
  return true;
}

/// A part has too few trials for a verdict of its own: its record is all that it leaves.
int deliver_part(const Report& report, const OutputOptions& options) {
  const RecordFile& record = *report.run.file;
  const std::string part = std::to_string(record.part().number) + "/" + std::to_string(record.part().count);
  if (report.run.complete && !options.quiet) write_standard_output("Part " + part + " is in " + record.file() + "\n");
  return report.run.complete ? exit_agreement : exit_incomplete;
}

/// Writes the report and returns the exit code.
int deliver_report(const Report& report, const OutputOptions& options) {
  const bool to_file = !options.to_standard_output();
  const std::string text = render(report, options.format, to_file ? TextWidth{} : width_of_standard_output());
  if (to_file) {
    const std::string target = target_of(report, options);
    write_file(target, text);
    if (!options.quiet) write_standard_output(render_verdict(report, width_of_standard_output()));
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

}  // namespace

std::string render(const Report& report, Format format, TextWidth width) {
  switch (format) {
    case Format::csv:
      return render_csv(report);
    case Format::json:
      return render_json(report);
    case Format::table:
      break;
  }
  return render_text(report, width);
}

int deliver(Report report, const OutputOptions& options) {
  report.audit = options.audit;
  if (!is_first_rank()) return exit_code_of(report);
  wait_for_other_ranks();
  const bool is_kept = !report.run.file || finish_record(report);
  if (report.run.file && report.run.file->part().count > 1) {
    return is_kept ? deliver_part(report, options) : exit_bad_input;
  }
  report.run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - report.start).count();
  try {
    const int code = deliver_report(report, options);
    return is_kept ? code : exit_bad_input;
  } catch (const InputError& error) {
    if (!report.run.file || !is_kept) throw;
    throw InputError(std::string(error.what()) + "; the run is kept: --resume " + report.run.file->file() +
                     " with another --output writes its report");
  }
}

}  // namespace incontext::examples
