#include "examples/support/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using incontext::testing::part;

namespace {

struct Parsed {
  int exit_code = -1;
  std::string refusal = {};
  SimulationOptions simulation = {};
  OutputOptions output = {};
  nlohmann::ordered_json arguments = {};
};

Parsed parse(std::vector<std::string> arguments) {
  Parsed result;
  CLI::App app("test", "program");
  app.option_defaults()->always_capture_default();
  add_simulation_options(app, result.simulation);
  add_output_options(app, result.output);
  try {
    std::reverse(arguments.begin(), arguments.end());
    app.parse(arguments);
    result.arguments = arguments_of(app);
    result.exit_code = 0;
  } catch (const CLI::ParseError& error) {
    result.refusal = error.what();
  } catch (const InputError& error) {
    result.refusal = error.what();
  }
  return result;
}

}  // namespace

TEST_CASE("the common options arrive as numbers, and the report repeats them", "[command_line]") {
  const Parsed parsed = parse({"--dimension", "7", "--trials", "1e6", "--seed", "18446744073709551615", "--device",
                               "serial", "--format", "json", "--output", "x.json", "--quiet"});
  REQUIRE(parsed.exit_code == 0);
  CHECK(parsed.simulation.dimension == 7);
  CHECK(parsed.simulation.context_length == 100);
  CHECK(parsed.simulation.trials == 1000000);
  CHECK(parsed.simulation.seed == 18446744073709551615ULL);
  CHECK(parsed.simulation.device == "serial");
  CHECK(parsed.output.format == Format::json);
  CHECK(parsed.output.file == "x.json");
  CHECK(parsed.output.quiet);
  CHECK(parsed.arguments["seed"] == 18446744073709551615ULL);
  CHECK(parsed.arguments["context-length"] == 100);
  CHECK(parsed.arguments["quiet"] == true);
  CHECK(parsed.arguments["output"] == "x.json");
  CHECK(parsed.arguments["relative-error"].is_null());
}

TEST_CASE("a bad value is refused by the name of its option", "[command_line]") {
  struct Case {
    std::vector<std::string> arguments;
    std::string expected;
  };
  const Case one = GENERATE(values<Case>({
      {{"--trials", "0"}, "--trials: is too small (value = 0; needs at least 2)"},
      {{"--trials", "-5"}, "--trials: is too small (value = -5"},
      {{"--trials", "many"}, "--trials: is not a whole number (value = many"},
      {{"--trials", "1.5"}, "--trials: is not a whole number (value = 1.5"},
      {{"--context-length", "1"}, "--context-length: is too small (value = 1; needs at least 2)"},
      {{"--dimension", "0"}, "--dimension: is too small (value = 0"},
      {{"--seed", "-1"}, "--seed: is negative (value = -1"},
      {{"--seed", "1e30"}, "--seed: is out of range (value = 1e30"},
      {{"--relative-error", "nan"}, "--relative-error: is not finite (value = nan"},
      {{"--relative-error", "0"}, "--relative-error: is out of range (value = 0"},
      {{"--relative-error", "1"}, "--relative-error: is out of range (value = 1"},
      {{"--device", "abacus"}, "--device: is unknown (value = abacus"},
      {{"--format", "xml"}, "--format: is unknown (value = xml"},
      {{"--threads", "-1"}, "--threads: is too small (value = -1"},
      {{"--trials", "10", "--relative-error", "0.1"}, "--relative-error"},
      {{"--colour", "red"}, "--colour"},
  }));
  const Parsed parsed = parse(one.arguments);
  CAPTURE(parsed.refusal);
  CHECK(parsed.exit_code == -1);
  CHECK(parsed.refusal == part(one.expected));
}

TEST_CASE("a list of positive numbers refuses what is no positive number", "[command_line]") {
  const auto refusal = [](const std::string& text) -> std::string {
    CLI::App app("test", "program");
    std::vector<double> numbers;
    add_positive_numbers(app, "--temperatures", numbers, "");
    try {
      std::vector<std::string> arguments{text, "--temperatures"};
      app.parse(arguments);
    } catch (const InputError& error) {
      return error.what();
    }
    return std::to_string(numbers.size()) + " numbers";
  };
  CHECK(refusal("0.5, 1,2e1") == "3 numbers");
  CHECK(refusal("1,0") == part("--temperatures: is not positive (value = 0;"));
  CHECK(refusal("1,-2") == part("--temperatures: is not positive (value = -2;"));
  CHECK(refusal("1,nan") == part("--temperatures: is not finite (value = nan;"));
  CHECK(refusal("1,,2") == part("--temperatures: is not a number (value = ;"));
}

TEST_CASE("a message of several lines becomes one", "[command_line]") {
  CHECK(one_line("first\nsecond\n") == "first second");
  CHECK(one_line("\033[31mred\tτ*") == "?[31mred τ*");
}
