#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "examples/support/output.hpp"
#include "examples/support/report.hpp"
#include "examples/support/text.hpp"

/// The command line every program shares, and the meaning of its exit code: 0 agreement, 1 disagreement, 2 bad input.
namespace incontext::examples {

inline constexpr int exit_agreement = 0;
inline constexpr int exit_disagreement = 1;
inline constexpr int exit_bad_input = 2;

/// What a simulation is told from outside; `trials` and `relative_error` exclude each other.
struct SimulationOptions {
  std::int64_t dimension = 20;
  std::int64_t context_length = 100;
  std::int64_t trials = 65536;
  double relative_error = 0;  ///< 0: stop at `trials`
  std::uint64_t seed = 1;
  std::string device = "automatic";
  int threads = 0;  ///< 0: all
};

/// An option's value as a whole number; 1e6 is one, 1.5 and -0.1 are not.
template <std::integral Integer>
Integer parse_count(const std::string& name, const std::string& text, Integer minimum, Integer maximum) {
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    const auto decimal = parse_decimal(text);
    if (!decimal || *decimal != std::floor(*decimal))
      throw_input_error(name, "is not a whole number", text, "a whole number");
    if (!(std::abs(*decimal) < 9e15)) throw_input_error(name, "is out of range", text, "a 64-bit number");
    if (*decimal < 0 && std::is_unsigned_v<Integer>) throw_input_error(name, "is negative", text, "0 or more");
    value = static_cast<Integer>(*decimal);
  }
  if (value < minimum) throw_input_error(name, "is too small", text, "at least " + std::to_string(minimum));
  if (value > maximum) throw_input_error(name, "is too large", text, "at most " + std::to_string(maximum));
  return value;
}

/// An option's value as a finite number.
inline double parse_number(const std::string& name, std::string_view text) {
  const auto value = parse_decimal(trimmed(text));
  if (!value && !names_non_finite(text)) throw_input_error(name, "is not a number", text, "a finite number");
  if (!value || !std::isfinite(*value)) throw_input_error(name, "is not finite", text, "a finite number");
  return *value;
}

/// The parts of `text` between commas, blanks around them gone.
inline std::vector<std::string> parse_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(trimmed(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

/// How an option reads: strict, and refused by its own name. What they bind must outlive the parse.
template <std::integral Integer>
CLI::Option* add_count(CLI::App& app, const std::string& name, Integer& target, const std::string& description,
                       Integer minimum, Integer maximum = std::numeric_limits<Integer>::max()) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, minimum, maximum](const std::string& text) {
            target = parse_count<Integer>(name, text, minimum, maximum);
          },
          description)
      ->type_name("N")
      ->default_str(std::to_string(target));
}

template <class Accepted>
CLI::Option* add_number(CLI::App& app, const std::string& name, double& target, const std::string& description,
                        Accepted accepted, const std::string& needs) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, accepted, needs](const std::string& text) {
            const double value = parse_number(name, text);
            if (!accepted(value)) throw_input_error(name, "is out of range", text, needs);
            target = value;
          },
          description)
      ->type_name("X")
      ->default_str(detail::number_text(target));
}

inline CLI::Option* add_positive_numbers(CLI::App& app, const std::string& name, std::vector<double>& target,
                                         const std::string& description) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name](const std::string& text) {
            target.clear();
            for (const std::string& part : parse_list(text)) {
              target.push_back(parse_number(name, part));
              if (!(target.back() > 0)) throw_input_error(name, "is not positive", part, "0 < value");
            }
          },
          description)
      ->type_name("X,X,...");
}

/// One of a fixed set of words.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& name, Value& target, const std::string& description,
                        const std::vector<std::pair<std::string, Value>>& choices) {
  std::string words;
  std::string chosen;
  for (const auto& [word, value] : choices) {
    words += (words.empty() ? "" : "|") + word;
    if (value == target) chosen = word;
  }
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, words, choices](const std::string& text) {
            for (const auto& [word, value] : choices) {
              if (word == text) {
                target = value;
                return;
              }
            }
            throw_input_error(name, "is unknown", text, words);
          },
          description)
      ->type_name(words)
      ->default_str(chosen);
}

