#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "examples/support/output.hpp"
#include "examples/support/simulation_options.hpp"
#include "examples/support/text.hpp"

// CLI11 is slow to compile: only files that need more than this header include it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

/// The command line that every program shares, and the meaning of its exit code: 0 if every requested row was judged
/// and agrees, 1 if one disagrees, 2 for bad input, 3 for an incomplete run, which was stopped early or has rows that
/// could not be judged.
namespace incontext::examples {

inline constexpr int exit_agreement = 0;
inline constexpr int exit_disagreement = 1;
inline constexpr int exit_bad_input = 2;
inline constexpr int exit_incomplete = 3;

/// The exit codes as a part of the help text.
inline constexpr const char* exit_codes_help =
    "Exit code: 0 every requested row was judged and agreed, 1 one disagreed, 2 bad input,\n"
    "3 incomplete: stopped early, or rows not judged, each named with its reason.";

/// An option's value as a whole number; 1e6 is one, 1.5 and -0.1 are not.
template <std::integral Integer>
Integer parse_count(const std::string& name, const std::string& text, Integer minimum, Integer maximum) {
  const auto too_small = [&] { throw_input_error(name, "is too small", text, "at least " + std::to_string(minimum)); };
  const auto too_large = [&] { throw_input_error(name, "is too large", text, "at most " + std::to_string(maximum)); };
  Integer value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    const auto decimal = parse_decimal(text);
    if (!decimal || *decimal != std::floor(*decimal)) {
      throw_input_error(name, "is not a whole number", text, "a whole number of at least " + std::to_string(minimum));
    }
    // every double between the limits fits into an Integer
    if (*decimal < static_cast<double>(std::numeric_limits<Integer>::min())) too_small();
    if (*decimal >= std::ldexp(1.0, std::numeric_limits<Integer>::digits)) too_large();
    value = static_cast<Integer>(*decimal);
  }
  if (value < minimum) too_small();
  if (value > maximum) too_large();
  return value;
}

/// An option's value as a finite number.
double parse_number(const std::string& name, std::string_view text);

/// The parts of `text` between commas, without the blanks around them; one comma at the end is no part.
std::vector<std::string> parse_list(const std::string& text);

/// The parts of a list of numbers; blanks and semicolons between them are refused.
std::vector<std::string> parse_number_list(const std::string& name, const std::string& text);

/// An option whose text is parsed by `read`, which throws to refuse it; `type` and `shown_default` are for the help
/// text and the report. The variables that options set must outlive the parse.
CLI::Option* add_read(CLI::App& app, const std::string& name, std::function<void(const std::string& text)> read,
                      const std::string& description, const std::string& type, const std::string& shown_default = {});

/// Accepts any text that is not empty.
CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& target, const std::string& description,
                      const std::string& type);

/// Which files the value of an option names.
using FileNames = std::function<std::vector<std::string>(const std::string& value)>;

/// A file that the program reads. `names` is given where not every value is the name of one file.
CLI::Option* add_input(CLI::App& app, const std::string& name, std::string& target, const std::string& description,
                       const std::string& type = "FILE", FileNames names = {});

/// A file that the program writes, or several whose names follow from the value.
CLI::Option* add_written(CLI::App& app, const std::string& name, std::string& target, const std::string& description,
                         const std::string& type = "FILE", FileNames names = {});

/// A positional argument: a file that the program needs; "-" is standard input.
CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& target, const std::string& description);

/// The same for one file or more, none of which is standard input.
CLI::Option* add_files(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description);

CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target, const std::string& description);

/// An option whose absence has a meaning that no value has.
void show_no_default(CLI::Option* option);

/// Whether the user gave the option.
bool is_given(const CLI::App& app, const std::string& name);

/// The option's text as the user gave it, else its default.
std::string text_of(const CLI::App& app, const std::string& name);

/// How the text of an option is read: strictly, and with the option's name in the error message.
template <std::integral Integer>
CLI::Option* add_count(CLI::App& app, const std::string& name, Integer& target, const std::string& description,
                       Integer minimum, Integer maximum = std::numeric_limits<Integer>::max()) {
  const auto read = [&target, name, minimum, maximum](const std::string& text) {
    target = parse_count<Integer>(name, text, minimum, maximum);
  };
  return add_read(app, name, read, description, "N", std::to_string(target));
}

CLI::Option* add_number(CLI::App& app, const std::string& name, double& target, const std::string& description,
                        std::function<bool(double value)> accepted, const std::string& needs);

/// Counts between commas.
CLI::Option* add_counts(CLI::App& app, const std::string& name, std::vector<std::int64_t>& target,
                        const std::string& description, std::int64_t minimum, std::int64_t maximum);

