#include "examples/support/record_file.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "examples/support/text.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace record_file_test {

namespace {

using namespace incontext;
using namespace incontext::examples;

struct SquareTrial {
  using Scalar = double;
  double scale = 1;
  bool is_poisoned = false;  // the second output is infinite

  INCONTEXT_HD int outputs() const { return 2; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W>,
                        simulate::LaneArray<double, W> values) const {
    Lanes<double, W> normal[2];
    random::normals(random::LaneStream(trials, random::StreamTag(0)), 0u, normal);
    for (int lane = 0; lane < W; ++lane) {
      values[0][lane] = scale * normal[0][lane] * normal[0][lane];
      values[1][lane] = is_poisoned ? 1 / (0 * scale) : normal[1][lane];
    }
  }
};

constexpr auto settings = R"({"program":"test","dimension":20,"trials":1e6})";

using Means = std::array<double, 4>;

/// Two simulations, the second with a pilot.
Means program(simulate::SimulationRecord* record, double scale = 1) {
  const auto named = [&](const char* name) {
    if (record != nullptr) record->name_next(name);
    return record;
  };
  const auto a = simulate::run(
      SquareTrial{scale}, {.seed = 1, .trials = 400000, .device = simulate::Device::serial, .record = named("first")});
  const auto b = simulate::run(SquareTrial{scale}, {.seed = 2,
                                                    .trials = 300000,
                                                    .relative_error = 0.003,
                                                    .device = simulate::Device::serial,
                                                    .record = named("second")});
  return {a.estimates[0].mean, a.estimates[0].standard_error, b.estimates[0].mean, b.estimates[1].mean};
}

/// A folder that is gone at the end of the test.
struct Folder {
  std::string path = std::filesystem::temp_directory_path() / ("incontext-record-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const std::string& name) const { return path + "/" + name; }
};

void write_text(const std::string& file, const std::string& text) {
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

RecordOptions options_for(const std::string& file) {
  RecordOptions options{.settings = settings, .interval = std::chrono::milliseconds(0)};
  (std::filesystem::exists(file) ? options.resume : options.checkpoint) = file;
  return options;
}

Means run_with(const std::string& file, double scale = 1) {
  RecordFile record(options_for(file));
  const Means means = program(&record.record(), scale);
  record.finish(true);
  return means;
}

std::string refusal_of(const RecordOptions& options) {
  return testing::message_of<InputError>([&] { const RecordFile file(options); });
}

}  // namespace

TEST_CASE("a run that is killed at a hundred random moments and resumed has the bits of one run") {
  const Folder folder;
  const Means expected = program(nullptr);
  std::mt19937 random(1);
  int kills = 0, resumed = 0;
  for (int run = 0; kills < 100; ++run) {
    const std::string file = folder.file("run-" + std::to_string(run));
    for (unsigned life = 1;; ++life) {
      resumed += std::filesystem::exists(file);
      const pid_t child = ::fork();
      REQUIRE(child >= 0);
      if (child == 0) {
        try {
          ::_exit(run_with(file) == expected ? 0 : 3);
        } catch (...) {
          ::_exit(2);
        }
      }
      std::this_thread::sleep_for(std::chrono::microseconds(random() % (2000 * life)));
      ::kill(child, SIGKILL);
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      if (WIFEXITED(status)) {
        CHECK(WEXITSTATUS(status) == 0);
        break;
      }
      ++kills;
    }
    CHECK(run_with(file) == expected);
    CHECK(read_record(file, "--resume").complete);
  }
  CHECK(resumed > 10);
}

TEST_CASE("numbers are kept to the last bit, infinite ones and those of unfinished runs included") {
  simulate::SimulationRecord record({}, {2, 3});
  simulate::run(SquareTrial{1e-300, true}, {.trials = 20000, .device = simulate::Device::serial, .record = &record});
  const Folder folder;
  const std::string file = folder.file("record");
  const std::string text = record_text({settings, {2, 3}, false, record.simulations()});
  write_text(file, text);
  const RecordedRun read = read_record(file, "--resume");
  CHECK(read.part.number == 2);
  CHECK(read.part.count == 3);
  CHECK_FALSE(read.complete);
  CHECK(record_text(read) == text);
}

TEST_CASE("a record that was cut short or altered anywhere is refused, and the file is kept") {
  const Folder folder;
  const std::string file = folder.file("record");
  run_with(file);
  const std::string whole = read_whole_file(file);
  const std::string changed = folder.file("changed");
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    std::string text = whole;
    const std::size_t at = random() % whole.size();
    if (round % 2 == 0) {
      text.resize(at);
    } else {
      text[at] = static_cast<char>(text[at] ^ (1 << random() % 7));
    }
    write_text(changed, text);
    CAPTURE(round, at);
    CHECK(testing::names(refusal_of(options_for(changed)), "--resume: ", changed));
    CHECK(read_whole_file(changed) == text);
  }
  write_text(changed, whole);
  CHECK(refusal_of(options_for(changed)).empty());
}

TEST_CASE("a record of other parameters, other options or another part is refused by name, and the file is kept") {
  const Folder folder;
  const std::string file = folder.file("record");
  run_with(file);
  const std::string whole = read_whole_file(file);
  const std::string other = testing::message_of<std::invalid_argument>([&] { run_with(file, 1 + 1e-15); });
  CHECK(testing::names(other, "simulation 1 (first)", "first 1024 trials"));
  RecordOptions options = options_for(file);
  options.settings = R"({"program":"test","dimension":21,"trials":1e6})";
  CHECK(testing::names(refusal_of(options), "--dimension differs", "21", "20", file));
  options.settings = R"({"program":"other","dimension":20,"trials":1e6})";
  CHECK(testing::names(refusal_of(options), "program differs", "other", "test"));
  options.settings = R"({"program":"test","dimension":20})";
  CHECK(testing::names(refusal_of(options), "record of another run"));
  options = options_for(file);
  options.part = simulate::Part{2, 3};
  CHECK(testing::names(refusal_of(options), "--part: is not the part that is resumed", "2/3", "1/1"));
  CHECK(testing::names(refusal_of({.settings = settings, .checkpoint = file}), "--checkpoint: exists already", file));
  CHECK(testing::names(refusal_of({.settings = settings, .part = simulate::Part{2, 3}}), "--part", "--checkpoint"));
  CHECK(testing::names(refusal_of({.settings = settings, .checkpoint = folder.file("no/folder")}), "--checkpoint"));
  CHECK(read_whole_file(file) == whole);
}

TEST_CASE("a record of another contract version is refused by name, and the file is kept") {
  const Folder folder;
  const std::string file = folder.file("record");
  run_with(file);
  RecordedRun run = read_record(file, "--resume");
  CHECK(run.contract == simulate::contract_version);
  run.contract = simulate::contract_version + 1;
  const std::string text = record_text(run);
  write_text(file, text);
  CHECK(testing::names(refusal_of(options_for(file)), "--resume", "contract version 2", "this release 1", file));
  CHECK(read_whole_file(file) == text);
}

TEST_CASE("a disk that is full is an error with the file's name, and the last record is kept") {
  const Folder folder;
  const std::string file = folder.file("record");
  run_with(file);
  const std::string whole = read_whole_file(file);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  RecordFile record(options_for(file));
  rlimit full = before;
  full.rlim_cur = 100;
  ::setrlimit(RLIMIT_FSIZE, &full);
  const std::string message = testing::message_of<InputError>([&] { record.finish(true); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(testing::names(message, "--resume: cannot be written", file));
  CHECK(read_whole_file(file) == whole);
}

TEST_CASE("a record that another run keeps up to date is refused by name, and so is the second of two new ones") {
  const Folder folder;
  const std::string file = folder.file("record");
  run_with(file);
  const std::string whole = read_whole_file(file);
  {
    const RecordFile first(options_for(file));
    CHECK(testing::names(refusal_of(options_for(file)), "--resume: is kept up to date by another run", file));
    std::filesystem::create_symlink("record", folder.file("link"));
    CHECK(testing::names(refusal_of(options_for(folder.file("link"))), "--resume: is kept up to date by another run"));
  }
  CHECK(refusal_of(options_for(file)).empty());
  CHECK(read_whole_file(file) == whole);

  const std::string fresh = folder.file("fresh");
  RecordFile first({.settings = settings, .checkpoint = fresh}), second({.settings = settings, .checkpoint = fresh});
  first.finish(true);
  const std::string kept = read_whole_file(fresh);
  CHECK(testing::names(testing::message_of<InputError>([&] { second.keep(); }), "--checkpoint: was written by another",
                       fresh));
  CHECK(testing::names(testing::message_of<InputError>([&] { second.finish(true); }), "--checkpoint", fresh));
  CHECK(read_whole_file(fresh) == kept);
  // the lock is of the file that the first run has written since
  CHECK(testing::names(refusal_of(options_for(fresh)), "--resume: is kept up to date by another run"));
  first.finish(true);
  CHECK(testing::names(refusal_of(options_for(fresh)), "--resume: is kept up to date by another run"));
}

TEST_CASE("a run whose record cannot be written in its midst goes on, and tells so once") {
  const Folder folder;
  const std::string inner = folder.file("inner"), file = inner + "/record";
  std::filesystem::create_directories(inner);
  const Means expected = program(nullptr);
  RecordFile record(options_for(file));
  std::filesystem::remove_all(inner);
  CHECK(program(&record.record()) == expected);
  CHECK(testing::names(testing::message_of<InputError>([&] { record.finish(true); }), "--checkpoint: cannot be written",
                       "No such file or directory", file));
}

namespace {

/// The record's text with a change, and the checksum that it needs.
std::string sealed(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  text = text.substr(0, text.rfind("\n{\"checksum"));
  std::uint64_t sum = 14695981039346656037ULL;
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(sum));
  return text + "\n{\"checksum\": \"" + digits + "\"}\n";
}

}  // namespace

TEST_CASE("numbers that a record cannot have are refused even with the right checksum, not cut") {
  const Folder folder;
  const std::string file = folder.file("record"), changed = folder.file("changed");
  run_with(file);
  const std::string whole = read_whole_file(file);
  const auto refused = [&](const std::string& from, const std::string& to) {
    write_text(changed, sealed(whole, from, to));
    return refusal_of(options_for(changed));
  };
  CHECK(refused("\"in_full\":false", "\"in_full\":false").empty());
  CHECK(testing::names(refused("\"seed\":1", "\"seed\":1.5"), "--resume: cannot be read", "1.5"));
  CHECK(testing::names(refused("\"seed\":1", "\"seed\":-1"), "--resume: cannot be read", "-1"));
  CHECK(testing::names(refused("\"outputs\":[[[", "\"outputs\":[[[46116860184273879"), "--resume: cannot be read"));
  CHECK(testing::names(refused("\"trials\":400000", "\"trials\":4e5"), "--resume: cannot be read"));
  CHECK(testing::names(refused("\"contract\":1", "\"contract\":18446744073709551617"), "--resume: cannot be read"));
  const std::string name(4096, 'n');
  write_text(changed, sealed(whole, "\"name\":\"first\"", "\"name\":\"" + name + "\""));
  const std::string message = testing::message_of<std::invalid_argument>([&] { run_with(changed); });
  CHECK(testing::names(message, "another name"));
  CHECK(message.size() < 300);
}

TEST_CASE("a record keeps trainings to the last bit, and refuses hostile ones with the right checksum") {
  const Folder folder;
  const std::string file = folder.file("record");
  const double infinity = std::numeric_limits<double>::infinity();
  const RecordedRun run{.settings = settings,
                        .trainings = {{.name = "one",
                                       .state = {{0.1, -0.0}, {{5e-324, 2}, {infinity, 3}, 41}, 0.7},
                                       .last = {40, 1, 2, 3, 4, 5},
                                       .results = {{1, 2, 3}, {}}}}};
  const std::string text = record_text(run);
  write_text(file, text);
  const RecordedRun read = read_record(file, "--resume");
  CHECK(record_text(read) == text);
  REQUIRE(read.trainings.size() == 1);
  CHECK(read.trainings[0].state.parameters == run.trainings[0].state.parameters);
  CHECK(read.trainings[0].state.adam.second == run.trainings[0].state.adam.second);
  CHECK(read.trainings[0].state.first_loss == 0.7);
  CHECK(read.trainings[0].results == run.trainings[0].results);
  const auto refused = [&](const std::string& from, const std::string& to) {
    write_text(file, sealed(text, from, to));
    return testing::message_of<InputError>([&] { read_record(file, "--resume"); });
  };
  CHECK(testing::names(refused("\"steps\":41", "\"steps\":-20"), "negative number of steps"));
  CHECK(testing::names(refused("\"steps\":41", "\"steps\":4.5"), "4.5"));
  CHECK(testing::names(refused("\"parameters\":\"3", "\"parameters\":\""), "numbers are cut"));
  CHECK(testing::names(refused("\"parameters\":\"3", "\"parameters\":\"x"), "a number is damaged"));
}

}  // namespace record_file_test
