// One rule for all subcommands: an output is no input and no other output, whichever options name them.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/run_program.hpp"

namespace same_file_program_test {

using namespace incontext::testing;
using Names = std::vector<std::string>;

namespace {

/// The files that a subcommand cannot do without.
const std::map<std::string, Names> needed{{"merge", {"none"}}};

/// What is written, and to which files the value leads.
const std::map<std::string, Names> outputs{
    {"--output", {"", ".partial"}}, {"--checkpoint", {""}}, {"--page", {"", ".partial"}}};
const std::set<std::string> inputs{"--scores",
                                   "--self-scores",
                                   "--data",
                                   "--input-covariance",
                                   "--task-covariance",
                                   "--task-mean",
                                   "--test-task-mean",
                                   "--test-input-covariance",
                                   "--test-task-covariance",
                                   "--claims-file",
                                   "--resume"};

/// --weights has its own names in scores and in training, and --contexts two files.
Names ends_of(const std::string& program, const std::string& option) {
  if (option == "--contexts") return {"", "-labels.npy"};
  if (option != "--weights") return outputs.at(option);
  return program == "scores" ? Names{""} : Names{".key_query.npy", ".output.npy"};
}

Finished run(const std::string& program, const Names& more) {
  const bool has_files = !more.empty() && !more.front().starts_with("--");
  Names all = needed.contains(program) && !has_files ? needed.at(program) : Names{};
  all.insert(all.end(), more.begin(), more.end());
  return run_program(program, all);
}

/// The options that name files, as the help shows them.
std::set<std::string> file_options(const std::string& program) {
  std::istringstream help(run_program(program, {"--help"}).output);
  std::set<std::string> found;
  for (std::string line; std::getline(help, line);) {
    std::istringstream words(line);
    std::string option, type;
    if (words >> option >> type && option.starts_with("--") && type.find("FILE") != std::string::npos) {
      found.insert(option.substr(0, option.find(',')));
    }
  }
  return found;
}

void check_refused(const std::string& program, const Names& arguments, const Names& options) {
  const Finished finished = run(program, arguments);
  CAPTURE(program, arguments, finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  for (const std::string& option : options) CHECK(names(finished.errors, option));
  CHECK((names(finished.errors, "is the file of") || names(finished.errors, "would replace the input of")));
}

}  // namespace

TEST_CASE("no subcommand writes to a file that another of its options names, derived names included", "[files]") {
  namespace fs = std::filesystem;
  std::size_t pairs = 0;
  for (const std::string& program : all_subcommands()) {
    const std::set<std::string> options = file_options(program);
    CAPTURE(program, options);
    CHECK(options.contains("--output") == (program != "completion"));
    for (const std::string& written : options) {
      if (inputs.contains(written)) continue;
      REQUIRE((written == "--weights" || written == "--contexts" || outputs.contains(written)));  // else tell it here
      for (const std::string& end : ends_of(program, written)) {
        const std::string ending = written == "--page" ? "x.html" : "x";
        for (const std::string& other : options) {
          if (other == written || (written == "--checkpoint" && other == "--resume")) continue;
          if (!inputs.contains(other) && ends_of(program, other).front() != "") continue;  // comes as the first
          if (program == "merge") continue;                                                // below
          const TemporaryFolder folder;
          const std::string base = folder.file(ending), same = base + end;
          folder.write(fs::path(same).filename().string(), "old");
          check_refused(program, {written, base, other, same}, {written, other});
          CHECK(content_of(same) == "old");
          CHECK(folder.names().size() == 1);
          // another name of the same file
          fs::create_hard_link(same, folder.file("hard"));
          fs::create_symlink(fs::path(same).filename(), folder.file("soft"));
          check_refused(program, {written, base, other, folder.file("hard")}, {written, other});
          check_refused(program, {written, base, other, folder.file("soft")}, {written, other});
          // no file yet
          fs::remove(same);
          fs::remove(folder.file("hard"));
          check_refused(program, {written, base, other, folder.file("soft")}, {written, other});
          ++pairs;
        }
      }
    }
  }
  CHECK(pairs > 100);
}

TEST_CASE("merged records, cases and a continued record are no outputs either", "[files]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("file", "old");
  const std::string merge = "merge";
  check_refused(merge, {file, folder.file("other"), "--output", file}, {"--output", "files"});
  check_refused(merge, {folder.file("other"), file, "--output", folder.file("./file")}, {"--output", "files"});
  check_refused("train needle", {"--resume", file, "--output", file}, {"--output", "--resume"});
  check_refused("temperature", {"--resume", file, "--data", file}, {"--resume", "--data"});
  check_refused("train classification",
                {"--figure", "curves", "--weights", folder.file("w"), "--checkpoint", folder.file("w.output.npy")},
                {"--weights (w.output.npy)", "--checkpoint"});
  CHECK(content_of(file) == "old");
  CHECK(folder.names() == Names{"file"});
}

}  // namespace same_file_program_test
