#include "examples/verify/tables.hpp"

#include <algorithm>
#include <cmath>
#include <incontext/statistics/effect.hpp>
#include <utility>

#include "examples/support/render.hpp"

namespace incontext::examples::verify {

namespace {

Cell finite(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

Cell count(std::size_t number) { return static_cast<std::int64_t>(number); }

Cell text(const std::string& words) { return words.empty() ? Cell() : Cell(words); }

std::string listed(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

std::string kind_text(RowKind kind) {
  return kind == RowKind::judged    ? "judged"
         : kind == RowKind::control ? "control"
         : kind == RowKind::shown   ? "shown"
                                    : "exact";
}

/// Why claims have a verdict that needs a reason; claims with one reason share a note. Where a line per row says what
/// the regimes are, the note of a regime is left out.
std::vector<std::string> reasons(const Ledger& ledger, bool has_lines_of_rows) {
  std::vector<std::string> notes;
  for (const Outcome outcome : {Outcome::contradicted, Outcome::contradicted_in_ours, Outcome::in_a_regime,
                                Outcome::not_reproduced, Outcome::undecided_by_print, Outcome::differs_in_print,
                                Outcome::undecided, Outcome::not_tried, Outcome::out_of_reach}) {
    if (has_lines_of_rows && outcome == Outcome::in_a_regime) continue;
    std::vector<std::pair<std::string, std::string>> claims_of_reasons;
    for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
      const Decision& decision = ledger.decisions[i];
      if (decision.outcome != outcome) continue;
      const auto same = std::find_if(claims_of_reasons.begin(), claims_of_reasons.end(),
                                     [&](const auto& one) { return one.first == decision.reason; });
      if (same == claims_of_reasons.end()) {
        claims_of_reasons.emplace_back(decision.reason, ledger.claims[i].id);
      } else {
        same->second += ", " + ledger.claims[i].id;
      }
    }
    for (const auto& [reason, claims] : claims_of_reasons) {
      notes.push_back(claims + ", " + word_of(outcome) + ": " + reason + ".");
    }
  }
  return notes;
}

/// The papers and the verdicts that occur.
std::vector<std::string> legend(const Ledger& ledger, const Registry& registry) {
  std::vector<std::string> notes;
  for (std::size_t p = 0; p < registry.papers.size(); ++p) {
    const bool occurs =
        std::any_of(ledger.claims.begin(), ledger.claims.end(), [p](const Claim& claim) { return claim.paper == p; });
    const Paper& paper = registry.papers[p];
    if (occurs) {
      notes.push_back(paper.word + "/...: arXiv " + paper.arxiv + ", " + paper.authors + ", \"" + paper.title + "\".");
    }
  }
  for (const auto& [outcome, word] : outcome_words) {
    if (ledger.count(outcome) > 0) notes.push_back(word + (": " + meaning_of(outcome)));
  }
  return notes;
}

/// How many claims have each verdict that occurs.
std::string counts_text(const Ledger& ledger) {
  std::string counts;
  for (const auto& [outcome, word] : outcome_words) {
    if (ledger.count(outcome) == 0) continue;
    counts += (counts.empty() ? "" : ", ") + std::to_string(ledger.count(outcome)) + ' ' + word;
  }
  return counts;
}

/// How many groups of rows hold, of all of a role: "2 of 3".
std::string holding(const Claim& claim, const Decision& decision, Role role, State wanted) {
  std::size_t all = 0, hold = 0;
  for (std::size_t i = 0; i < decision.findings.size(); ++i) {
    if (claim.groups[i].role != role) continue;
    ++all;
    hold += decision.findings[i].state == wanted ? 1 : 0;
  }
  return all == 0 ? "" : std::to_string(hold) + " of " + std::to_string(all);
}

std::string replies_text(const Claim& claim) {
  std::string all;
  for (const Reply& reply : claim.replies) {
    all += (all.empty() ? "" : " ") + reply.author + " (" + reply.date + "): " + reply.text;
  }
  return all;
}

/// A line per group of rows, with the threshold or the numbers that decide it.
std::vector<std::string> what_rows_say(const Ledger& ledger) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    for (std::size_t j = 0; j < ledger.decisions[i].findings.size(); ++j) {
      const RowGroup& group = ledger.claims[i].groups[j];
      const Finding& finding = ledger.decisions[i].findings[j];
      const std::string& numbers = finding.missing.empty() ? finding.text : finding.missing;
      const std::string claim = ledger.claims.size() > 1 ? ledger.claims[i].id + ", " : "";
      lines.push_back(claim + word_of(group.role) + (group.regime.empty() ? "" : " (" + group.regime + ")") + ": \"" +
                      group.says + "\" " + state_text(group.role, finding.state) +
                      (numbers.empty() ? "." : "; " + numbers));
    }
  }
  return lines;
}

double best_resolution(const Claim& claim, const Decision& decision) {
  double best = std::nan("");
  for (std::size_t i = 0; i < decision.findings.size(); ++i) {
    if (claim.groups[i].role == Role::paper || claim.groups[i].role == Role::exact) {
      best = std::fmin(best, decision.findings[i].resolution);
    }
  }
  return best;
}

}  // namespace

