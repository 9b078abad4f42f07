#include "examples/support/record_file.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "examples/support/text.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/run.hpp"
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

}  // namespace record_file_test
