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

#include "examples/verify/claims_file.hpp"

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

/// A subcommand without draws takes no seed, nor do tables of printed numbers.
bool draws(const std::vector<std::string>& words) {
  return words[1] != "scores" && std::find(words.begin(), words.end(), "printed") == words.end();
}

Run run_of(const std::string& name, const std::vector<std::string>& words, const Finished& finished,
           const std::string& report, const std::string& errors) {
  Run run{.command = name, .line = joined(words), .seconds = finished.seconds};
  run.report = content_or_nothing(report);
  if (run.report.empty()) run.report = content_or_nothing(report + ".partial");
  if (!run.report.empty()) return run;
  run.problem = !finished.problem.empty() ? finished.problem : one_line(content_or_nothing(errors));
  if (finished.exit_code < 0 && run.problem.empty()) run.problem = "not reached: the run was stopped early";
  if (run.problem.empty()) {
    run.problem = words[0] + ' ' + words[1] + " ended with " + std::to_string(finished.exit_code);
  }
  return run;
}

/// A report of an earlier run.
Run recorded_run(const std::string& name, const std::string& file) {
  Run run{.command = name};
  run.report = recorded_report(file);
  const auto report = nlohmann::json::parse(run.report);
  run.line = report.at("command").get<std::string>();
  run.recorded = file + ", commit " + report.value("commit", std::string("unknown"));
  return run;
}

}  // namespace

std::vector<std::string> words_of(const Command& command, Edition edition, std::uint64_t seed) {
  std::istringstream line(line_of(command, edition));
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  if (words.empty()) throw std::logic_error("the edition has no command line of " + command.name);
  if (words.size() < 2 || words.front() != "incontext") {
    throw_input_error("[runs]", "is no command line of this program", line_of(command, edition),
                      "incontext SUBCOMMAND and its options");
  }
  if (draws(words)) words.insert(words.end(), {"--seed", std::to_string(seed)});
  return words;
}

std::vector<std::string> needed_runs(const Registry& registry, const std::vector<Claim>& claims, Edition edition) {
  std::vector<std::string> names;
  for (const Command& command : registry.commands) {
    const bool needed = std::any_of(claims.begin(), claims.end(), [&command](const Claim& claim) {
      const std::vector<std::string> runs = claim.runs();
      return std::find(runs.begin(), runs.end(), command.name) != runs.end();
    });
    if (needed && (!line_of(command, edition).empty() || !command.recorded.empty())) names.push_back(command.name);
  }
  std::stable_partition(names.begin(), names.end(), [&](const std::string& name) {
    return line_of(registry.command(name), edition).starts_with("incontext train ");
  });
  return names;
}

std::vector<Draw> with_seed(const std::vector<std::string>& runs, std::uint64_t seed) {
  std::vector<Draw> draws;
  for (const std::string& run : runs) draws.push_back({run, seed});
  return draws;
}

std::vector<Draw> repeated(const std::vector<std::string>& runs, const VerifyOptions& o) {
  std::vector<Draw> draws;
  for (const std::string& run : runs) {
    const Command& command = o.registry.command(run);
    const bool is_run = !line_of(command, o.edition).empty();
    if (is_run || !command.recorded_again.empty()) draws.push_back({run, o.seed + another_seed, true});
  }
  return draws;
}

std::vector<Run> do_runs(const std::vector<Draw>& draws, const VerifyOptions& o, const Interrupts& interrupts) {
  const WorkFolder folder;
  std::vector<Run> runs;
  std::vector<Child> children;
  std::vector<std::pair<std::string, std::vector<std::string>>> started;
  for (const Draw& draw : draws) {
    const Command& command = o.registry.command(draw.run);
    if (line_of(command, o.edition).empty()) {
      runs.push_back(recorded_run(command.name, draw.is_repeat ? command.recorded_again : command.recorded));
      continue;
    }
    const std::vector<std::string> words = words_of(command, o.edition, draw.seed);
    const std::size_t i = children.size();
    Child child{
        .program = own_program(), .arguments = {words.begin() + 1, words.end()}, .errors = folder.file(i, ".err")};
    child.arguments.insert(child.arguments.end(), {"--format", "json", "--output", folder.file(i, ".json"), "--quiet"});
    children.push_back(std::move(child));
    started.emplace_back(draw.run, words);
  }
  const auto jobs = static_cast<std::size_t>(o.jobs);
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  const bool tells = !o.output.quiet && ::isatty(STDERR_FILENO) != 0;
  std::size_t done = 0;
  const auto on_end = [&](std::size_t, const Finished&) {
    if (tells) std::fprintf(stderr, "\r\033[K%zu of %zu runs (Ctrl-C: stop)", ++done, children.size());
  };
  const std::vector<Finished> finished =
      run_children(children, jobs, std::max<std::size_t>(cores / jobs, 1), interrupts, on_end);
  if (tells) std::fputs("\r\033[K", stderr);
  for (std::size_t i = 0; i < children.size(); ++i) {
    runs.push_back(
        run_of(started[i].first, started[i].second, finished[i], folder.file(i, ".json"), folder.file(i, ".err")));
  }
  return runs;
}

