#pragma once

#include <string>

#include "examples/support/output.hpp"

/// Writes a finished report in the requested form, to the screen or to a file.
namespace incontext::examples {

struct Report;

std::string render(const Report& report, Format format);

/// The exit code: 1 if something disagreed; else 3 if the run was stopped early or requested rows were not judged;
/// else 0.
int exit_code_of(const Report& report);

/// Writes the report and returns the exit code. With --output the report goes to the file and the verdict to the
/// screen; --quiet keeps standard output empty. Where standard output has CSV or JSON, the reason of an exit code other
/// than 0 is written to standard error. A report of a run that was stopped goes to FILE.partial, so that it never takes
/// an older one's place, unless --replace-by-partial allows it.
int deliver(Report report, const OutputOptions& options);

}  // namespace incontext::examples