std::string state_text(Role role, State state) {
  const bool is_control = role == Role::control;
  switch (state) {
    case State::holds:
      return is_control ? "not rejected" : "holds";
    case State::rejected:
      return is_control ? "rejected, as it should be" : "does not hold";
    case State::undecided:
      break;
  }
  return "undecided";
}

std::string resolution_text(double resolution) {
  if (!std::isfinite(resolution)) return "";
  return statistics::percent_text(resolution);
}

std::string family_text(const Ledger& ledger) {
  std::size_t members = 0, comparisons = 0;
  for (const Decision& decision : ledger.decisions) {
    members += decision.family.members;
    comparisons += decision.family.comparisons;
  }
  if (members + comparisons == 0) return "No row here is compared with a simulation.";
  return "The rows of a claim that are compared with a simulation, and its comparisons for orders and trends, are one "
         "family: where all of them are right, one is rejected once in " +
         short_text(1 / claim_error, 6) + " runs (Holm). Here these are " + std::to_string(members) + " rows and " +
         std::to_string(comparisons) + " comparisons. The same figures have " +
         std::to_string(ledger.of_no_claim.members) + " rows that no claim names, which are a family of their own.";
}

std::string mutants_text(const std::vector<Mutant>& mutants) {
  const auto changed = std::count_if(mutants.begin(), mutants.end(), [](const Mutant& one) { return one.changed; });
  return "Of " + std::to_string(mutants.size()) + " groups of rows, " + std::to_string(changed) +
         " change the verdict of their claim when they are reversed (docs/claims.md#whether-verdicts-can-die).";
}

Table claims_table(const Ledger& ledger, const Registry& registry, const std::vector<Mutant>& mutants) {
  const auto hidden = [](const char* name) { return Column{.name = name, .in_text = InText::hidden}; };
  Table table{.name = "the_claims_of_the_papers",
              .title = "The claims of the papers: " + counts_text(ledger),
              .columns = {{.name = "claim"},
                          hidden("paper"),
                          hidden("place"),
                          hidden("quote"),
                          hidden("setting"),
                          hidden("ours"),
                          {.name = "verdict"},
                          {.name = "paper_holds", .heading = "paper's rows"},
                          {.name = "controls", .heading = "near misses"},
                          {.name = "resolution", .heading = "seen"},
                          hidden("family"),
                          hidden("bound"),
                          {.name = "reason", .in_text = InText::hidden},
                          hidden("comment"),
                          hidden("replies"),
                          hidden("headers"),
                          hidden("docs"),
                          hidden("simulator"),
                          hidden("runs")}};
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Claim& claim = ledger.claims[i];
    const Decision& decision = ledger.decisions[i];
    table.add_row({claim.id, registry.papers[claim.paper].arxiv, claim.place, claim.quote, claim.setting,
                   text(claim.ours), word_of(decision.outcome),
                   text(holding(claim, decision, Role::paper, State::holds)),
                   text(holding(claim, decision, Role::control, State::rejected)),
                   text(resolution_text(best_resolution(claim, decision))), count(decision.family.size()),
                   decision.family.size() > 0 ? Cell(decision.family.bound) : Cell(), text(decision.reason),
                   text(claim.comment), text(replies_text(claim)), text(listed(claim.headers)), text(claim.docs),
                   text(claim.simulator), text(listed(claim.runs()))});
  }
  table.notes.push_back(
      "paper's rows: how many groups of rows hold as the paper says. near misses: how many groups of wrong formulas "
      "are rejected. seen: the smallest relative deviation that the most accurate row would have shown in 99 of 100 "
      "runs. "
      "--page and JSON quote the claims and have every row; docs/claims.md has the rules.");
  const bool has_lines_of_rows = ledger.claims.size() <= 3;
  if (has_lines_of_rows) {
    for (std::string& note : what_rows_say(ledger)) table.notes.push_back(std::move(note));
  }
  for (std::string& note : legend(ledger, registry)) table.notes.push_back(std::move(note));
  table.notes.push_back(family_text(ledger));
  if (!mutants.empty()) table.notes.push_back(mutants_text(mutants));
  for (std::string& note : reasons(ledger, has_lines_of_rows)) table.notes.push_back(std::move(note));
  for (std::string& note : ledger.rejections()) table.notes.push_back(std::move(note));
  return table;
}

