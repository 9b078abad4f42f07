#include "examples/support/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "examples/support/ranks.hpp"
#include "examples/support/render.hpp"
#include "examples/support/version.hpp"

namespace incontext::examples {

namespace {

/// The counts that the command line gives. They determine how much memory the program uses.
std::string given_counts(const CLI::App& app) {
  std::string all;
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (option->count() == 0 || (type != "N" && type != "N,N,...")) continue;
    all += (all.empty() ? ": " : ", ") + option->get_name() + " " + option->results().front();
  }
  return all;
}

std::string text_of(const CLI::Option& option) {
  return option.count() > 0 ? option.results().front() : option.get_default_str();
}

/// What a program does with a file that an option names. One that is updated is read first, and perhaps not written.
enum class FileUse { read, written, updated };

/// An option that names files.
struct FileOption {
  const CLI::Option* option;
  FileUse use;
  FileNames names;  ///< empty: its values
};

/// A program's options, and what it does with the files that they name.
struct ProgramOptions : CLI::App {
  using CLI::App::App;
  std::vector<FileOption> files = {};
  const OutputOptions* output = nullptr;
};

/// Notes what the program does with an option's files.
CLI::Option* use_file(CLI::App& app, CLI::Option* option, FileUse use, FileNames names) {
  if (auto* program = dynamic_cast<ProgramOptions*>(&app)) program->files.push_back({option, use, std::move(names)});
  return option;
}

/// The files of a program that are given, by use.
std::vector<NamedFile> files_of(const ProgramOptions& program, FileUse use) {
  std::vector<NamedFile> files;
  for (const FileOption& file : program.files) {
    if (file.use != use || file.option->count() == 0) continue;
    for (const std::string& value : file.option->results()) {
      for (const std::string& name : file.names ? file.names(value) : std::vector{value}) {
        const std::string end = name == value ? "" : " (" + std::filesystem::path(name).filename().string() + ")";
        files.push_back({file.option->get_name() + end, name});
      }
    }
  }
  return files;
}

void require_files(const ProgramOptions& program) {
  require_outputs(program.output == nullptr ? OutputOptions{} : *program.output, files_of(program, FileUse::written),
                  files_of(program, FileUse::read), files_of(program, FileUse::updated));
}

}  // namespace

double parse_number(const std::string& name, std::string_view text) {
  const auto value = parse_decimal(trimmed(text));
  if (!value && !names_non_finite(text)) throw_input_error(name, "is not a number", text, "a finite number");
  if (!value || !std::isfinite(*value)) throw_input_error(name, "is not finite", text, "a finite number");
  return *value;
}

std::vector<std::string> parse_list(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.emplace_back(trimmed(std::string_view(text).substr(at, end - at)));
    at = end + 1;
  }
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();  // `seq -s,` ends with one on some systems
  return parts;
}

std::vector<std::string> parse_number_list(const std::string& name, const std::string& text) {
  std::vector<std::string> parts = parse_list(text);
  for (const std::string& part : parts) {
    if (part.find_first_of(" \t;") == std::string::npos) continue;
    throw_input_error(name, "has no commas between its numbers", text, "commas");
  }
  return parts;
}

CLI::Option* add_read(CLI::App& app, const std::string& name, std::function<void(const std::string& text)> read,
                      const std::string& description, const std::string& type, const std::string& shown_default) {
  return app.add_option_function<std::string>(name, std::move(read), description)
      ->type_name(type)
      ->default_str(shown_default);
}

CLI::Option* add_text(CLI::App& app, const std::string& name, std::string& target, const std::string& description,
                      const std::string& type) {
  const auto read = [&target, name, type](const std::string& text) {
    if (text.empty()) throw_input_error(name, "is empty", "", type);
    target = text;
  };
  return add_read(app, name, read, description, type, target);
}

CLI::Option* add_input(CLI::App& app, const std::string& name, std::string& target, const std::string& description,
                       const std::string& type, FileNames names) {
  return use_file(app, add_text(app, name, target, description, type), FileUse::read, std::move(names));
}

