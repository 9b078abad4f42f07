#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "run_program.hpp"
#include "support/catch.hpp"

/// Runs of programs that are kept in a file, killed and resumed.
namespace incontext::testing {

using Arguments = std::vector<std::string>;

inline nlohmann::json tables_of(const Finished& finished) { return nlohmann::json::parse(finished.output)["tables"]; }

/// A program, and options with which it is short, but has simulations of several chunks.
struct Short {
  std::string program;
  Arguments arguments;
};

inline Finished run(const Short& at, const Arguments& more) {
  Arguments all = at.arguments;
  all.insert(all.end(), more.begin(), more.end());
  return run_program(at.program, all);
}

/// The devices on a processor that this build has.
inline std::vector<std::string> devices() {
  std::vector<std::string> all;
  for (const char* device : {"serial", "openmp", "tbb"}) {
    if (run_program("tasks", {"--trials", "2", "--quiet", "--device", device}).exit_code != 2) {
      all.emplace_back(device);
    }
  }
  return all;
}

inline std::string refusal(const Finished& finished) {
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  return finished.errors;
}

/// Runs a program again and again, each time on the next device, until a run is not killed `delay()` milliseconds after
/// it has a record; checks that this one prints the expected tables, and returns how many were killed.
template <class Delay>
int kill_and_resume(const Short& at, const nlohmann::json& expected, const Delay& delay) {
  static const std::vector<std::string> all = devices();
  const TemporaryFolder folder;
  const std::string record = folder.file("record");
  for (int kills = 0;; ++kills) {
    Arguments arguments = at.arguments;
    const std::string option = std::filesystem::exists(record) ? "--resume" : "--checkpoint";
    arguments.insert(arguments.end(), {option, record, "--device", all[static_cast<std::size_t>(kills) % all.size()],
                                       "--format", "json"});
    RunningProgram running(at.program, arguments, folder);
    REQUIRE(running.process() > 0);
    if (const auto milliseconds = delay(kills)) {
      for (int i = 0; i < 30000 && !std::filesystem::exists(record); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(*milliseconds));
      running.send(SIGKILL);
    }
    const Finished finished = running.wait();
    if (finished.exit_code == -1) continue;
    CAPTURE(at.program, at.arguments, kills, finished.errors);
    CHECK(tables_of(finished) == expected);
    return kills;
  }
}

}  // namespace incontext::testing
