#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "examples/support/text.hpp"

/// What holds for every input, whatever its bytes: else the program aborts, which a fuzzer and a test both notice.
namespace incontext::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Runs `read`; what it refuses, it refuses by an InputError of a length that fits a screen, and in one line of text.
template <class Read>
void read_or_refuse(const Read& read) {
  try {
    read();
  } catch (const examples::InputError& error) {
    const std::string_view message = error.what();
    require(!message.empty() && message.size() < 2000, "a refusal says something, and is short");
    const std::string line = examples::shown(message, 4000);
    require(line.find_first_of("\n\r\t\033") == std::string::npos, "a refusal is one line");
    require(examples::one_line(line) == line, "a refusal is text");
  }
}

}  // namespace incontext::fuzz