CLI::Option* add_written(CLI::App& app, const std::string& name, std::string& target, const std::string& description,
                         const std::string& type, FileNames names) {
  return use_file(app, add_text(app, name, target, description, type), FileUse::written, std::move(names));
}

CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& target, const std::string& description) {
  return add_input(app, name, target, description, "FILE|-")->required();
}

CLI::Option* add_files(CLI::App& app, const std::string& name, std::vector<std::string>& target,
                       const std::string& description) {
  CLI::Option* option = app.add_option(name, target, description)->required()->type_name("FILE")->default_str("");
  return use_file(app, option, FileUse::read, {});
}

CLI::Option* add_flag(CLI::App& app, const std::string& name, bool& target, const std::string& description) {
  return app.add_flag(name, target, description);
}

void show_no_default(CLI::Option* option) { option->default_str(""); }

bool is_given(const CLI::App& app, const std::string& name) { return app.count(name) > 0; }

std::string text_of(const CLI::App& app, const std::string& name) { return text_of(*app.get_option(name)); }

CLI::Option* add_number(CLI::App& app, const std::string& name, double& target, const std::string& description,
                        std::function<bool(double value)> accepted, const std::string& needs) {
  const auto read = [&target, name, accepted = std::move(accepted), needs](const std::string& text) {
    const double value = parse_number(name, text);
    if (!accepted(value)) throw_input_error(name, "is out of range", text, needs);
    target = value;
  };
  return add_read(app, name, read, description, "X", detail::number_text(target));
}

namespace {

template <class Number>
std::string with_commas(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number number : numbers) {
    text += text.empty() ? "" : ",";
    if constexpr (std::integral<Number>) {
      text += std::to_string(number);
    } else {
      text += detail::number_text(number);
    }
  }
  return text;
}

}  // namespace

CLI::Option* add_counts(CLI::App& app, const std::string& name, std::vector<std::int64_t>& target,
                        const std::string& description, std::int64_t minimum, std::int64_t maximum) {
  const auto read = [&target, name, minimum, maximum](const std::string& text) {
    target.clear();
    for (const std::string& part : parse_number_list(name, text)) {
      target.push_back(parse_count<std::int64_t>(name, part, minimum, maximum));
    }
  };
  return add_read(app, name, read, description, "N,N,...", with_commas(target));
}

CLI::Option* add_positive_numbers(CLI::App& app, const std::string& name, std::vector<double>& target,
                                  const std::string& description, bool or_zero) {
  const auto read = [&target, name, or_zero](const std::string& text) {
    target.clear();
    for (const std::string& part : parse_number_list(name, text)) {
      target.push_back(parse_number(name, part));
      if (or_zero && target.back() < 0) throw_input_error(name, "is negative", part, "0 <= value");
      if (!or_zero && !(target.back() > 0)) throw_input_error(name, "is not positive", part, "0 < value");
    }
  };
  return add_read(app, name, read, description, "X,X,...", with_commas(target));
}

void head_options(CLI::App& app, const std::string& heading) {
  for (CLI::Option* option : app.get_options()) {
    const bool unnamed = option->get_group() == "Options" && option->get_single_name() != "help";
    if (unnamed && !option->get_positional()) option->group(heading);
  }
}

void detail::refuse_unused(const CLI::App& app, const std::string& mode, const std::vector<std::string>& unused) {
  for (const std::string& name : unused) {
    if (app.count(name) == 0) continue;
    throw InputError(name + ": has no meaning with " + mode + " (--help: " + app.get_option(name)->get_description() +
                     ")");
  }
}

namespace {

/// Derives from the name of the output whether it is standard output and, without --format, the form of the report.
void complete_output(CLI::App& app, OutputOptions& options) {
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    if (options.file == name) options.file = "-";
  }
  if (is_given(app, "--format")) return;
  for (const auto& [end, format] : {std::pair{".csv", Format::csv}, std::pair{".json", Format::json}}) {
    if (!options.file.ends_with(end)) continue;
    options.format = format;
    app.get_option("--format")->default_str(end + 1);
  }
}

}  // namespace

