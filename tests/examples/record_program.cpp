#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "kept_run.hpp"
#include "run_program.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace record_program_test {

using namespace incontext;
using namespace incontext::testing;
using incontext::testing::run;

namespace {

Finished run(const Arguments& more, const std::string& dimension = "3") {
  Arguments all{"--dimension", dimension, "--context-length", "5", "--relative-error", "0.01", "--format", "json"};
  all.insert(all.end(), more.begin(), more.end());
  return run_program("softmax-error", all);
}

}  // namespace

TEST_CASE("parts of a program's run, united, and a resumed run print the tables of one run", "[programs][record]") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name) { return folder.file(name); };
  const nlohmann::json expected = tables_of(run({}));
  for (const std::string part : {"1", "2", "3"}) {
    const Finished finished = run({"--part", part + "/3", "--checkpoint", file(part), "--device", "serial"});
    CAPTURE(finished.errors);
    CHECK(finished.exit_code == 0);
    CHECK(finished.output == "Part " + part + "/3 is in " + file(part) + "\n");
  }
  CHECK(run_program("merge", {file("3"), file("1"), file("2"), "--output", file("whole")}).exit_code == 0);
  CHECK(tables_of(run({"--resume", file("whole")})) == expected);
  CHECK(tables_of(run({"--checkpoint", file("kept")})) == expected);
  CHECK(tables_of(run({"--resume", file("kept")})) == expected);

  const auto refused = [](const Finished& finished) {
    CHECK(finished.exit_code == 2);
    return finished.errors;
  };
  const auto merged = [&](Arguments files) {
    files.insert(files.end(), {"--output", file("other")});
    return refused(run_program("merge", files));
  };
  CHECK(names(merged({file("1"), file("3")}), "a part is missing", "2"));
  CHECK(names(merged({file("1"), file("2"), file("2")}), "part 2/3", "given twice"));
  CHECK(names(merged({file("1"), folder.write("text", "3")}), "is not a record", "text"));
  CHECK(run({"--part", "2/4", "--checkpoint", file("2 of 4")}).exit_code == 0);
  CHECK(names(merged({file("1"), file("2 of 4"), file("3")}), "part 2/4", "of another division"));
  CHECK(run({"--part", "2/3", "--checkpoint", file("seed"), "--seed", "2"}).exit_code == 0);
  CHECK(names(merged({file("1"), file("seed"), file("3")}), "--seed differs", "seed"));
  CHECK(names(refused(run({"--resume", file("whole")}, "4")), "--dimension differs", "4", "3"));
  CHECK(names(refused(run({"--checkpoint", file("1")})), "--checkpoint: exists already"));
  CHECK(names(refused(run({"--part", "1/3"})), "--part", "--checkpoint FILE"));
  for (const std::string wrong : {"0/3", "4/3", "1/0", "2", "1/2/3", "1/1000001"}) {
    CHECK(names(refused(run({"--part", wrong, "--checkpoint", file("new")})), "--part"));
  }
}

namespace {

/// Means, samples of all trials, several simulations, a search, data; incontext softmax-error has the test above.
std::vector<Short> short_runs() {
  const std::string data = std::string(INCONTEXT_SOURCE_DIR) + "/examples/data/diabetes.csv";
  return {{"temperature", {"--dimension", "3", "--context-length", "6", "--trials", "5000"}},
          {"temperature", {"--data", data, "--trials", "5000"}},
          {"gradients", {"--figure", "normsoftmax", "--dimension", "4", "--trials", "5000"}},
          {"fading", {"--figure", "phase", "--lengths", "20", "--trials", "5000"}},
          {"tasks", {"--trials", "20000"}},
          {"baselines", {"--context-lengths", "4,30", "--trials", "5000"}},
          {"classify",
           {"--rule", "softmax", "--dimension", "2", "--context-length", "20", "--classes", "2", "--search-trials",
            "2500", "--trials", "5000"}}};
}

}  // namespace