Table groups_table(const Ledger& ledger) {
  Table table{.title = "What the rows say",
              .columns = {{"claim"},
                          {"role"},
                          {"regime"},
                          {"says"},
                          {"question"},
                          {"state"},
                          {"again"},
                          {"numbers"},
                          {"judged"},
                          {"computed"},
                          {"rejected"},
                          {"largest_z"},
                          {"resolution"},
                          {"worst_resolution"}}};
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Claim& claim = ledger.claims[i];
    for (std::size_t j = 0; j < ledger.decisions[i].findings.size(); ++j) {
      const RowGroup& group = claim.groups[j];
      const Finding& finding = ledger.decisions[i].findings[j];
      table.add_row(
          {claim.id, word_of(group.role), text(group.regime), group.says, word_of(group.question),
           state_text(group.role, finding.state), finding.again ? Cell(state_text(group.role, *finding.again)) : Cell(),
           text(finding.missing.empty() ? finding.text : finding.missing), count(finding.judged),
           count(finding.computed), count(finding.rejected), finding.judged > 0 ? Cell(finding.largest_z) : Cell(),
           finite(finding.resolution), finite(finding.coarsest)});
    }
  }
  return table;
}

Table rows_table(const Ledger& ledger) {
  Table table{.title = "The rows",
              .columns = {{"command"},
                          {"table"},
                          {"row"},
                          {"kind"},
                          {"claims"},
                          {.name = "theory", .decimals_as = 1},
                          {.name = "computed", .decimals_as = 1},
                          {"relation"},
                          {.name = "simulation", .decimals_as = 1},
                          {.name = "standard_error", .decimals_as = 1},
                          {"tolerance"},
                          {"values"},
                          {"z"},
                          {"p_value"},
                          {"resolution"},
                          {"rejected"},
                          {"reason"}}};
  for (std::size_t i = 0; i < ledger.rows.size(); ++i) {
    const Row& row = ledger.rows[i];
    const std::vector<const Family*> families = ledger.families_of(i);
    const JudgedRow judged = families.empty() ? JudgedRow{} : families.front()->rows.at(i);
    const bool rejected = std::any_of(families.begin(), families.end(),
                                      [i](const Family* family) { return family->rows.at(i).rejected; });
    std::vector<std::string> claims;
    for (std::size_t j = 0; j < ledger.claims.size(); ++j) {
      const Decision& decision = ledger.decisions[j];
      const bool is_of_it = std::any_of(decision.findings.begin(), decision.findings.end(), [i](const Finding& one) {
        return std::find(one.rows.begin(), one.rows.end(), i) != one.rows.end();
      });
      if (is_of_it) claims.push_back(ledger.claims[j].id);
    }
    const bool is_simulated = row.kind != RowKind::exact && row.unjudged.empty() && row.values > 0 && !families.empty();
    const bool is_computed = row.is_computed();
    table.add_row({row.command, row.table, row.name, kind_text(row.kind), text(listed(claims)), finite(row.theory),
                   is_computed ? finite(row.simulation) : Cell(), text(row.relation),
                   is_computed ? Cell() : finite(row.simulation), is_computed ? Cell() : finite(row.standard_error),
                   row.tolerance, row.values, is_simulated ? Cell(judged.z) : Cell(),
                   is_simulated ? Cell(judged.p_value) : Cell(), is_simulated ? finite(judged.resolution) : Cell(),
                   std::string(rejected ? "yes" : "no"), text(row.unjudged)});
  }
  return table;
}