void add_output_options(CLI::App& app, OutputOptions& options) {
  add_choice<Format>(app, "--format", options.format,
                     "Form of the report; if absent, from the end of the name of --output, .csv or .json, else text",
                     {{"table", Format::table}, {"csv", Format::csv}, {"json", Format::json}});
  add_text(app, "--output", options.file, "Write the report to this file, only when it is complete; -: standard output",
           "FILE");
  add_flag(app, "--quiet", options.quiet, "No progress, nothing on standard output: exit code and --output only");
  head_options(app, "Output");
  app.parse_complete_callback([&app, &options] { complete_output(app, options); });
  if (auto* program = dynamic_cast<ProgramOptions*>(&app)) program->output = &options;
}

void add_simulation_options(CLI::App& app, SimulationOptions& options) {
  using std::int64_t;
  add_count<int64_t>(app, "--dimension", options.dimension, "Input dimension d", 1, 10000);
  add_count<int64_t>(app, "--context-length", options.context_length, "Examples in a context, l", 2, 100000000);
  add_run_options(app, options);
}

void add_trial_options(CLI::App& app, SimulationOptions& options) {
  using std::int64_t;
  CLI::Option* trials = add_count<int64_t>(app, "--trials", options.trials, "Trials of every simulation", 2);
  add_number(
      app, "--relative-error", options.relative_error, "Instead of --trials: run until standard error / mean is this",
      [](double value) { return value > 0 && value < 1; }, "0 < value < 1")
      ->excludes(trials)
      ->default_str("");
  add_device_options(app, options);
}

void add_device_options(CLI::App& app, SimulationOptions& options) {
  add_count<std::uint64_t>(app, "--seed", options.seed, "Seed of the random streams", 0);
  const std::string devices = "automatic|serial|openmp|tbb|cuda|cuda:N|cuda:all";
  const auto read_device = [&options](const std::string& text) {
    try {
      options.device = simulate::device_named(text);
      options.gpu = simulate::gpu_named(text);
    } catch (const std::invalid_argument&) {
      throw_unknown_word("--device", text, {"automatic", "serial", "openmp", "tbb", "cuda", "cuda:N", "cuda:all"});
    }
  };
  add_read(app, "--device", read_device, "Where to simulate; of several GPUs, on which, or on all at once", devices,
           simulate::name(options.device, options.gpu));
  add_count(app, "--threads", options.threads, "Threads to use; 0: all", 0, simulate::most_threads);
  head_options(app, "Simulation");
}

namespace {

/// The program and its options, but for those that say how and where to run.
std::string settings_of(const CLI::App& app) {
  static const std::set<std::string> how{"device", "threads", "output",     "format", "quiet",  "replace-by-partial",
                                         "audit",  "part",    "checkpoint", "resume", "weights"};
  nlohmann::ordered_json settings{{"program", app.get_name()}};
  const nlohmann::ordered_json arguments = arguments_of(app);
  for (const auto& [name, value] : arguments.items()) {
    if (how.count(name) == 0) settings[name] = value;
  }
  return settings.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void add_part_option(CLI::App& app, RecordOptions& record) {
  const auto read_part = [&record](const std::string& text) {
    constexpr std::int64_t most = 1000000;
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) throw_input_error("--part", "is no part", text, "I/N, as 3/100");
    const auto count = parse_count<std::int64_t>("--part", text.substr(slash + 1), 1, most);
    record.part = simulate::Part{parse_count<std::int64_t>("--part", text.substr(0, slash), 1, count), count};
  };
  add_read(app, "--part", read_part,
           "Simulate share I of N into the file of --checkpoint; incontext merge unites the files", "I/N");
}

}  // namespace

void add_no_simulation_option(CLI::App& app, SimulationOptions& options) {
  add_flag(app, "--no-simulation", options.none, "Exact values alone: nothing is simulated, and no row is judged");
  head_options(app, "Simulation");
}

