#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/run_program.hpp"

namespace incontext::testing {

/// The JSON of a run that must end with this exit code, and print on standard error only if it is not 0.
inline nlohmann::json report_of(const std::string& program, std::vector<std::string> arguments, int exit_code = 0) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Finished finished = run_program(program, arguments);
  CAPTURE(finished.errors, finished.output);
  REQUIRE(finished.exit_code == exit_code);
  CHECK(finished.errors.empty() == (exit_code == 0));
  return nlohmann::json::parse(finished.output);
}

}  // namespace incontext::testing