Table mutants_table(const Ledger& ledger, const std::vector<Mutant>& mutants) {
  Table table{.title = "Rows reversed",
              .columns = {{"claim"}, {"role"}, {"says"}, {"reversal"}, {"before"}, {"after"}, {"changed"}}};
  for (const Mutant& one : mutants) {
    const Claim& claim = ledger.claims[one.claim];
    const RowGroup& group = claim.groups[one.group];
    table.add_row({claim.id, word_of(group.role), group.says, one.reversal,
                   word_of(ledger.decisions[one.claim].outcome), word_of(one.outcome),
                   std::string(one.changed ? "yes" : "no")});
  }
  return table;
}

Table runs_table(const Ledger& ledger) {
  Table table{.title = "The runs",
              .columns = {{"name"}, {"command"}, {.name = "seconds", .unit = "s"}, {"recorded"}, {"problem"}}};
  for (const Run& run : ledger.runs) {
    table.add_row({run.command, run.line, run.recorded.empty() ? Cell(run.seconds) : Cell(), text(run.recorded),
                   text(run.problem)});
  }
  return table;
}

Table list_table(const std::vector<Claim>& claims, const Registry& registry) {
  Table table{.title = "The claims of the ledger",
              .columns = {{"claim"},
                          {"paper"},
                          {"place"},
                          {.name = "quote", .in_text = InText::hidden},
                          {.name = "formula", .in_text = InText::hidden},
                          {.name = "headers", .in_text = InText::hidden},
                          {"rows"},
                          {.name = "reason", .in_text = InText::hidden}}};
  for (const Claim& claim : claims) {
    std::string headers = claim.simulator;
    for (const std::string& header : claim.headers) headers += (headers.empty() ? "" : " ") + header;
    const std::string why = !claim.out_of_reach.empty() ? claim.out_of_reach : claim.not_tried;
    table.add_row({claim.id, registry.papers[claim.paper].word, claim.place, claim.quote, text(claim.formula),
                   text(headers), why.empty() ? count(claim.groups.size()) : Cell(), text(why)});
  }
  table.notes = {"rows: how many groups of rows try the claim; none where nothing does. JSON has the quotations."};
  return table;
}

Verdict verdict_of(const Ledger& ledger) {
  Verdict verdict{.agrees = true};
  const bool something_tried = std::any_of(ledger.decisions.begin(), ledger.decisions.end(),
                                           [](const Decision& decision) { return !decision.findings.empty(); });
  const bool incomplete = std::any_of(ledger.decisions.begin(), ledger.decisions.end(),
                                      [](const Decision& decision) { return decision.is_incomplete; });
  if (incomplete || !something_tried) verdict.agrees = std::nullopt;
  if (!ledger.rejections().empty()) verdict.agrees = false;
  verdict.details = nlohmann::ordered_json{{"ledger", ledger_number}, {"claim_error", claim_error}};
  for (const auto& [outcome, word] : outcome_words) verdict.details[word] = ledger.count(outcome);
  const std::string state = verdict.agrees == true    ? "Our own results hold"
                            : verdict.agrees == false ? "A RESULT OF OURS IS REJECTED"
                            : something_tried         ? "Incomplete"
                                                      : "Incomplete: nothing was tried";
  const std::size_t claims = ledger.claims.size();
  verdict.text =
      state + "; of " + std::to_string(claims) + (claims == 1 ? " claim: " : " claims: ") + counts_text(ledger) + ".";
  return verdict;
}

}  // namespace incontext::examples::verify
