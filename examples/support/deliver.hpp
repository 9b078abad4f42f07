#pragma once

#include <string>

#include "examples/support/output.hpp"
#include "examples/support/render.hpp"

/// Writes a finished report in the requested form, to the screen or to a file.
namespace incontext::examples {

struct Report;

std::string render(const Report& report, Format format, TextWidth width = {});

/// Writes the report and returns the exit code. With --output the report goes to the file and the verdict to the
/// screen; --quiet keeps standard output empty. Where standard output has CSV or JSON, the reason of an exit code other
/// than 0 is written to standard error. A report of a run that was stopped goes to FILE.partial, so that it never takes
/// an older one's place, unless --replace-by-partial allows it.
int deliver(Report report, const OutputOptions& options);

}  // namespace incontext::examples
