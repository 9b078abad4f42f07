#include "examples/support/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>

#include "examples/support/render.hpp"
#include "examples/support/version.hpp"

namespace incontext::examples {

namespace {

/// The counts on the command line, which may be what takes the memory.
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
  return app.add_option(name, target, description)->type_name(type);
}

CLI::Option* add_file(CLI::App& app, const std::string& name, std::string& target, const std::string& description) {
  return app.add_option(name, target, description)->required()->type_name("FILE|-");
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

CLI::Option* add_positive_numbers(CLI::App& app, const std::string& name, std::vector<double>& target,
                                  const std::string& description) {
  const auto read = [&target, name](const std::string& text) {
    target.clear();
    for (const std::string& part : parse_list(text)) {
      target.push_back(parse_number(name, part));
      if (!(target.back() > 0)) throw_input_error(name, "is not positive", part, "0 < value");
    }
  };
  return add_read(app, name, read, description, "X,X,...");
}

void head_options(CLI::App& app, const std::string& heading) {
  for (CLI::Option* option : app.get_options()) {
    const bool unnamed = option->get_group() == "Options" && option->get_single_name() != "help";
    if (unnamed && !option->get_positional()) option->group(heading);
  }
}

void detail::refuse_unused(const CLI::App& app, const std::string& mode, const std::vector<std::string>& unused) {
  for (const std::string& name : unused) {
    if (app.count(name) > 0) throw InputError(name + ": has no meaning with " + mode);
  }
}

void add_output_options(CLI::App& app, OutputOptions& options) {
  add_choice<Format>(app, "--format", options.format, "Form of the report",
                     {{"table", Format::table}, {"csv", Format::csv}, {"json", Format::json}});
  add_text(app, "--output", options.file, "Write the report to this file, complete or not at all", "FILE");
  add_flag(app, "--quiet", options.quiet, "No progress, nothing on standard output: exit code and --output only");
  head_options(app, "Output");
}

void add_simulation_options(CLI::App& app, SimulationOptions& options) {
  using std::int64_t;
  add_count<int64_t>(app, "--dimension", options.dimension, "Input dimension d", 1, 10000);
  add_count<int64_t>(app, "--context-length", options.context_length, "Examples in a context, l", 2, 100000000);
  add_run_options(app, options);
}

void add_run_options(CLI::App& app, SimulationOptions& options) {
  using std::int64_t;
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

nlohmann::ordered_json arguments_of(const CLI::App& app) {
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

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (char& c : text)
    c = c == '\n' || c == '\r' || c == '\t' ? ' ' : std::iscntrl(static_cast<unsigned char>(c)) ? '?' : c;
  return text;
}

int run_program(const ProgramText& program, int argc, char** argv,
                const std::function<void(CLI::App& app)>& add_options,
                const std::function<int(const CLI::App& app)>& body) {
  const auto refuse = [&program](const std::string& message) {
    std::fprintf(stderr, "%s: %s\n", program.name.c_str(), one_line(message).c_str());
    return exit_bad_input;
  };
  CLI::App app(program.description, program.name);
  app.footer(program.footer);
  app.option_defaults()->always_capture_default();
  add_options(app);
  try {
    app.set_version_flag("--version", program.name + " " + version());
    app.parse(argc, argv);
    return body(app);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    return refuse(error.what());
  } catch (const std::bad_alloc&) {
    return refuse("not enough memory for these sizes" + given_counts(app));
  } catch (const std::exception& error) {
    return refuse(error.what());
  }
}

}  // namespace incontext::examples
