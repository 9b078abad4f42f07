#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/run_program.hpp"

namespace incontext::testing {

/// The JSON of a run that must end in agreement and say nothing on standard error.
inline nlohmann::json report_of(const std::string& program, std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const Finished finished = run_program(program, arguments);
  CAPTURE(finished.errors, finished.output);
  REQUIRE(finished.exit_code == 0);
  CHECK(finished.errors.empty());
  return nlohmann::json::parse(finished.output);
}

}  // namespace incontext::testing
