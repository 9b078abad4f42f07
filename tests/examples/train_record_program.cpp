// Every task of incontext train can be interrupted and goes on to the report of one run.

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kept_run.hpp"
#include "run_program.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace train_record_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

/// Every way in which the tasks train, each in a second or less.
const std::vector<Short> trainings{
    {"train",
     {"classification", "--map", "softmax", "--dimension", "2", "--classes", "2", "--context-length", "12", "--trials",
      "50", "--batch", "64", "--steps", "150", "--seeds", "2"}},
    {"train",
     {"classification", "--figure", "curves", "--map", "linear", "--dimension", "2", "--classes", "2",
      "--context-length", "12", "--trials", "50", "--batch", "64", "--steps", "150"}},
    {"train",
     {"classification", "--figure", "10", "--prototype-sets", "2", "--hidden-ratios", "2", "--trials", "64", "--steps",
      "80", "--seeds", "2"}},
    {"train", {"regression", "--seeds", "2", "--steps", "60", "--batch", "64", "--context-length", "4"}},
    {"train", {"reasoning", "--width", "8", "--seeds", "1", "--steps", "100", "--training-share", "0.05"}},
    {"train",
     {"affine", "--maps", "softmax,ssa", "--models", "full", "--steps", "30", "--batch", "4", "--tested", "8"}},
    {"train",
     {"quantifier", "--full", "--maps", "softmax,ssa", "--seeds", "1", "--steps", "20", "--batch", "4", "--tested", "8",
      "--lengths", "10", "--quantifiers", "every", "--width", "8"}},
    {"train", {"needle", "--seeds", "2", "--steps", "40", "--batch", "8"}}};

/// What a run says, apart from how it was run.
struct Said {
  int exit_code;
  Json tables, trials, verdict;

  bool operator==(const Said&) const = default;
};

Said said_by(const Finished& finished) {
  CAPTURE(finished.exit_code, finished.errors);
  REQUIRE(finished.output.starts_with("{"));
  const Json report = Json::parse(finished.output);
  return {finished.exit_code, report.at("tables"), report.at("trials"), report.at("verdict")};
}

/// Starts a run or goes on with it, and interrupts it after some milliseconds from the first record on.
Finished interrupted(const Short& at, const TemporaryFolder& folder, int signal, int milliseconds) {
  const std::string record = folder.file("record");
  Arguments all = at.arguments;
  const bool resumes = std::filesystem::exists(record);
  all.insert(all.end(), {resumes ? "--resume" : "--checkpoint", record, "--format", "json", "--device", "serial"});
  RunningProgram running(at.program, all, folder);
  REQUIRE(running.process() > 0);
  wait_for_interrupt_handler(running.process());
  for (int i = 0; i < 10000 && !std::filesystem::exists(record); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  running.send(signal);
  return running.wait();
}

}  // namespace

TEST_CASE("every task of training that is interrupted by any signal goes on to the report of one run",
          "[examples][train][record]") {
  int stops = 0, kills = 0;
  for (const Short& at : trainings) {
    const TemporaryFolder folder;
    CAPTURE(at.arguments);
    const Said expected = said_by(run(at, {"--format", "json", "--device", "serial"}));
    const std::string record = folder.file("record");
    int life = 0;
    for (const int signal : {SIGKILL, SIGTERM, SIGINT, SIGTERM, SIGKILL}) {
      const Finished finished = interrupted(at, folder, signal, 5 * life++);
      if (finished.exit_code == -1) {
        ++kills;
      } else if (Json::parse(finished.output)["complete"] == false) {
        ++stops;
        CHECK(finished.exit_code == 3);
        CHECK(names(finished.errors, "stopped early", "--resume " + record));
      }
    }
    CHECK(said_by(run(at, {"--resume", record, "--format", "json", "--device", "openmp"})) == expected);
    // a complete record has it all
    CHECK(said_by(run(at, {"--resume", record, "--format", "json"})) == expected);
    CHECK(names(refusal(run(at, {"--checkpoint", record})), "--checkpoint: exists already"));
    CHECK(names(refusal(run(at, {"--resume", record, "--seed", "7"})), "--seed differs", "record of another run"));
    for (const std::string& name : folder.names()) {  // a kill may leave a file that was being written
      CHECK((name == "record" || (kills > 0 && name.starts_with("record.incontext-"))));
    }
  }
  CHECK(stops >= 8);
  CHECK(kills >= 8);
}

