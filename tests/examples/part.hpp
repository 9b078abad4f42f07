#pragma once

#include <ostream>
#include <string>
#include <utility>

namespace incontext::testing {

/// Compares equal to any text it is a part of; Catch2 2 and 3 name their own matcher differently.
struct Part {
  std::string text;
  friend bool operator==(const std::string& whole, const Part& part) {
    return whole.find(part.text) != std::string::npos;
  }
  friend std::ostream& operator<<(std::ostream& out, const Part& part) { return out << "..." << part.text << "..."; }
};

inline Part part(std::string text) { return {std::move(text)}; }

}  // namespace incontext::testing
