#include "examples/verify/edition.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <utility>

namespace incontext::examples::verify {

namespace {

/// A folder for the children's reports, removed with this object.
class WorkFolder {
 public:
  WorkFolder() {
    const char* set = std::getenv("TMPDIR");
    const std::string folder = set != nullptr && *set != '\0' ? set : "/tmp";
    std::string name = folder + "/incontext-verify-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) {
      throw_input_error("TMPDIR", std::string("no folder can be made there: ") + std::strerror(errno), folder,
                        "a folder that can be written to");
    }
    path_ = name;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(std::size_t index, const std::string& end) const {
    return (path_ / (std::to_string(index) + end)).string();
  }

 private:
  std::filesystem::path path_;
};

std::string content_or_nothing(const std::string& file) {
  return std::filesystem::exists(file) ? read_whole_file(file) : std::string();
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

/// A program without draws takes no seed.
bool draws(const std::string& program) { return program != "incontext-scores" && program != "incontext-evaluate"; }

Run run_of(const std::string& name, const std::vector<std::string>& words, const Finished& finished,
           const std::string& report, const std::string& errors) {
  Run run{.command = name, .line = joined(words), .seconds = finished.seconds};
  run.report = content_or_nothing(report);
  if (run.report.empty()) run.report = content_or_nothing(report + ".partial");
  if (!run.report.empty()) return run;
  run.problem = !finished.problem.empty() ? finished.problem : one_line(content_or_nothing(errors));
  if (finished.exit_code < 0 && run.problem.empty()) run.problem = "not reached: the run was stopped early";
  if (run.problem.empty()) run.problem = words.front() + " ended with " + std::to_string(finished.exit_code);
  return run;
}

}  // namespace

std::vector<std::string> words_of(const Command& command, Edition edition, std::uint64_t seed) {
  std::istringstream line(line_of(command, edition));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  if (words.empty()) throw std::logic_error("the edition has no command line of " + command.name);
  if (draws(words.front())) words.insert(words.end(), {"--seed", std::to_string(seed)});
  return words;
}

std::vector<std::string> needed_commands(const std::vector<Claim>& claims) {
  std::vector<std::string> names;
  for (const Command& command : all_commands()) {
    const bool needed = std::any_of(claims.begin(), claims.end(), [&command](const Claim& claim) {
      return std::find(claim.commands.begin(), claim.commands.end(), command.name) != claim.commands.end();
    });
    if (needed) names.push_back(command.name);
  }
  std::stable_partition(names.begin(), names.end(), [](const std::string& name) {
    return line_of(command_named(name), Edition::full).starts_with("incontext-train");
  });
  return names;
}

std::vector<Draw> with_seed(const std::vector<std::string>& commands, std::uint64_t seed) {
  std::vector<Draw> draws;
  for (const std::string& command : commands) draws.push_back({command, seed});
  return draws;
}

std::vector<Run> run_commands(const std::vector<Draw>& draws, const VerifyOptions& o, const Interrupts& interrupts) {
  const WorkFolder folder;
  std::vector<Child> children;
  std::vector<std::vector<std::string>> lines;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    lines.push_back(words_of(command_named(draws[i].command), o.edition, draws[i].seed));
    Child child{.program = own_folder() + '/' + lines[i].front(),
                .arguments = {lines[i].begin() + 1, lines[i].end()},
                .errors = folder.file(i, ".err")};
    child.arguments.insert(child.arguments.end(), {"--format", "json", "--output", folder.file(i, ".json"), "--quiet"});
    children.push_back(std::move(child));
  }
  const auto jobs = static_cast<std::size_t>(o.jobs);
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  const bool tells = !o.output.quiet && ::isatty(STDERR_FILENO) != 0;
  std::size_t done = 0;
  const auto told = [&](std::size_t, const Finished&) {
    if (tells) std::fprintf(stderr, "\r\033[K%zu of %zu programs (Ctrl-C: stop)", ++done, children.size());
  };
  const std::vector<Finished> finished =
      run_children(children, jobs, std::max<std::size_t>(cores / jobs, 1), interrupts, told);
  if (tells) std::fputs("\r\033[K", stderr);
  std::vector<Run> runs;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    runs.push_back(run_of(draws[i].command, lines[i], finished[i], folder.file(i, ".json"), folder.file(i, ".err")));
  }
  return runs;
}

Ledger ledger_of(std::vector<Claim> claims, std::vector<Run> runs) {
  Ledger ledger{.claims = std::move(claims), .runs = std::move(runs)};
  for (const Run& run : ledger.runs) {
    if (!run.problem.empty()) continue;
    for (Row& row : rows_of(nlohmann::json::parse(run.report), run.command)) ledger.rows.push_back(std::move(row));
  }
  ledger.family = judge(ledger.rows);
  for (const Claim& claim : ledger.claims) {
    ledger.decisions.push_back(decide(claim, ledger.rows, ledger.family));
    Decision& decision = ledger.decisions.back();
    if (decision.outcome != Outcome::untested || claim.expected == Outcome::untested) continue;
    for (const Run& run : ledger.runs) {
      const bool is_its = std::find(claim.commands.begin(), claim.commands.end(), run.command) != claim.commands.end();
      if (is_its && !run.problem.empty()) decision.reason = run.problem;
    }
  }
  return ledger;
}

std::size_t Ledger::count(Outcome outcome) const {
  return static_cast<std::size_t>(std::count_if(
      decisions.begin(), decisions.end(), [outcome](const Decision& decision) { return decision.outcome == outcome; }));
}

std::size_t Ledger::members_of_claims() const {
  std::set<std::size_t> members;
  for (const Decision& decision : decisions) {
    for (const std::size_t i : decision.evidence) {
      if (rows[i].kind == RowKind::judged && rows[i].unjudged.empty()) members.insert(i);
    }
  }
  return members.size();
}

std::vector<std::string> Ledger::rejections() const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind == RowKind::control || !family.rows[i].rejected) continue;
    const Row& row = rows[i];
    const std::string why = row.relation.empty() ? ", z = " + short_text(family.rows[i].z, 4)
                                                 : ": " + short_text(row.simulation, 6) + " is not " + row.relation +
                                                       ' ' + short_text(row.theory, 6);
    lines.push_back("Rejected: " + row.command + ": " + row.name + why + ".");
  }
  return lines;
}

}  // namespace incontext::examples::verify
