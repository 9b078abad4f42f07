#pragma once

#include <vector>

#include "examples/support/command_line.hpp"

namespace incontext::examples {

/// The subcommands of this build of the program, in the order of its help. The list is that of CMakeLists.txt, from which
/// subcommands.cpp.in is completed; each is defined in the file subcommand.cpp of its folder.
std::vector<Subcommand> subcommands();

}  // namespace incontext::examples
