#include "examples/support/record_file.hpp"

#include <incontext/statistics/moments.hpp>
#include <incontext/statistics/moments_tree.hpp>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "examples/support/output.hpp"
#include "examples/support/temporary_file.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

using json = nlohmann::ordered_json;
using simulate::RecordedSimulation;
using statistics::Moments;

constexpr auto format = "incontext record 1";
constexpr auto checksum = "\n{\"checksum\": \"";

/// Every change of one byte changes the sum (FNV-1a, 64 bits).
std::string checksum_of(std::string_view text) {
  std::uint64_t sum = 14695981039346656037ULL;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
  return digits;
}

/// The number in hexadecimal, which is exact, NaN and infinity included.
std::string exact(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

double exact_number(const json& value) {
  const auto& text = value.get_ref<const std::string&>();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') throw std::invalid_argument("no number: " + shown(text));
  return number;
}

/// A whole number that fits into its type; JSON's own conversion would cut it.
template <class Integer>
Integer count_in(const json& value) {
  const bool fits = value.is_number_unsigned()
                        ? std::in_range<Integer>(value.get<std::uint64_t>())
                        : value.is_number_integer() && std::in_range<Integer>(value.get<std::int64_t>());
  if (!fits) throw std::invalid_argument("no whole number, or too large: " + shown(value.dump()));
  return value.get<Integer>();
}

/// Numbers by their bits, 16 digits each.
std::string bits_of(const std::vector<double>& numbers) {
  std::string text;
  text.reserve(16 * numbers.size());
  for (const double number : numbers) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[bits >> shift & 15];
  }
  return text;
}

std::vector<double> numbers_in(const json& value) {
  const auto& text = value.get_ref<const std::string&>();
  if (text.size() % 16 != 0) throw std::invalid_argument("numbers are cut");
  std::vector<double> numbers;
  numbers.reserve(text.size() / 16);
  for (const char* at = text.data(); at != text.data() + text.size(); at += 16) {
    std::uint64_t bits = 0;
    if (std::from_chars(at, at + 16, bits, 16).ptr != at + 16) throw std::invalid_argument("a number is damaged");
    numbers.push_back(std::bit_cast<double>(bits));
  }
  return numbers;
}

json json_of(const Moments& m) { return {m.count, m.non_finite, exact(m.mean), exact(m.sum_of_squares)}; }

Moments moments_in(const json& value) {
  return {count_in<std::int64_t>(value.at(0)), exact_number(value.at(2)), exact_number(value.at(3)),
          count_in<std::int64_t>(value.at(1))};
}

/// A tree is its nodes' levels and moments, in order.
json json_of(const statistics::MomentsTree& tree) {
  json nodes = json::array();
  for (const auto& node : tree.nodes()) nodes.push_back({node.level, json_of(node.moments)});
  return nodes;
}

/// The number of trials in the chunks from `first` to before `end`.
std::int64_t trials_in(const simulate::SimulationIdentity& identity, std::int64_t first, std::int64_t end) {
  const std::int64_t all = end * simulate::chunk_trials;
  return (identity.trials > 0 ? std::min(identity.trials, all) : all) - first * simulate::chunk_trials;
}

void require(bool holds, const char* problem) {
  if (!holds) throw std::invalid_argument(problem);
}

statistics::MomentsTree tree_in(const json& nodes, std::int64_t first, const simulate::SimulationIdentity& identity) {
  statistics::MomentsTree tree(first);
  for (const json& node : nodes) {
    const statistics::MomentsNode next{tree.end(), count_in<int>(node.at(0)), moments_in(node.at(1))};
    require(next.level >= 0 && next.level <= 40, "a node's level is out of range");
    require(next.moments.count >= 0 && next.moments.non_finite >= 0 &&
                next.moments.count + next.moments.non_finite == trials_in(identity, next.first, next.end()),
            "a node has the wrong number of trials");
    tree.push(next);
  }
  return tree;
}

