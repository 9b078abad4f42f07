#pragma once

#include <string>

#include "examples/support/output.hpp"

/// A finished report on its way out: in the form that was asked for, to the screen or to a file.
namespace incontext::examples {

struct Report;

std::string render(const Report& report, Format format);

/// With --output the report goes to the file and the verdict to the screen; --quiet keeps standard output empty.
void deliver(const Report& report, const OutputOptions& options);

}  // namespace incontext::examples
