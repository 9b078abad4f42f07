#pragma once

#include <string>
#include <vector>

#include "examples/support/command_line.hpp"

namespace incontext::examples {

/// The subcommand that prints a shell's script for completing the command line: subcommands, their tasks and options, the
/// words that an option takes, and files where it takes a file.
Subcommand completion(const std::string& program, const std::vector<Subcommand>& subcommands);

}  // namespace incontext::examples