json json_of(const RecordedSimulation& simulation) {
  json first_chunk = json::array(), known = json::array();
  for (const Moments& moments : simulation.first_chunk) first_chunk.push_back(json_of(moments));
  for (const simulate::KnownChunks& chunks : simulation.known) {
    json trees = json::array();
    for (const auto& tree : chunks.trees) trees.push_back(json_of(tree));
    known.push_back({{"first", chunks.first()}, {"end", chunks.end()}, {"outputs", std::move(trees)}});
  }
  const simulate::SimulationIdentity& identity = simulation.identity;
  return {{"name", simulation.name},     {"scalar", identity.scalar},
          {"outputs", identity.outputs}, {"seed", identity.seed},
          {"trials", identity.trials},   {"relative_error", exact(identity.relative_error)},
          {"in_full", identity.in_full}, {"first_chunk", std::move(first_chunk)},
          {"known", std::move(known)}};
}

RecordedSimulation simulation_in(const json& value) {
  RecordedSimulation simulation{value.at("name").get<std::string>(),
                                {value.at("scalar").get<std::string>(), count_in<std::int64_t>(value.at("outputs")),
                                 count_in<std::uint64_t>(value.at("seed")), count_in<std::int64_t>(value.at("trials")),
                                 exact_number(value.at("relative_error"))}};
  simulation.identity.in_full = value.at("in_full").get<bool>();
  for (const json& moments : value.at("first_chunk")) simulation.first_chunk.push_back(moments_in(moments));
  const auto outputs = static_cast<std::size_t>(simulation.identity.outputs);
  require(simulation.first_chunk.empty() || simulation.first_chunk.size() == outputs, "a first chunk is not whole");
  std::int64_t end = 0;
  for (const json& chunks : value.at("known")) {
    simulate::KnownChunks known;
    const auto first = count_in<std::int64_t>(chunks.at("first"));
    for (const json& nodes : chunks.at("outputs")) {
      known.trees.push_back(tree_in(nodes, first, simulation.identity));
      require(known.trees.back().end() == count_in<std::int64_t>(chunks.at("end")), "chunks are missing");
    }
    require(known.trees.size() == outputs && first >= end && known.end() > first, "chunks are out of order");
    end = known.end();
    simulation.known.push_back(std::move(known));
  }
  require(simulation.known.empty() || !simulation.first_chunk.empty(), "a first chunk is missing");
  return simulation;
}

json json_of(const RecordedTraining& training) {
  const training::AdamState& adam = training.state.adam;
  const training::StepRecord& last = training.last;
  json results = json::array();
  for (const std::vector<double>& result : training.results) results.push_back(bits_of(result));
  return {{"name", training.name},
          {"complete", training.complete},
          {"steps", adam.steps},
          {"first_loss", bits_of({training.state.first_loss})},
          {"parameters", bits_of(training.state.parameters)},
          {"first", bits_of(adam.first)},
          {"second", bits_of(adam.second)},
          {"last_step", last.step},
          {"last", bits_of({last.loss, last.loss_standard_error, last.accuracy, last.gradient_norm, last.rate})},
          {"told", std::move(results)}};
}

RecordedTraining training_in(const json& value) {
  RecordedTraining training{.name = value.at("name").get<std::string>(), .complete = value.at("complete").get<bool>()};
  training::TrainingState& state = training.state;
  state.adam.steps = count_in<std::int64_t>(value.at("steps"));
  state.parameters = numbers_in(value.at("parameters"));
  state.adam.first = numbers_in(value.at("first"));
  state.adam.second = numbers_in(value.at("second"));
  const std::vector<double> first_loss = numbers_in(value.at("first_loss")), last = numbers_in(value.at("last"));
  require(state.adam.steps >= 0, "a training has a negative number of steps");
  require(first_loss.size() == 1 && last.size() == 5, "a training is not whole");
  state.first_loss = first_loss.front();
  training.last = {count_in<std::int64_t>(value.at("last_step")), last[0], last[1], last[2], last[3], last[4]};
  for (const json& result : value.at("told")) training.results.push_back(numbers_in(result));
  return training;
}

/// Another run has begun to keep its record in the file of this one.
struct FileIsTaken : InputError {
  using InputError::InputError;
};

