#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "examples/support/text.hpp"

/// Aborts the program if a condition that must hold for every input does not, which a fuzzer and a test both notice.
namespace incontext::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

/// Runs `read` and requires that every refusal is an InputError whose message is one line of text that fits a screen.
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
