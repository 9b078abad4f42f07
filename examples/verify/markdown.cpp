#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "examples/support/version.hpp"
#include "examples/verify/pages.hpp"
#include "examples/verify/tables.hpp"

namespace incontext::examples::verify {

namespace {

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

/// What each group of rows says, and what became of it.
std::string groups_of(const Claim& claim, const Decision& decision) {
  std::string text;
  for (std::size_t i = 0; i < decision.findings.size(); ++i) {
    const RowGroup& group = claim.groups[i];
    const Finding& finding = decision.findings[i];
    text += "* " + word_of(group.role) + (group.regime.empty() ? "" : ", " + group.regime) + ": " + group.says + " **" +
            state_text(group.role, finding.state) +
            "**: " + (finding.missing.empty() ? finding.text : finding.missing) + "\n";
  }
  return text;
}

std::string entry_of(const Claim& claim, const Decision& decision) {
  std::string text = "\n### " + code(claim.id) + ": " + word_of(decision.outcome) + "\n\n> " + claim.quote + "\n\n" +
                     claim.place + ". The paper's setting: " + claim.setting + ".";
  if (!claim.ours.empty()) text += " Ours: " + claim.ours + ".";
  text += "\n\n";
  if (!claim.comment.empty()) text += claim.comment + "\n\n";
  if (!decision.reason.empty()) text += word_of(decision.outcome) + ": " + decision.reason + ".\n\n";
  return text + groups_of(claim, decision);
}

}  // namespace

std::string markdown_of(const Ledger& ledger, const Registry& registry, const RunNotes& notes) {
  std::string text = "# The claims of five papers on attention, on trial\n\n" + verdict_of(ledger).text + "\n\n" +
                     code(notes.command) + ", seed " + std::to_string(notes.seed) + ", version " + version() +
                     ", commit " + commit() + ", " + machine() + ". " + family_text(ledger) + "\n";
  std::size_t previous = registry.papers.size();
  for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
    const Claim& claim = ledger.claims[i];
    const Paper& paper = registry.papers[claim.paper];
    if (claim.paper != previous) text += "\n## " + paper.title + ", arXiv " + paper.arxiv + "\n\n" + paper.text + "\n";
    text += entry_of(claim, ledger.decisions[i]);
    previous = claim.paper;
  }
  return text;
}

}  // namespace incontext::examples::verify
