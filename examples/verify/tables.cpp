#include "examples/verify/tables.hpp"

#include <algorithm>
#include <cmath>
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

/// Notes about what did not come out as the registry has it.
std::vector<std::string> surprises(const Ledger& ledger) {
  std::vector<std::string> notes = ledger.rejections();
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Decision& decision = ledger.decisions[i];
    if (decision.as_expected(ledger.claims[i])) continue;
    notes.push_back("Not as expected: " + ledger.claims[i].id + ": " + word_of(decision.outcome) + ", expected " +
                    word_of(ledger.claims[i].expected) + ": " + decision.reason + ".");
  }
  return notes;
}

/// Claims that no program tries, with the reason that the registry gives.
std::vector<std::string> not_tried(const Ledger& ledger) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Claim& claim = ledger.claims[i];
    if (!claim.reason.empty()) notes.push_back(claim.id + ", " + word_of(claim.expected) + ": " + claim.reason + ".");
  }
  return notes;
}

}  // namespace

std::string resolution_text(double resolution) {
  if (!std::isfinite(resolution)) return "";
  return short_text(100 * resolution, 2) + "%";
}

std::string resolution_text(const Decision& decision) {
  return decision.judged == 0 && decision.exact > 0 ? "rounding" : resolution_text(decision.resolution);
}

std::string rejected_controls_text(const Decision& decision) {
  return std::to_string(decision.controls_rejected) + " of " + std::to_string(decision.controls.size());
}

std::string evidence_text(const Decision& decision) {
  std::string text;
  const auto add = [&text](std::size_t number, const std::string& one, const std::string& many) {
    if (number > 0) text += (text.empty() ? "" : ", ") + std::to_string(number) + ' ' + (number == 1 ? one : many);
  };
  add(decision.judged, "row beside a simulation", "rows beside simulations");
  add(decision.exact, "equality of computed numbers", "equalities of computed numbers");
  add(decision.bounds, "bound of a computed number", "bounds of computed numbers");
  return text;
}

std::string family_text(const Ledger& ledger) {
  const std::size_t members = ledger.family.members, others = members - ledger.members_of_claims();
  if (members == 0) return "No row here is compared with a simulation.";
  std::string text = "The judged rows of the programs that ran, " + std::to_string(members) + " in all, are one family";
  if (others > 0) {
    text += "; " + std::to_string(others) + (others == 1 ? " of them is" : " of them are") +
            " in the same figures and no evidence of these claims";
  }
  return text +
         ". A right theory is rejected once in 100 such reports (Holm, |z| <= " + short_text(ledger.family.bound, 3) +
         " at the first step).";
}

Table claims_table(const Ledger& ledger) {
  const auto hidden = [](const char* name) { return Column{.name = name, .in_text = InText::hidden}; };
  Table table{.title = "The claims of the five papers",
              .columns = {{.name = "claim"},
                          hidden("paper"),
                          hidden("place"),
                          hidden("statement"),
                          hidden("found"),
                          {.name = "verdict"},
                          {.name = "to", .heading = "to"},
                          {.name = "worst_row", .heading = "worst row"},
                          hidden("resolution"),
                          hidden("worst_resolution"),
                          {.name = "rows"},
                          hidden("exact"),
                          hidden("bounds"),
                          {.name = "largest_z", .heading = "max |z|", .style = Style::two_decimals},
                          {.name = "controls", .heading = "controls"},
                          {.name = "reason", .in_text = InText::hidden},
                          hidden("headers"),
                          hidden("docs"),
                          hidden("simulator"),
                          hidden("commands")}};
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Claim& claim = ledger.claims[i];
    const Decision& decision = ledger.decisions[i];
    const bool ran = !decision.evidence.empty();
    table.add_row({claim.id,
                   arxiv_number(claim.paper),
                   claim.place,
                   claim.statement,
                   text(claim.found),
                   word_of(decision.outcome),
                   text(resolution_text(decision)),
                   text(resolution_text(decision.coarsest)),
                   finite(decision.resolution),
                   finite(decision.coarsest),
                   ran ? count(decision.rows()) : Cell(),
                   count(decision.exact),
                   count(decision.bounds),
                   decision.judged > 0 ? Cell(decision.largest_z) : Cell(),
                   ran ? Cell(rejected_controls_text(decision)) : Cell(),
                   text(decision.reason),
                   text(listed(claim.headers)),
                   text(claim.docs),
                   text(claim.simulator),
                   text(listed(claim.commands))});
  }
  table.notes.push_back(
      "refined: the claim holds in a regime; --page, --markdown and JSON say what holds in the place of refined and "
      "refuted claims. to: the least relative deviation common to all rows that the best of them would have shown in "
      "99 runs of 100; worst row: the same for the worst. controls: rows of wrong formulas that were rejected, of all "
      "such rows.");
  if (ledger.family.members > 0) table.notes.push_back(family_text(ledger));
  for (std::string& note : not_tried(ledger)) table.notes.push_back(std::move(note));
  for (std::string& note : surprises(ledger)) table.notes.push_back(std::move(note));
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
    const JudgedRow& judged = ledger.family.rows[i];
    std::vector<std::string> claims;
    for (std::size_t j = 0; j < ledger.claims.size(); ++j) {
      const Decision& decision = ledger.decisions[j];
      for (const auto* chosen : {&decision.evidence, &decision.paper_says, &decision.controls}) {
        if (std::find(chosen->begin(), chosen->end(), i) == chosen->end()) continue;
        claims.push_back(ledger.claims[j].id);
        break;
      }
    }
    const bool is_simulated = row.kind != RowKind::exact && row.unjudged.empty() && row.values > 0;
    const bool is_computed = row.is_computed();
    table.add_row({row.command, row.table, row.name, kind_text(row.kind), text(listed(claims)), finite(row.theory),
                   is_computed ? finite(row.simulation) : Cell(), text(row.relation),
                   is_computed ? Cell() : finite(row.simulation), is_computed ? Cell() : finite(row.standard_error),
                   row.tolerance, row.values, is_simulated ? Cell(judged.z) : Cell(),
                   is_simulated ? Cell(judged.p_value) : Cell(), is_simulated ? finite(judged.resolution) : Cell(),
                   std::string(judged.rejected ? "yes" : "no"), text(row.unjudged)});
  }
  return table;
}