TEST_CASE("every program that simulates keeps a run, resumes it and divides it, on any device, to the same tables",
          "[programs][record]") {
  const Arguments json{"--format", "json"};
  const auto with = [](const std::string& option, const std::string& file) {
    return Arguments{option, file, "--format", "json"};
  };
  const std::vector<std::string> all = devices();
  for (const Short& at : short_runs()) {
    const TemporaryFolder folder;
    const nlohmann::json expected = tables_of(run(at, json));
    CAPTURE(at.program, at.arguments);
    CHECK(tables_of(run(at, with("--checkpoint", folder.file("kept")))) == expected);
    CHECK(tables_of(run(at, with("--resume", folder.file("kept")))) == expected);
    Arguments merge;
    for (std::size_t part = 1; part <= 3; ++part) {
      const std::string number = std::to_string(part), file = folder.file(number);
      const Finished finished =
          run(at, {"--part", number + "/3", "--checkpoint", file, "--device", all[part % all.size()]});
      CAPTURE(finished.errors);
      CHECK(finished.exit_code == 0);
      CHECK(names(refusal(run(at, {"--resume", file, "--output", folder.file("report")})), "--output",
                  "part " + number + "/3"));
      merge.push_back(file);
    }
    merge.insert(merge.end(), {"--output", folder.file("whole")});
    CHECK(run_program("merge", merge).exit_code == 0);
    CHECK(tables_of(run(at, with("--resume", folder.file("whole")))) == expected);
  }
}

TEST_CASE("what a checkpoint may not be is refused before the first trial, and the files are kept",
          "[programs][record]") {
  const Short other{"tasks", {"--trials", "3000"}};
  for (const Short& at : short_runs()) {
    const TemporaryFolder folder;
    CAPTURE(at.program, at.arguments);
    const std::string report = folder.write("report", "older"), record = folder.file("record");
    CHECK(names(refusal(run(at, {"--checkpoint", report, "--output", report})),
                "--output: is the file of --checkpoint too"));
    CHECK(names(refusal(run(at, {"--checkpoint", report + ".partial", "--output", report})), "partial report"));
    CHECK(names(refusal(run(at, {"--checkpoint", report})), "--checkpoint: exists already"));
    CHECK(names(refusal(run(at, {"--checkpoint", folder.file("none/record")})), "--checkpoint: cannot be written"));
    CHECK(names(refusal(run(at, {"--checkpoint", "/dev/full"})), "--checkpoint", "not a file"));
    CHECK(names(refusal(run(at, {"--resume", record})), record, "cannot be opened"));
    CHECK(names(refusal(run(at, {"--resume", report})), "--resume", "is not a record"));
    CHECK(names(refusal(run(at, {"--part", "1/2"})), "--part", "--checkpoint FILE"));
    CHECK(content_of(report) == "older");

    run(other, {"--checkpoint", record});
    const std::string kept = content_of(record);
    CHECK(names(refusal(run(at, {"--resume", record})), "--resume", "record of another run"));
    CHECK(names(refusal(run(at, {"--resume", record, "--output", record})),
                "--output: would replace the input of --resume"));
    CHECK(names(refusal(run(other, {"--resume", record, "--checkpoint", report})), "--checkpoint: exists already"));
    std::filesystem::permissions(record, std::filesystem::perms::owner_read);
    CHECK(names(refusal(run(other, {"--resume", record})), "--resume: cannot be written"));
    CHECK(content_of(record) == kept);
    CHECK(folder.names() == std::vector<std::string>{"record", "report"});
  }
}

TEST_CASE("a run whose report cannot be written is kept, and its record gives the report", "[programs][record]") {
  if (!std::filesystem::is_character_file("/dev/full")) return;
  for (const Short& at : short_runs()) {
    const TemporaryFolder folder;
    CAPTURE(at.program, at.arguments);
    const std::string record = folder.file("record");
    CHECK(names(refusal(run(at, {"--checkpoint", record, "--output", "/dev/full"})), "--resume " + record));
    CHECK(folder.names() == std::vector<std::string>{"record"});
    CHECK(tables_of(run(at, {"--resume", record, "--format", "json"})) == tables_of(run(at, {"--format", "json"})));
  }
}