CLI::Option* add_positive_numbers(CLI::App& app, const std::string& name, std::vector<double>& target,
                                  const std::string& description, bool or_zero = false);

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
  const auto read = [&target, name, choices](const std::string& text) {
    std::vector<std::string> known;
    for (const auto& [word, value] : choices) {
      known.push_back(word);
      if (word != text) continue;
      target = value;
      return;
    }
    throw_unknown_word(name, text, known);
  };
  return add_read(app, name, read, description, words, chosen);
}

/// Words of a fixed set between commas.
template <class Value>
CLI::Option* add_choices(CLI::App& app, const std::string& name, std::vector<Value>& target,
                         const std::string& description, const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> known;
  for (const auto& choice : choices) known.push_back(choice.first);
  const auto read = [&target, name, choices, known](const std::string& text) {
    target.clear();
    for (const std::string& part : parse_list(text)) {
      const auto at = std::find(known.begin(), known.end(), part);
      if (at == known.end()) throw_unknown_word(name, part, known);
      target.push_back(choices[static_cast<std::size_t>(at - known.begin())].second);
    }
  };
  std::string words;
  for (const std::string& word : known) words += (words.empty() ? "" : "|") + word;
  return add_read(app, name, read, description, words + ",...");
}

/// The values of a list that was not given.
template <class Value>
void or_usual(std::vector<Value>& values, std::vector<Value> usual) {
  if (values.empty()) values = std::move(usual);
}

/// Puts every option added since the last call under a heading of the help text.
void head_options(CLI::App& app, const std::string& heading);

namespace detail {

/// Options without effect are refused, because a reader would think that they had one.
void refuse_unused(const CLI::App& app, const std::string& mode, const std::vector<std::string>& unused);

}  // namespace detail

void add_output_options(CLI::App& app, OutputOptions& options);

void add_simulation_options(CLI::App& app, SimulationOptions& options);

/// The options that say how to run, and not what: no dimension, no context length. Among them are the files that keep a
/// run, so that it can be resumed, and the part of it that is to be computed.
void add_run_options(CLI::App& app, SimulationOptions& options);

/// `--no-simulation`, for subcommands whose tables have exact values.
void add_no_simulation_option(CLI::App& app, SimulationOptions& options);

/// Of these, the files that keep a run and, if it can be divided, the part that is to be computed.
void add_record_options(CLI::App& app, SimulationOptions& options, bool divides);

/// Of these, those of subcommands that keep no record of their simulations: number of trials, seed, device and threads.
void add_trial_options(CLI::App& app, SimulationOptions& options);

/// Of these, those of subcommands without a number of trials: seed, device and threads.
void add_device_options(CLI::App& app, SimulationOptions& options);

/// Every option with the value the run used, for the report's `arguments`: numbers where the option takes numbers, a
/// list where it takes a list, null where it has no value or, being one of `unused`, no effect.
nlohmann::ordered_json arguments_of(const CLI::App& app, const std::vector<std::string>& unused = {});

/// Parses the command line. An option that does not exist is refused with the nearest one that does.
void parse_arguments(CLI::App& app, int argc, const char* const* argv);

/// The message of a refusal by the library, without the name of the function.
std::string without_function(const std::string& refusal);

/// The message of a refusal by the library for the command line: a parameter is replaced by its option if there is one.
std::string in_options(const CLI::App& app, const std::string& refusal);

/// The name of a program, and how its help text begins and ends.
struct ProgramText {
  std::string name;
  std::string description;
  std::string footer = {};
};

/// Parses the command line and runs `body`, which writes its report and returns the exit code. Every error becomes one
/// line on standard error and exit code 2. Before `body`, require_outputs refuses an output that is an input or another
/// output, whichever options name them.
int run_program(const ProgramText& program, int argc, char** argv,
                const std::function<void(CLI::App& app)>& add_options,
                const std::function<int(const CLI::App& app)>& body);

/// What a program does at the first word of its command line: as run_program with these options and this body, or, where
/// there are tasks, what the second word names.
struct Subcommand {
  std::string name;
  std::string question = {};  ///< that it answers: its line in the list of subcommands
  std::string description = {}, footer = {};
  std::function<void(CLI::App& app)> add_options = {};
  std::function<int(const CLI::App& app)> body = {};
  std::vector<Subcommand> tasks = {};
};

/// Runs the subcommand that the first word names, as run_program does. Without a word it prints the list of subcommands;
/// the exit code is then that of bad input, because nothing was judged. --list prints their names alone, with their
/// tasks, one on each line.
int run_subcommand(const ProgramText& program, const std::vector<Subcommand>& subcommands, int argc, char** argv,
                   const std::string& kind = "subcommand");

}  // namespace incontext::examples