Table runs_table(const Ledger& ledger) {
  Table table{.title = "The runs", .columns = {{"name"}, {"command"}, {.name = "seconds", .unit = "s"}, {"problem"}}};
  for (const Run& run : ledger.runs) table.add_row({run.command, run.line, run.seconds, text(run.problem)});
  return table;
}

Table list_table(const std::vector<Claim>& claims) {
  Table table{.title = "The claims of the ledger",
              .columns = {{"claim"},
                          {"paper"},
                          {"place"},
                          {.name = "statement", .in_text = InText::hidden},
                          {.name = "formula", .in_text = InText::hidden},
                          {.name = "headers", .in_text = InText::hidden},
                          {"expected"}}};
  for (const Claim& claim : claims) {
    std::string headers = claim.simulator;
    for (const std::string& header : claim.headers) headers += (headers.empty() ? "" : " ") + header;
    table.add_row({claim.id, word_of(claim.paper), claim.place, claim.statement, text(claim.equation), text(headers),
                   word_of(claim.expected)});
  }
  table.notes = {
      "expected: in this edition. A claim that needs minutes of training is untested in the quick one; --edition "
      "full --list has its verdict."};
  return table;
}

Verdict verdict_of(const Ledger& ledger) {
  Verdict verdict{.agrees = true};
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Decision& decision = ledger.decisions[i];
    if (decision.as_expected(ledger.claims[i])) continue;
    if (decision.outcome != Outcome::untested) verdict.agrees = false;
    if (decision.outcome == Outcome::untested && verdict.agrees == true) verdict.agrees = std::nullopt;
  }
  if (!ledger.rejections().empty()) verdict.agrees = false;
  const bool nothing_tried =
      std::none_of(ledger.claims.begin(), ledger.claims.end(), [](const Claim& claim) { return claim.reason.empty(); });
  if (nothing_tried) verdict.agrees = std::nullopt;
  verdict.details = nlohmann::ordered_json{{"family", ledger.family.members}, {"bound", ledger.family.bound}};
  std::string counts;
  for (const Outcome outcome : all_outcomes) {
    counts += (counts.empty() ? "" : ", ") + std::to_string(ledger.count(outcome)) + ' ' + word_of(outcome);
    verdict.details[word_of(outcome)] = ledger.count(outcome);
  }
  const std::string state = verdict.agrees == true    ? "Agreement"
                            : verdict.agrees == false ? "DISAGREEMENT"
                                                      : "Incomplete";
  const std::size_t claims = ledger.claims.size();
  const std::string noun = claims == 1 ? " claim: " : " claims: ";
  verdict.text =
      (nothing_tried ? "Incomplete: nothing was tried; " : state + ": ") + std::to_string(claims) + noun + counts + ".";
  return verdict;
}

}  // namespace incontext::examples::verify