namespace {

/// Whether a row is asked about by groups of the papers and near misses, and by none of ours.
bool of_papers_alone(const Ledger& ledger, std::size_t row) {
  bool is_named = false;
  for (std::size_t c = 0; c < ledger.claims.size(); ++c) {
    const std::vector<Finding>& findings = ledger.decisions[c].findings;
    for (std::size_t g = 0; g < findings.size(); ++g) {
      if (std::find(findings[g].rows.begin(), findings[g].rows.end(), row) == findings[g].rows.end()) continue;
      const Role role = ledger.claims[c].groups[g].role;
      if (is_ours(role)) return false;
      is_named = true;
    }
  }
  return is_named;
}

}  // namespace

Ledger ledger_of(std::vector<Claim> claims, std::vector<Run> runs) {
  Ledger ledger{.claims = std::move(claims), .runs = std::move(runs)};
  for (const Run& run : ledger.runs) {
    if (!run.problem.empty()) continue;
    for (Row& row : rows_of(nlohmann::json::parse(run.report), run.command)) ledger.rows.push_back(std::move(row));
  }
  for (const Claim& claim : ledger.claims) {
    ledger.decisions.push_back(decide(claim, ledger.rows));
    Decision& decision = ledger.decisions.back();
    if (!decision.is_incomplete) continue;
    const std::vector<std::string> its = claim.runs();
    for (const Run& run : ledger.runs) {
      const bool is_its = std::find(its.begin(), its.end(), run.command) != its.end();
      if (is_its && !run.problem.empty()) decision.reason = run.problem;
    }
  }
  std::set<std::size_t> of_no_claim;
  for (std::size_t i = 0; i < ledger.rows.size(); ++i) {
    const RowKind kind = ledger.rows[i].kind;
    const bool has_theory = kind == RowKind::judged || kind == RowKind::exact;
    if (has_theory && ledger.families_of(i).empty() && !of_papers_alone(ledger, i)) of_no_claim.insert(i);
  }
  ledger.of_no_claim = judge(ledger.rows, of_no_claim);
  return ledger;
}

Ledger with_another_seed(Ledger ledger, const std::vector<Run>& runs) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    if (ledger.decisions[i].needs_another_seed(ledger.claims[i])) claims.push_back(ledger.claims[i]);
  }
  const Ledger another = ledger_of(claims, runs);
  for (std::size_t i = 0, j = 0; i < ledger.claims.size() && j < claims.size(); ++i) {
    if (ledger.claims[i].id != claims[j].id) continue;
    ledger.decisions[i] = decide_again(ledger.claims[i], std::move(ledger.decisions[i]), another.decisions[j++]);
    const std::vector<std::string> its = ledger.claims[i].runs();
    for (const Run& run : runs) {
      if (run.problem.empty() || std::find(its.begin(), its.end(), run.command) == its.end()) continue;
      ledger.decisions[i].outcome = Outcome::not_tried;
      ledger.decisions[i].reason = "the second seed that the rules ask for is missing: " + run.problem;
      ledger.decisions[i].is_incomplete = true;
    }
  }
  return ledger;
}

std::size_t Ledger::count(Outcome outcome) const {
  return static_cast<std::size_t>(std::count_if(
      decisions.begin(), decisions.end(), [outcome](const Decision& decision) { return decision.outcome == outcome; }));
}

std::vector<const Family*> Ledger::families_of(std::size_t row) const {
  std::vector<const Family*> families;
  for (const Decision& decision : decisions) {
    if (decision.family.rows.count(row) > 0) families.push_back(&decision.family);
  }
  if (families.empty() && of_no_claim.rows.count(row) > 0) families.push_back(&of_no_claim);
  return families;
}

std::vector<std::string> Ledger::rejections() const {
  std::set<std::string> lines;  // a row of two claims once
  const auto add_row = [&](std::size_t i, const JudgedRow& judged) {
    const Row& row = rows[i];
    if (row.kind == RowKind::control || row.kind == RowKind::shown || !judged.rejected) return;
    const std::string why = row.relation.empty() ? ", z = " + short_text(judged.z, 4)
                                                 : ": " + short_text(row.simulation, 6) + " is not " + row.relation +
                                                       ' ' + short_text(row.theory, 6);
    lines.insert("Rejected: " + row.command + ": " + row.name + why + ".");
  };
  for (const auto& [i, judged] : of_no_claim.rows) add_row(i, judged);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    for (std::size_t j = 0; j < decisions[i].findings.size(); ++j) {
      const RowGroup& group = claims[i].groups[j];
      if (!is_ours(group.role)) continue;
      const Finding& finding = decisions[i].findings[j];
      if (group.question == Question::agrees) {
        for (const std::size_t row : finding.rows) add_row(row, decisions[i].family.rows.at(row));
      } else if (finding.state == State::rejected) {
        lines.insert("Rejected: " + claims[i].id + ": " + group.says + ": " + finding.text + ".");
      }
    }
  }
  return {lines.begin(), lines.end()};
}

std::vector<std::string> Ledger::runs_to_repeat() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < claims.size(); ++i) {
    for (std::size_t j = 0; j < decisions[i].findings.size(); ++j) {
      if (!decisions[i].needs_another_seed(claims[i], j)) continue;
      for (const std::string& name : claims[i].groups[j].rows.runs) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace incontext::examples::verify