void add_record_options(CLI::App& app, SimulationOptions& options, bool divides) {
  RecordOptions& record = options.record;
  const std::string what = divides ? "simulations" : "run";
  show_no_default(add_written(app, "--checkpoint", record.checkpoint,
                              "Keep the " + what + " in this new file, from which --resume continues"));
  show_no_default(use_file(app,
                           add_text(app, "--resume", record.resume,
                                    "Continue the run of this file to the same bits; without --checkpoint the file is "
                                    "kept up to date",
                                    "FILE"),
                           FileUse::updated, {}));
  if (divides) add_part_option(app, record);
  head_options(app, divides ? "Checkpoints and parts" : "Checkpoints");
  options.complete_record = [&app, divides](RecordOptions& own) {
    own.settings = settings_of(app);
    own.has_report = is_given(app, "--output");
    own.divides = divides;
    if (divides) own.process = shared_process();
  };
}

void add_run_options(CLI::App& app, SimulationOptions& options) {
  add_trial_options(app, options);
  add_record_options(app, options, true);
}

nlohmann::ordered_json arguments_of(const CLI::App& app, const std::vector<std::string>& unused) {
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
    if (std::find(unused.begin(), unused.end(), "--" + name) != unused.end()) {
      arguments[name] = nullptr;
      continue;
    }
    if (option->get_expected_max() == 0) {
      arguments[name] = option->count() > 0;
      continue;
    }
    const std::string text = text_of(*option);
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

namespace {

/// The option that a misspelled one may mean; "" if none does.
std::string nearest_option(const CLI::App& app, std::string_view name) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) {
    if (!option->get_positional()) known.push_back(option->get_single_name());
  }
  const std::string nearest = nearest_word(name, known);
  return nearest.empty() ? "" : "--" + nearest;
}

/// The options whose descriptions have that word; "" if none has, or more than a few.
std::string options_that_speak_of(const CLI::App& app, const std::string& word) {
  constexpr std::size_t shortest = 4;
  constexpr int most = 4;
  if (word.size() < shortest) return {};
  std::string names;
  int count = 0;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_description().find(word) == std::string::npos) continue;
    names += (names.empty() ? "" : ", ") + option->get_name();
    ++count;
  }
  return count > most ? std::string() : names;
}

/// The option for a quantity that the field has another name for; "" if the program has none.
std::string option_by_other_name(const CLI::App& app, const std::string& word) {
  constexpr const char* square = ", its square";
  static const std::map<std::string, std::pair<std::string, std::string>> names{
      {"tau", {"--temperatures", ""}},
      {"sigma", {"--noise-variance", square}},
      {"noise-std", {"--noise-variance", square}},
      {"noise-stddev", {"--noise-variance", square}},
      {"lambda", {"--noise-variance", ", over --task-variance"}},
      {"ridge", {"--noise-variance", ", over --task-variance"}},
      {"lr", {"--rate", ""}},
      {"samples", {"--trials", ""}}};
  const auto found = names.find(word);
  if (found == names.end() || app.get_option_no_throw(found->second.first) == nullptr) return {};
  return found->second.first + found->second.second;
}

void refuse_extras(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  if (extras.empty()) return;
  const std::string argument = extras.front().substr(0, extras.front().find('='));
  const std::size_t name = argument.find_first_not_of('-');
  if (name == 0 || name == std::string::npos) {
    throw InputError(shown(argument) + ": is an unexpected argument (needs options, see --help)");
  }
  const std::string word = shown(argument.substr(name)), other = option_by_other_name(app, word);
  const std::string nearest = other.empty() ? nearest_option(app, word) : other;
  if (!nearest.empty()) throw InputError(shown(argument) + ": is not an option (did you mean " + nearest + "?)");
  const std::string speaking = options_that_speak_of(app, word);
  throw InputError(shown(argument) + ": is not an option (needs one of those that --help lists" +
                   (speaking.empty() ? "" : "; of " + word + " speak " + speaking) + ")");
}

}  // namespace