TEST_CASE("what a checkpoint of training may not be is refused before the first step", "[examples][train][record]") {
  for (const Short& at : trainings) {
    const TemporaryFolder folder;
    const std::string report = folder.write("report", "older");
    CAPTURE(at.arguments);
    const auto refused = [&](const Arguments& more) { return refusal(run(at, more)); };
    CHECK(names(refused({"--checkpoint", folder.file("none/record")}), "--checkpoint: cannot be written",
                "No such file or directory"));
    CHECK(names(refused({"--checkpoint", "/dev/full"}), "--checkpoint", "not a file"));
    CHECK(names(refused({"--resume", report}), "--resume", "is not a record"));
    CHECK(names(refused({"--device", "cuda:all", "--checkpoint", folder.file("record")}), "cuda"));
    CHECK(content_of(report) == "older");
    CHECK(folder.names() == std::vector<std::string>{"report"});
  }
}

TEST_CASE("on a full disk a training keeps its last record and its report", "[examples][train][record]") {
  const Short& at = trainings[5];  // its record is larger than what the program says
  const TemporaryFolder folder;
  const std::string record = folder.file("record");
  const Said expected = said_by(run(at, {"--format", "json"}));
  std::string command = "(ulimit -f 4; " + in_shell(at.program);
  for (const std::string& argument : at.arguments) command += " " + shell_quoted(argument);
  const Finished full =
      run_command(command + " --format json --checkpoint " + shell_quoted(record) + "; echo code $? >&2) | cat");
  CAPTURE(full.errors);
  CHECK(names(full.errors, "--checkpoint: cannot be written", record, "the run goes on", "code 2"));
  CHECK(tables_of(full) == expected.tables);
}

TEST_CASE("a course of classification goes on to more steps with the rows of the longer one",
          "[examples][train][record]") {
  const TemporaryFolder folder;
  const auto curve = [&](const std::string& steps, Arguments more) {
    Arguments all{"classification",
                  "--figure",
                  "curves",
                  "--map",
                  "softmax",
                  "--dimension",
                  "2",
                  "--classes",
                  "2",
                  "--context-length",
                  "12",
                  "--trials",
                  "50",
                  "--batch",
                  "64",
                  "--decay-steps",
                  "80",
                  "--steps",
                  steps,
                  "--format",
                  "json",
                  "--device",
                  "serial"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program("train", all);
  };
  const Said whole = said_by(curve("80", {"--weights", folder.file("whole")}));
  said_by(curve("40", {"--checkpoint", folder.file("state")}));
  const Said longer = said_by(curve("80", {"--resume", folder.file("state"), "--weights", folder.file("longer")}));
  CHECK(longer == whole);
  for (const std::string end : {".key_query.npy", ".output.npy"}) {
    CHECK(content_of(folder.file("whole" + end)).size() > 100);
    CHECK(content_of(folder.file("whole" + end)) == content_of(folder.file("longer" + end)));
  }
  CHECK(
      names(refusal(curve("60", {"--resume", folder.file("state")})), "--steps: is less than in the run", "60", "80"));
  CHECK(names(refusal(curve("81", {})), "--decay-steps: the rate is 0 from there on", "80", "81"));
}

TEST_CASE("the page of the program says of each subcommand whether its runs are kept and divided",
          "[examples][record]") {
  const std::string page = content_of(std::string(INCONTEXT_SOURCE_DIR) + "/docs/programs.md");
  const std::size_t begin = page.find("| Subcommands | `--checkpoint`"), end = page.find("\n\n", begin);
  REQUIRE(end != std::string::npos);
  std::istringstream table(page.substr(begin, end - begin));
  std::map<std::string, std::pair<bool, bool>> said;  // kept, divided
  std::string row;
  while (std::getline(table, row)) {
    const std::size_t first = row.find(" | "), second = row.find(" | ", first + 1);
    REQUIRE(second != std::string::npos);
    const std::pair<bool, bool> promise{row.substr(first, second - first) != " | no", row.substr(second) != " | no |"};
    for (std::size_t at = row.find('`'); at < first; at = row.find('`', row.find('`', at + 1) + 1)) {
      said[row.substr(at + 1, row.find('`', at + 1) - at - 1)] = promise;
    }
  }
  std::set<std::string> all;
  for (const std::string& name : all_subcommands()) {
    const Finished help = run_program(name, {"--help"});
    const std::string subcommand = name.substr(0, name.find(' '));
    all.insert(subcommand);
    CAPTURE(name);
    REQUIRE(said.contains(subcommand));
    const auto has = [&](const char* option) { return help.output.find(option) != std::string::npos; };
    CHECK(has("\n  --checkpoint FILE") == said[subcommand].first);
    CHECK(has("\n  --resume FILE") == said[subcommand].first);
    CHECK(has("\n  --part I/N") == said[subcommand].second);
  }
  CHECK(said.size() == all.size());
}

}  // namespace train_record_program_test