[[noreturn]] void refuse(const std::string& file, const std::string& option, const std::string& problem) {
  throw InputError(option + ": " + problem + " (value = " + shown(file) + "; needs a record as --checkpoint writes)");
}

/// Refuses a record whose trials, chunks or merge tree are defined otherwise than here.
void require_contract(std::int64_t contract) {
  if (contract == simulate::contract_version) return;
  throw std::invalid_argument("it follows contract version " + std::to_string(contract) + ", and this release " +
                              std::to_string(simulate::contract_version) + ": use the release that wrote it");
}

/// The file to write to: that of --checkpoint, or else the one that is resumed.
std::string target_of(const RecordOptions& options) {
  return options.checkpoint.empty() ? options.resume : options.checkpoint;
}

std::string text_of(const simulate::Part& part) {
  return std::to_string(part.number) + "/" + std::to_string(part.count);
}

/// Lets the recorded run have the setting that may grow. What was simulated at the end of its trainings is no part of
/// the longer run.
void let_grow(RecordedRun& recorded, const RecordOptions& options) {
  if (options.may_grow.empty()) return;
  json there = json::parse(recorded.settings);
  const json here = json::parse(options.settings);
  const json wanted = here.value(options.may_grow, json()), known = there.value(options.may_grow, json());
  if (!wanted.is_number() || !known.is_number() || wanted == known) return;
  if (wanted < known) {
    throw_input_error("--" + options.may_grow, "is less than in the run that is resumed", wanted.dump(),
                      "at least " + known.dump());
  }
  there[options.may_grow] = wanted;
  recorded.settings = there.dump();
  recorded.simulations.clear();
  for (RecordedTraining& training : recorded.trainings) training.complete = false;
}

/// The lock of the file that is kept up to date, if it exists.
FileLock lock_of(const RecordOptions& options) {
  return FileLock::of(target_of(options), options.checkpoint.empty() ? "--resume" : "--checkpoint");
}

RecordedRun resumed(const RecordOptions& options) {
  RecordedRun run{.settings = options.settings, .part = options.part.value_or(simulate::Part{})};
  if (target_of(options).empty()) {
    throw_input_error("--part", "has no file for its record", text_of(run.part), "--checkpoint FILE");
  }
  const NamedFile checkpoint{"--checkpoint", options.checkpoint}, resume{"--resume", options.resume};
  require_file(options.checkpoint.empty() ? resume : checkpoint);
  std::error_code error;
  if (std::filesystem::exists(options.checkpoint, error) &&
      !std::filesystem::equivalent(options.checkpoint, options.resume, error)) {
    throw_input_error("--checkpoint", "exists already", options.checkpoint,
                      "--resume with this file to go on, or another name");
  }
  if (options.resume.empty()) return run;
  RecordedRun recorded = read_record(options.resume, "--resume");
  let_grow(recorded, options);
  require_same_settings(run.settings, recorded.settings, "--resume", options.resume);
  if (options.part && text_of(*options.part) != text_of(recorded.part)) {
    throw_input_error("--part", "is not the part that is resumed", text_of(*options.part), text_of(recorded.part));
  }
  return recorded;
}

/// A part leaves only its record.
void require_no_report(const RecordOptions& options, const simulate::Part& part) {
  if (part.count > 1 && options.has_report) {
    throw InputError("--output: has no effect on part " + text_of(part) + ", which writes its record only");
  }
}

}  // namespace

std::string record_text(const RecordedRun& run) {
  json simulations = json::array();
  for (const RecordedSimulation& simulation : run.simulations) simulations.push_back(json_of(simulation));
  json content{{"format", format},
               {"contract", run.contract},
               {"settings", json::parse(run.settings)},
               {"part", {run.part.number, run.part.count}},
               {"complete", run.complete},
               {"simulations", std::move(simulations)}};
  for (const RecordedTraining& training : run.trainings) content["trainings"].push_back(json_of(training));
  const std::string text = content.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return text + checksum + checksum_of(text) + "\"}\n";
}

