#include "examples/support/command_line.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
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

Parsed parse(const std::vector<std::string>& arguments) {
  Parsed result;
  CLI::App app("test", "program");
  app.option_defaults()->always_capture_default();
  add_simulation_options(app, result.simulation);
  add_output_options(app, result.output);
  try {
    std::vector<const char*> words{"program"};
    for (const std::string& argument : arguments) words.push_back(argument.c_str());
    parse_arguments(app, static_cast<int>(words.size()), words.data());
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
  CHECK(parsed.simulation.device == incontext::simulate::Device::serial);
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
      {{"--seed", "-1"}, "--seed: is too small (value = -1; needs at least 0)"},
      {{"--seed", "1e30"}, "--seed: is too large (value = 1e30; needs at most 18446744073709551615)"},
      {{"--seed", "18446744073709551616"}, "--seed: is too large (value = 18446744073709551616;"},
      {{"--threads", "4097"}, "--threads: is too large (value = 4097; needs at most 4096)"},
      {{"--threads", "4294967298"}, "--threads: is too large (value = 4294967298; needs at most 4096)"},
      {{"--threads", "1e10"}, "--threads: is too large (value = 1e10; needs at most 4096)"},
      {{"--threads", "-1e10"}, "--threads: is too small (value = -1e10; needs at least 0)"},
      {{"--trials", "9223372036854775808"}, "--trials: is too large (value = 9223372036854775808;"},
      {{"--trials", "-1e19"}, "--trials: is too small (value = -1e19; needs at least 2)"},
      {{"--trials", "1e400"}, "--trials: is too large (value = 1e400;"},
      {{"--output", ""}, "--output: is empty (value = ; needs FILE)"},
      {{"--relative-error", "nan"}, "--relative-error: is not finite (value = nan"},
      {{"--relative-error", "0"}, "--relative-error: is out of range (value = 0"},
      {{"--relative-error", "1"}, "--relative-error: is out of range (value = 1"},
      {{"--device", "abacus"}, "--device: is unknown (value = abacus"},
      {{"--format", "xml"}, "--format: is unknown (value = xml"},
      {{"--threads", "-1"}, "--threads: is too small (value = -1"},
      {{"--trials", "10", "--relative-error", "0.1"}, "--relative-error"},
      {{"--color", "red"}, "--color: is not an option (needs one of those that --help lists)"},
      {{"--dimensions", "3"}, "--dimensions: is not an option (did you mean --dimension?)"},
      {{"--dimenson", "3"}, "--dimenson: is not an option (did you mean --dimension?)"},
      {{"--dimensoin=3"}, "--dimensoin: is not an option (did you mean --dimension?)"},
      {{"-dimension", "3"}, "-dimension: is not an option (did you mean --dimension?)"},
      {{"--context", "3"}, "--context: is not an option (did you mean --context-length?)"},
      {{"--Seed", "3"}, "--Seed: is not an option (did you mean --seed?)"},
      {{"--sed", "3", "--color"}, "--sed: is not an option (did you mean --seed?)"},
      {{"3", "--dimension", "4"}, "3: is an unexpected argument (needs options, see --help)"},
      {{"--" + std::string(1 << 20, 'x')}, "...: is not an option"},
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

TEST_CASE("whole numbers are read to the ends of their type, and refused beyond as too small or too large",
          "[command_line]") {
  using std::int64_t;
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), most = std::numeric_limits<int64_t>::max();
  CHECK(parse_count<int64_t>("n", "9223372036854775807", least, most) == most);
  CHECK(parse_count<int64_t>("n", "-9223372036854775808", least, most) == least);
  CHECK(parse_count<int64_t>("n", "1e18", least, most) == 1000000000000000000);
  CHECK(parse_count<int64_t>("n", "-9.223372036854775808e18", least, most) == least);
  CHECK_THROWS_AS(parse_count<int64_t>("n", "9.223372036854775808e18", least, most), InputError);
  CHECK_THROWS_AS(parse_count<int64_t>("n", "-9.3e18", least, most), InputError);
  CHECK(parse_count<std::uint64_t>("n", "1.8446744073709549568e19", 0, ~std::uint64_t{0}) == 18446744073709549568U);
  CHECK_THROWS_AS(parse_count<std::uint64_t>("n", "1.8446744073709551616e19", 0, ~std::uint64_t{0}), InputError);
  CHECK(parse_count<std::uint64_t>("n", "-0", 0, 5) == 0);
  CHECK(parse_count<int>("n", "+7", 0, 9) == 7);
  CHECK_THROWS_AS(parse_count<int>("n", "2147483648e-1", 0, 2147483647), InputError);  // not a whole number
}

TEST_CASE("without --format the form of the report follows the name of the output", "[command_line]") {
  CHECK(parse({"--output", "x.csv"}).output.format == Format::csv);
  CHECK(parse({"--output", "x.csv"}).arguments["format"] == "csv");
  CHECK(parse({"--output", "x.json"}).output.format == Format::json);
  CHECK(parse({"--output", "x.json", "--format", "csv"}).output.format == Format::csv);
  CHECK(parse({"--output", "x.csv", "--format", "table"}).output.format == Format::table);
  CHECK(parse({"--output", "x.txt"}).output.format == Format::table);
  CHECK(parse({"--output", "csv"}).output.format == Format::table);
  CHECK(parse({}).arguments["format"] == "table");
}

TEST_CASE("the device names of standard output mean standard output", "[command_line]") {
  for (const std::string name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    CHECK(parse({"--output", name}).output.to_standard_output());
  }
  CHECK_FALSE(parse({"--output", "/dev/fd/3"}).output.to_standard_output());
}

TEST_CASE("a refusal by the library names the option, not the function", "[command_line]") {
  CLI::App app("test", "program");
  double noise = 0;
  add_number(
      app, "--noise-variance", noise, "", [](double) { return true; }, "");
  CHECK(in_options(app, "incontext::LinearTask: noise_variance is negative (value = -1; needs 0)") ==
        "--noise-variance: is negative (value = -1; needs 0)");
  CHECK(in_options(app, "incontext::regression::f: noise_variance(0, 1) differs") == "--noise-variance(0, 1) differs");
  CHECK(in_options(app, "incontext::f: the mean is 0") == "the mean is 0");
  CHECK(in_options(app, "incontext::f: other_thing is 0") == "other_thing is 0");
  CHECK(in_options(app, "--gap: is 0") == "--gap: is 0");
  CHECK(in_options(app, "incontext::f") == "incontext::f");
}