void parse_arguments(CLI::App& app, int argc, const char* const* argv) {
  // CLI11 would take the next word for the value of `--option=`
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--") || !word.ends_with('=')) continue;
    const std::string name = word.substr(0, word.size() - 1);
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) continue;
    throw InputError(option->get_expected_max() == 0 ? name + ": takes no value (needs " + name + " alone)"
                                                     : name + ": has no value (needs " + option->get_type_name() + ")");
  }
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::RequiredError&) {
    refuse_extras(app);
    throw;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string message = error.what();
    const std::string name = message.substr(0, message.find(':'));
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option == nullptr) throw;
    if (option->count() > 1) throw InputError(name + ": is given more than once (needs one value)");
    throw InputError(name + ": has no value (needs " + option->get_type_name() + ")");
  }
  refuse_extras(app);
}

std::string without_function(const std::string& refusal) {
  const std::string library = "incontext::";
  const std::size_t end = refusal.starts_with(library) ? refusal.find(": ", library.size()) : std::string::npos;
  return end == std::string::npos ? refusal : refusal.substr(end + 2);
}

namespace {

/// The first option on the command line that determines a parameter of the library with another name; empty if none
/// does.
std::string option_behind(const CLI::App& app, const std::string& parameter) {
  static const std::map<std::string, std::vector<std::string>> options{
      {"temperature", {"--temperatures", "--start-temperature"}},
      {"input_mean", {"--mean-shift"}},
      {"input_covariance", {"--input-scale", "--input-variance"}},
      {"task_covariance", {"--task-scale", "--task-variance"}}};
  const auto found = options.find(parameter);
  if (found == options.end()) return {};
  for (const std::string& name : found->second) {
    const CLI::Option* option = app.get_option_no_throw(name);
    if (option != nullptr && option->count() > 0) return name;
  }
  return {};
}

}  // namespace

std::string in_options(const CLI::App& app, const std::string& refusal) {
  const std::string text = without_function(refusal);
  if (text == refusal) return refusal;
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_");
  if (end == std::string::npos) return text;
  const std::string parameter = text.substr(0, end), behind = option_behind(app, parameter);
  if (!behind.empty()) return behind + ": " + text;
  std::string option = "--" + parameter;
  std::replace(option.begin(), option.end(), '_', '-');
  if (app.get_option_no_throw(option) == nullptr) return text;
  return option + (text[end] == ' ' ? ":" : "") + text.substr(end);
}