/// Puts every option added since the last call under a heading of the help text.
inline void head_options(CLI::App& app, const std::string& heading) {
  for (CLI::Option* option : app.get_options()) {
    const bool unnamed = option->get_group() == "Options" && option->get_single_name() != "help";
    if (unnamed && !option->get_positional()) option->group(heading);
  }
}

namespace detail {

/// Options that would be ignored are refused: silence would let a reader think they counted.
inline void refuse_unused(const CLI::App& app, const std::string& mode, const std::vector<std::string>& unused) {
  for (const std::string& name : unused) {
    if (app.count(name) > 0) throw InputError(name + ": has no meaning with " + mode);
  }
}

}  // namespace detail

inline void add_output_options(CLI::App& app, OutputOptions& options) {
  add_choice<Format>(app, "--format", options.format, "Form of the report",
                     {{"table", Format::table}, {"csv", Format::csv}, {"json", Format::json}});
  app.add_option("--output", options.file, "Write the report to this file, complete or not at all")->type_name("FILE");
  app.add_flag("--quiet", options.quiet, "No progress, nothing on standard output: exit code and --output only");
  head_options(app, "Output");
}

inline void add_simulation_options(CLI::App& app, SimulationOptions& options) {
  using std::int64_t;
  add_count<int64_t>(app, "--dimension", options.dimension, "Input dimension d", 1, 10000);
  add_count<int64_t>(app, "--context-length", options.context_length, "Examples in a context, l", 2, 100000000);
  CLI::Option* trials = add_count<int64_t>(app, "--trials", options.trials, "Trials of every simulation", 2);
  add_number(
      app, "--relative-error", options.relative_error, "Instead of --trials: run until standard error / mean is this",
      [](double value) { return value > 0 && value < 1; }, "0 < value < 1")
      ->excludes(trials)
      ->default_str("");
  add_count<std::uint64_t>(app, "--seed", options.seed, "Seed of the random streams", 0);
  add_choice<std::string>(
      app, "--device", options.device, "Where to simulate",
      {{"automatic", "automatic"}, {"serial", "serial"}, {"openmp", "openmp"}, {"tbb", "tbb"}, {"cuda", "cuda"}});
  add_count(app, "--threads", options.threads, "Threads to use; 0: all", 0, 4096);
  head_options(app, "Simulation");
}

/// Every option with the value the run used, for the report's `arguments`: numbers where the option takes numbers, a
/// list where it takes a list, null where it has no value.
inline nlohmann::ordered_json arguments_of(const CLI::App& app) {
  using json = nlohmann::ordered_json;
  const auto number = [](const std::string& text) -> json {
    std::uint64_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc() && end == text.data() + text.size()) return count;
    if (const auto decimal = parse_decimal(text)) return *decimal;
    return text;  // a masked score, -inf
  };
  json arguments = json::object();
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_single_name();
    if (name == "help" || name == "version") continue;
    if (option->get_expected_max() == 0) {
      arguments[name] = option->count() > 0;
      continue;
    }
    const std::string text = option->count() > 0 ? option->results().front() : option->get_default_str();
    const std::string type = option->get_type_name();
    const bool numeric = type == "N" || type == "X" || type == "N,N,..." || type == "X,X,...";
    json& argument = arguments[name];
    if (text.empty()) continue;
    if (type.ends_with(",...")) {
      for (const std::string& part : parse_list(text)) argument.push_back(numeric ? number(part) : json(part));
    } else {
      argument = numeric ? number(text) : json(text);
    }
  }
  return arguments;
}

/// What a file holds may stand in a message: line ends and other control characters of it stay off the terminal.
inline std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text)
    c = c == '\n' || c == '\r' || c == '\t' ? ' ' : std::iscntrl(static_cast<unsigned char>(c)) ? '?' : c;
  return text;
}

/// Parses the command line and runs `body`, which delivers its report and answers with the exit code; whatever goes
/// wrong becomes one line on standard error and exit code 2.
template <class Body>
int run_main(CLI::App& app, int argc, char** argv, Body&& body) {
  const auto refuse = [&app](const std::string& message) {
    std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), one_line(message).c_str());
    return exit_bad_input;
  };
  try {
    app.set_version_flag("--version", app.get_name() + " " + version());
    app.parse(argc, argv);
    return std::forward<Body>(body)();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return refuse(error.what());
  } catch (const std::bad_alloc&) {
    return refuse("not enough memory for these sizes");
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

}  // namespace incontext::examples
