#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "examples/support/table.hpp"

/// What a program has to say, before anybody decides how it looks: tables of cells, notes, and a verdict.
namespace incontext::examples {

/// `agrees` decides the exit code; `text` is the line people read; the numbers are null where nothing was judged.
struct Verdict {
  bool agrees = true;
  std::string text = {};
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

struct Report {
  std::string program;
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  std::vector<Table> tables = {};
  Verdict verdict = {};
};

}  // namespace incontext::examples