RecordedRun read_record(const std::string& file, const std::string& option) {
  const std::string whole = read_whole_file(file);
  const std::size_t end = whole.rfind(checksum);
  if (!whole.starts_with("{\"format\":\"incontext record")) refuse(file, option, "is not a record");
  if (end == std::string::npos) refuse(file, option, "is cut short");
  const std::string text = whole.substr(0, end);
  if (whole.substr(end) != checksum + checksum_of(text) + "\"}\n") refuse(file, option, "was altered or is cut short");
  try {
    const json content = json::parse(text);
    require(content.at("format") == format, "it has another format");
    RecordedRun run{
        content.at("settings").dump(),
        {count_in<std::int64_t>(content.at("part").at(0)), count_in<std::int64_t>(content.at("part").at(1))},
        content.at("complete").get<bool>(),
        {},
        count_in<std::int64_t>(content.at("contract"))};
    require_contract(run.contract);
    for (const json& simulation : content.at("simulations")) run.simulations.push_back(simulation_in(simulation));
    if (!content.contains("trainings")) return run;
    for (const json& training : content.at("trainings")) run.trainings.push_back(training_in(training));
    return run;
  } catch (const std::exception& error) {
    refuse(file, option, std::string("cannot be read: ") + error.what());
  }
}

void require_same_settings(const std::string& settings, const std::string& recorded, const std::string& option,
                           const std::string& file) {
  const std::string problem = difference(settings, recorded);
  if (problem.empty()) return;
  throw InputError(option + ": " + shown(file) + " is the record of another run: " + problem);
}

std::string difference(const std::string& settings, const std::string& others) {
  const json here = json::parse(settings), there = json::parse(others);
  if (here == there) return {};
  for (const auto& [name, value] : here.items()) {
    if (there.contains(name) && there.at(name) == value) continue;
    const std::string other = there.contains(name) ? there.at(name).dump() : "nothing";
    const std::string what = name == "program" ? name : "--" + name;
    return what + " differs (value = " + shown(value.dump()) + "; needs " + shown(other) + ")";
  }
  return "it has other options";
}

RecordFile::RecordFile(const RecordOptions& options) : RecordFile{options, lock_of(options), resumed(options)} {}

RecordFile::RecordFile(const RecordOptions& options, FileLock lock, RecordedRun run)
    : file_(target_of(options)),
      option_(options.checkpoint.empty() ? "--resume" : "--checkpoint"),
      settings_(std::move(run.settings)),
      lock_(std::move(lock)),
      is_new_(!std::filesystem::exists(file_)),
      may_grow_(!options.may_grow.empty()),
      record_(std::move(run.simulations), run.part),
      trainings_(std::move(run.trainings)),
      interval_(options.interval),
      next_write_(std::chrono::steady_clock::now()) {
  require_no_report(options, record_.part());
  { const TemporaryFile probe(file_, option_); }
  record_.on_change([this] {
    if (is_due()) keep();
  });
}

void RecordFile::keep() {
  try {
    write(false);
  } catch (const FileIsTaken&) {
    throw;
  } catch (const InputError& error) {
    next_write_ = std::chrono::steady_clock::now() + 10 * interval_;
    if (has_failed_) return;
    has_failed_ = true;
    const auto program = json::parse(settings_).value("program", std::string());
    std::fprintf(stderr, "%s: %s; the run goes on\n", program.c_str(), error.what());
  }
}

void RecordFile::finish(bool complete) { write(complete); }

void RecordFile::write(bool complete) {
  using std::chrono::steady_clock;
  const auto begin = steady_clock::now();
  TemporaryFile next(file_, option_);
  next.write(record_text({settings_, record_.part(), complete, record_.simulations(), simulate::contract_version,
                          trainings_.trainings()}));
  FileLock lock = FileLock::of(next.name(), option_);
  const int error = is_new_ ? next.take_free_place() : next.take_place();
  if (error == EEXIST)
    throw FileIsTaken(option_ + ": was written by another run meanwhile (value = " + file_ + "; needs another file)");
  if (error != 0) throw_unwritable(file_, error, option_);
  is_new_ = false;
  lock_ = std::move(lock);
  const auto now = steady_clock::now();
  next_write_ = now + std::max<steady_clock::duration>(interval_, 20 * (now - begin));
}

}  // namespace incontext::examples