namespace {

int refuse(const std::string& program, const std::string& message) {
  constexpr std::size_t longest = 4000;
  if (is_first_rank()) std::fprintf(stderr, "%s: %s\n", program.c_str(), shown(message, longest).c_str());
  return exit_bad_input;
}

/// Programs whose runs have no parts have nothing that processes could share.
void require_shareable(const CLI::App& app) {
  if (shared_process() == nullptr || app.get_option_no_throw("--part") != nullptr) return;
  throw InputError("MPI: this program does not divide its work (value = " + std::to_string(shared_process()->ranks) +
                   " processes; needs one)");
}

/// The version of the whole program, whose name is the first word.
void set_version_flag(CLI::App& app, const ProgramText& program) {
  app.set_version_flag("--version", program.name.substr(0, program.name.find(' ')) + " " + version());
}

void write_help(const CLI::App& app, const std::string& text) {
  const std::size_t description = app.get_formatter()->get_column_width();
  write_standard_output(wrapped_help(text, description, width_of_standard_output().words));
}

/// False if --help or --version was asked for, and written.
bool parse_unless_help(CLI::App& app, int argc, char** argv) {
  try {
    parse_arguments(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw;
    std::ostringstream asked_for;
    app.exit(error, asked_for, asked_for);
    write_help(app, asked_for.str());
    return false;
  }
  return true;
}

/// LLVM's OpenMP ends the process where OMP_NUM_THREADS is no list of positive numbers; so it is as if it were not there,
/// which is what GNU's makes of it.
void ignore_invalid_thread_number() {
  const char* value = std::getenv("OMP_NUM_THREADS");
  if (value == nullptr) return;
  const auto is_positive = [](const std::string& part) {
    return part.find_first_not_of("0123456789") == std::string::npos &&
           part.find_first_not_of('0') != std::string::npos;
  };
  const std::vector<std::string> parts = parse_list(value);
  if (!std::all_of(parts.begin(), parts.end(), is_positive)) ::unsetenv("OMP_NUM_THREADS");
}

}  // namespace

int run_program(const ProgramText& program, int argc, char** argv,
                const std::function<void(CLI::App& app)>& add_options,
                const std::function<int(const CLI::App& app)>& body) {
  prepare_streams();
  ProgramOptions app(program.description, program.name);
  app.footer(program.footer);
  app.option_defaults()->always_capture_default();
  add_options(app);
  set_version_flag(app, program);
  std::optional<Ranks> ranks;
  std::string failure;
  int exit_code = exit_agreement;
  try {
    ranks.emplace(argc, argv);
    if (parse_unless_help(app, argc, argv)) {
      require_shareable(app);
      require_files(app);
      exit_code = body(app);
    }
  } catch (const std::bad_alloc&) {
    failure = "not enough memory for these sizes" + given_counts(app);
  } catch (const std::system_error& error) {
    const bool threads = error.code() == std::errc::resource_unavailable_try_again;
    failure = threads ? std::string("--threads: cannot be started: ") + error.what() + " (needs fewer, such as 1)"
                      : error.what();
  } catch (const std::exception& error) {
    failure = in_options(app, error.what());
  }
  if (!failure.empty()) exit_code = refuse(program.name, failure);
  return ranks ? ranks->leave(exit_code, failure) : exit_code;
}

namespace {

void add_names(const std::string& before, const std::vector<Subcommand>& subcommands, std::string& lines) {
  for (const Subcommand& one : subcommands) {
    if (one.tasks.empty()) lines += before + one.name + "\n";
    add_names(before + one.name + " ", one.tasks, lines);
  }
}

[[noreturn]] void refuse_word(const std::string& word, const std::vector<Subcommand>& subcommands,
                              const std::string& kind) {
  std::vector<std::string> known;
  std::string names;
  for (const Subcommand& one : subcommands) {
    known.push_back(one.name);
    names += (names.empty() ? "" : "|") + one.name;
  }
  const std::string nearest = nearest_word(word, known);
  throw InputError(shown(word) + ": is not a " + kind + " (" +
                   (nearest.empty() ? "needs " + names + " as the first word" : "did you mean " + nearest + "?") + ")");
}

}  // namespace

int run_subcommand(const ProgramText& program, const std::vector<Subcommand>& subcommands, int argc, char** argv,
                   const std::string& kind) {
  const std::string word = argc > 1 ? argv[1] : "";
  prepare_streams();
  ignore_invalid_thread_number();
  constexpr std::size_t widest_name = 18;
  CLI::App app(program.description, program.name);
  app.footer(program.footer);
  set_version_flag(app, program);
  bool list = false;
  app.add_flag("--list", list, "Print the names alone");
  app.get_formatter()->column_width(widest_name);
  std::string label = kind;
  std::transform(label.begin(), label.end(), label.begin(), [](unsigned char c) { return std::toupper(c); });
  app.get_formatter()->label("SUBCOMMAND", label);
  for (const Subcommand& one : subcommands) {
    if (one.name == word) {
      const ProgramText text{program.name + " " + word, one.description, one.footer};
      if (!one.tasks.empty()) return run_subcommand(text, one.tasks, argc - 1, argv + 1, "task");
      return run_program(text, argc - 1, argv + 1, one.add_options, one.body);
    }
    app.add_subcommand(one.name, one.question)->group(kind == "task" ? "Tasks" : "Subcommands");
  }
  try {
    if (argc < 2) {
      write_help(app, app.help());
      return exit_bad_input;
    }
    const bool is_option = word == "--help" || word == "-h" || word == "--version" || word == "--list";
    if (!is_option) refuse_word(word, subcommands, kind);
    if (parse_unless_help(app, 2, argv)) {
      std::string names;
      add_names("", subcommands, names);
      write_standard_output(names);
    }
    return exit_agreement;
  } catch (const std::exception& error) {
    return refuse(program.name, error.what());
  }
}

}  // namespace incontext::examples
