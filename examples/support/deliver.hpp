#pragma once

#include <string>

#include "examples/support/output.hpp"

/// A finished report on its way out: in the form that was asked for, to the screen or to a file.
namespace incontext::examples {

struct Report;

std::string render(const Report& report, Format format);

/// What the program ends with: 1 where something disagreed; else 3 where the run was stopped early or rows that were
/// asked for were not judged; else 0.
int exit_code_of(const Report& report);

/// Writes the report and answers with the exit code. With --output the report goes to the file and the verdict to the
/// screen; --quiet keeps standard output empty. Where standard output has CSV or JSON, whatever keeps the exit code from
/// 0 is told on standard error. A report of a run that was stopped goes to FILE.partial, so that it never takes an older
/// one's place, unless --replace-by-partial allows it.
int deliver(Report report, const OutputOptions& options);

}  // namespace incontext::examples