TEST_CASE("modes that have no parts, or nothing to keep, refuse the options by name", "[programs][record]") {
  const TemporaryFolder folder;
  const std::string file = folder.file("record"), scores = folder.write("scores.csv", "1,2\n3,5\n");
  for (const std::string figure : {"16", "onset", "elimination"}) {
    const Finished finished = run_program("classify", {"--figure", figure, "--part", "1/2", "--checkpoint", file});
    CHECK(names(refusal(finished), "--part: has no meaning with --figure " + figure, "depend on each other"));
  }
  for (const Arguments& more : {Arguments{"--checkpoint", file}, {"--resume", file}, {"--part", "1/2"}}) {
    Arguments arguments{"--scores", scores};
    arguments.insert(arguments.end(), more.begin(), more.end());
    CHECK(names(refusal(run_program("temperature", arguments)), more[0], "has no meaning with --scores"));
    CHECK(names(refusal(run_program("scores", more)), more[0], "is not an option"));
  }
  CHECK(names(refusal(run_program("train", {"classification", "--part", "1/2"})), "--part", "not an option"));
  CHECK(folder.names() == std::vector<std::string>{"scores.csv"});
}

namespace {

/// A run of about a second, and one with a search.
const Short groups{"gradients", {"--figure", "groups", "--trials", "3000"}};
const Short search{"classify",
                   {"--rule", "softmax", "--dimension", "2", "--context-length", "20", "--classes", "2",
                    "--search-trials", "5000", "--trials", "20000"}};

}  // namespace

TEST_CASE("a program that is killed while it keeps its run goes on to the tables of one run, on other devices",
          "[programs][record]") {
  for (const Short& at : {groups, search}) {
    const nlohmann::json expected = tables_of(run(at, {"--format", "json"}));
    const int kills = kill_and_resume(at, expected, [](int life) -> std::optional<int> {
      if (life > 3) return {};
      return 20 * life;
    });
    CHECK(kills > 0);
  }
}

TEST_CASE("programs that are killed a hundred times at random moments go on to the tables of one run", "[.slow]") {
  std::mt19937 random(4);
  int kills = 0;
  std::vector<Short> all = short_runs();
  all.insert(all.end(), {groups, search});
  std::vector<nlohmann::json> expected;
  for (const Short& at : all) expected.push_back(tables_of(run(at, {"--format", "json"})));
  for (std::size_t i = 0; kills < 100; i = (i + 1) % all.size()) {
    kills += kill_and_resume(all[i], expected[i], [&](int life) {
      return std::optional<int>(random() % (50 * static_cast<unsigned>(life + 1)));
    });
  }
}

TEST_CASE("Ctrl-C and SIGTERM leave a record that says how to go on, and goes on", "[programs][record]") {
  const nlohmann::json expected = tables_of(run(groups, {"--format", "json"}));
  for (const int signal : {SIGINT, SIGTERM}) {
    const TemporaryFolder folder;
    const std::string record = folder.file("record");
    Arguments arguments = groups.arguments;
    arguments.insert(arguments.end(), {"--checkpoint", record, "--device", "serial", "--format", "json"});
    RunningProgram running(groups.program, arguments, folder);
    REQUIRE(running.process() > 0);
    wait_for_interrupt_handler(running.process());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    running.send(signal);
    const Finished finished = running.wait();
    CAPTURE(signal, finished.errors);
    CHECK(finished.exit_code == 3);
    CHECK(names(finished.errors, "stopped early", "--resume " + record));
    CHECK(nlohmann::json::parse(finished.output)["complete"] == false);
    CHECK(names(refusal(run_program("merge", {record, "--output", folder.file("whole")})), "unfinished"));
    CHECK(tables_of(run(groups, {"--resume", record, "--format", "json"})) == expected);
  }
}

TEST_CASE("on a full disk a run keeps its last record and its report", "[programs][record]") {
  const TemporaryFolder folder;
  const std::string record = folder.file("record");
  const Short tasks{"tasks", {"--trials", "20000", "--format", "json"}};
  const nlohmann::json expected = tables_of(run(tasks, {}));
  const Finished full =
      run_command("(ulimit -f 4; " + in_shell("tasks") + " --trials 20000 --format json --checkpoint " +
                  shell_quoted(record) + "; echo code $? >&2) | cat");
  CAPTURE(full.errors);
  CHECK(names(full.errors, "--checkpoint: cannot be written", record, "code 2"));
  CHECK(tables_of(full) == expected);
  CHECK(folder.names() == std::vector<std::string>{"record"});
  CHECK(tables_of(run(tasks, {"--resume", record})) == expected);
}

}  // namespace record_program_test
