#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "examples/support/version.hpp"
#include "examples/verify/pages.hpp"
#include "examples/verify/tables.hpp"

namespace incontext::examples::verify {

namespace {

/// A cell of a table: a bar would end it.
std::string cell(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

/// Text in a code span: it is fenced by more back quotes than any run of them in it has, so that nothing in it is Markdown
/// or HTML.
std::string code(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const std::string space = text.empty() || text.front() == '`' || text.back() == '`' ? " " : "";
  return fence + space + text + space + fence;
}

std::string line_of(const Claim& claim, const Decision& decision) {
  const std::string controls = decision.controls.empty() ? "" : rejected_controls_text(decision);
  const std::string found = claim.found.empty() ? decision.reason : claim.found;
  std::string line = "|";
  for (const std::string& text : {code(claim.id), claim.place, claim.statement, word_of(decision.outcome), found,
                                  resolution_text(decision), evidence_text(decision), controls}) {
    line += " " + cell(text) + " |";
  }
  return line + "\n";
}

}  // namespace

std::string markdown_of(const Ledger& ledger, const RunNotes& notes) {
  std::string text = "# The claims of five papers on attention, on trial\n\n" + verdict_of(ledger).text + "\n\n" +
                     code(notes.command) + ", seed " + std::to_string(notes.seed) + ", version " + version() +
                     ", commit " + commit() + ", " + machine() + ". " + family_text(ledger) +
                     " \"to\": the least relative "
                     "deviation common to all rows that would have been seen in 99 runs of 100.\n";
  const Claim* previous = nullptr;
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Claim& claim = ledger.claims[i];
    if (previous == nullptr || previous->paper != claim.paper) {
      text +=
          "\n## " + title_of(claim.paper) + ", arXiv " + arxiv_number(claim.paper) +
          "\n\n| claim | place | what it says | verdict | found | to | evidence | rows of wrong formulas rejected |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    }
    text += line_of(claim, ledger.decisions[i]);
    previous = &claim;
  }
  return text;
}

}  // namespace incontext::examples::verify
