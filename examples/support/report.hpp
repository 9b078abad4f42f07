#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/run_summary.hpp"
#include "examples/support/table.hpp"

/// The results of a program, independent of their layout: tables of cells, notes, and a verdict.
namespace incontext::examples {

/// `agrees` is true if every requested row was judged and agreed, false if one disagreed, and absent if none disagreed
/// but not all were judged. `text` is the line that people read, and `rows` has a line for each row that does not
/// agree.
struct Verdict {
  std::optional<bool> agrees = {};
  std::string text = {};
  std::vector<std::string> rows = {};
  nlohmann::ordered_json details = nlohmann::ordered_json::object();
};

struct Report {
  std::string program;
  std::string command = {};  ///< the program with its options as given
  nlohmann::ordered_json arguments = nlohmann::ordered_json::object();
  std::vector<Table> tables = {};
  std::optional<Verdict> verdict = {};  ///< absent if there is nothing to judge
  RunSummary run = {};
  bool audit = false;  ///< whether the text has what is for the audit
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

/// The exit code of a program: 1 if something disagreed; else 3 if the run was stopped early or requested rows were not
/// judged; else 0.
int exit_code_of(const Report& report);

}  // namespace incontext::examples
