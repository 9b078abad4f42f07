#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "examples/support/text.hpp"
#include "examples/support/version.hpp"
#include "examples/verify/page_frame.hpp"
#include "examples/verify/pages.hpp"
#include "examples/verify/plots.hpp"
#include "examples/verify/tables.hpp"
#include "incontext/core/contracts.hpp"

namespace incontext::examples::verify {

namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string anchor(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c != '.' && std::isalnum(c) == 0; }, '-');
  return text;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// The sources that this program was built from: the tree that it runs in, else the one it was compiled in if that is
/// still there.
std::filesystem::path sources() {
  std::filesystem::path folder = std::filesystem::path(own_program()).parent_path();
  while (folder.has_relative_path()) {
    if (std::filesystem::exists(folder / "include/incontext") && std::filesystem::exists(folder / "docs"))
      return folder;
    folder = folder.parent_path();
  }
  if (std::filesystem::exists(INCONTEXT_SOURCES "/docs")) return INCONTEXT_SOURCES;
  return {};
}

/// A file of the sources, linked from the page where the sources are.
class Links {
 public:
  explicit Links(const std::string& page) {
    const std::filesystem::path root = sources();
    if (root.empty()) return;
    const std::filesystem::path folder = std::filesystem::absolute(page).parent_path();
    start_ = root.lexically_relative(folder.lexically_normal()).string();
    if (start_.empty()) start_ = root.string();
  }
  std::string to(const std::string& file) const {
    const std::string code = "<code>" + escaped(file) + "</code>";
    return start_.empty() ? code : "<a href=\"" + escaped(start_ + "/" + file) + "\">" + code + "</a>";
  }

 private:
  std::string start_ = {};
};

std::string number(double value) { return std::isfinite(value) ? short_text(value, 6) : ""; }

std::string relation_html(const std::string& relation) {
  return relation == "<=" ? "&le; " : relation == ">=" ? "&ge; " : relation == "!=" ? "&ne; " : "";
}

/// A row beside a theory, as cells.
std::string row_html(const Row& row, const JudgedRow& judged, Role role, bool table_is_simulated) {
  const bool simulated = row.values > 0 && row.unjudged.empty();
  const std::string what = row.kind == RowKind::shown ? ""
                           : !row.unjudged.empty()    ? "not judged: " + row.unjudged
                           : judged.rejected          ? "rejected"
                                                      : "agrees";
  const std::string type = role == Role::control ? "control" : what == "rejected" ? "rejected" : "";
  std::string html = "<tr class=\"" + type + "\"><td>" + escaped(row.name) + "</td>";
  html += "<td>" + relation_html(row.relation) + number(row.theory) + "</td>";
  std::vector<std::string> cells{number(row.simulation)};
  if (table_is_simulated) {
    cells.insert(cells.end(), {simulated ? number(row.standard_error) : "", simulated ? short_text(judged.z, 3) : "",
                               simulated ? short_text(judged.p_value, 2) : "",
                               simulated && row.kind == RowKind::judged ? resolution_text(judged.resolution) : ""});
  }
  cells.push_back(what);
  for (const std::string& cell : cells) html += "<td>" + escaped(cell) + "</td>";
  return html + "</tr>\n";
}

std::string table_html(const Ledger& ledger, const Finding& finding, Role role) {
  const auto is_computed = [&ledger](std::size_t i) { return ledger.rows[i].is_computed(); };
  const bool some_computed = std::any_of(finding.rows.begin(), finding.rows.end(), is_computed);
  const bool simulated = !std::all_of(finding.rows.begin(), finding.rows.end(), is_computed);
  const std::string measured = !some_computed ? "simulation" : simulated ? "simulation or computed" : "computed";
  std::string html = "<div class=\"wide\"><table><thead><tr><th>row</th><th>theory</th><th>" + measured + "</th>" +
                     (simulated ? "<th>± error</th><th>z</th><th>p</th><th>resolution</th>" : "") +
                     "<th></th></tr></thead><tbody>\n";
  for (const std::size_t i : finding.rows) html += row_html(ledger.rows[i], ledger.family.rows[i], role, simulated);
  return html + "</tbody></table></div>\n";
}

/// The values that a group asks about, as they are compared.
std::string asked_html(const Ledger& ledger, const RowGroup& group) {
  const Answer answer = ask(group, ledger.rows);
  std::string column = group.value;
  std::replace(column.begin(), column.end(), '_', ' ');
  const bool compared = std::any_of(answer.points.begin(), answer.points.end(),
                                    [](const AskedPoint& point) { return std::isfinite(point.other); });
  std::string html = "<div class=\"wide\"><table><thead><tr><th>row</th><th>" + escaped(column) +
                     "</th><th>± error</th>" + (compared ? "<th>compared with</th>" : "") + "</tr></thead><tbody>\n";
  for (std::size_t i = 0; i < answer.points.size(); ++i) {
    const AskedPoint& point = answer.points[i];
    html += "<tr><td>" + escaped(ledger.rows[answer.rows[i]].name) + "</td><td>" + number(point.value) + "</td><td>" +
            (point.error > 0 ? number(point.error) : "") + "</td>" +
            (compared ? "<td>" + number(point.other) + "</td>" : "") + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

/// What a role means, for who reads the page alone.
std::string meaning_of(Role role) {
  switch (role) {
    case Role::paper:
      return "the paper says";
    case Role::exact:
      return "exact at this size (ours)";
    case Role::control:
      return "a near miss";
    case Role::identity:
      return "true by definition";
    case Role::addition:
      break;
  }
  return "we add";
}

/// What each group of rows says and what became of it, with its rows.
std::string groups_html(const Ledger& ledger, const Claim& claim, const Decision& decision) {
  std::string html = "<ul class=\"groups\">\n";
  for (std::size_t i = 0; i < decision.findings.size(); ++i) {
    const RowGroup& group = claim.groups[i];
    const Finding& finding = decision.findings[i];
    const std::string state = finding.missing.empty() ? state_text(group.role, finding.state) : "missing";
    html += "<li><span class=\"faint\">" + meaning_of(group.role) + ":</span> " + escaped(group.says) +
            (group.regime.empty() ? "" : " <i>(" + escaped(group.regime) + ")</i>") + " <b>" + state + "</b>" +
            (finding.again ? " (with another seed: " + state_text(group.role, *finding.again) + ")" : "") + ".<br>" +
            "<span class=\"faint\">" + escaped(finding.missing.empty() ? finding.text : finding.missing) + "</span>\n";
    if (!finding.rows.empty()) {
      html +=
          "<details><summary>" + std::to_string(finding.rows.size()) + (finding.rows.size() == 1 ? " row" : " rows") +
          "</summary>\n" +
          (group.question == Question::agrees ? table_html(ledger, finding, group.role) : asked_html(ledger, group)) +
          "</details>\n";
    }
    html += "</li>\n";
  }
  return html + "</ul>\n";
}

std::string item(const std::string& name, const std::string& html) {
  return html.empty() ? "" : "<dt>" + name + "</dt><dd>" + html + "</dd>\n";
}

std::string list_of(const Links& links, const std::vector<std::string>& files) {
  std::string html;
  for (const std::string& file : files) html += (html.empty() ? "" : "<br>") + links.to(file);
  return html;
}

std::string runs_html(const Ledger& ledger, const Claim& claim) {
  std::string html;
  const std::vector<std::string> its = claim.runs();
  for (const Run& run : ledger.runs) {
    if (std::find(its.begin(), its.end(), run.command) == its.end()) continue;
    html += (html.empty() ? "" : "<br>") + ("<code>" + escaped(run.line) + "</code>, ") +
            (run.recorded.empty() ? short_text(run.seconds, 2) + " s" : "recorded: " + escaped(run.recorded)) +
            (run.problem.empty() ? "" : ": " + escaped(run.problem));
  }
  return html;
}

PlotColors page_colors() {
  PlotColors colors{.paper = "none", .grid = "var(--rule)", .words = "var(--ink)", .series = {}};
  for (int i = 1; i <= 8; ++i) colors.series.push_back("var(--s" + std::to_string(i) + ")");
  return colors;
}

std::string plot_html(const Ledger& ledger, std::size_t index) {
  const auto panel = plot_of(ledger, index);
  if (!panel) return "";
  return "<figure role=\"img\" aria-label=\"" + escaped(panel->title) + "\">" + svg_of({*panel}, page_colors()) +
         "</figure>\n";
}

/// What the words of the page's search are looked for in.
std::string searched_words(const Claim& claim, const Paper& paper) {
  std::string words = claim.id + ' ' + claim.place + ' ' + claim.quote + ' ' + claim.comment + ' ' + paper.arxiv + ' ' +
                      paper.title + ' ' + claim.simulator;
  for (const RowGroup& group : claim.groups) words += ' ' + group.says;
  for (const std::string& header : claim.headers) words += ' ' + header;
  return lower(words);
}

/// The command line that repeats one claim.
std::string alone(const Claim& claim, const RunNotes& notes) {
  return "incontext verify --claim " + claim.id + (notes.edition == Edition::full ? " --edition full" : "") +
         " --seed " + std::to_string(notes.seed);
}

std::string card(const Ledger& ledger, const Registry& registry, std::size_t index, const Links& links,
                 const RunNotes& notes) {
  const Claim& claim = ledger.claims[index];
  const Paper& paper = registry.papers[claim.paper];
  const Decision& decision = ledger.decisions[index];
  const std::string word = word_of(decision.outcome), type = anchor(word);
  std::string html = "<article id=\"" + anchor(claim.id) + "\" data-verdict=\"" + type + "\" data-paper=\"" +
                     paper.word + "\" data-ran=\"" + (decision.findings.empty() ? "no" : "yes") + "\" data-words=\"" +
                     escaped(searched_words(claim, paper)) + "\">\n";
  html += "<header><h3>" + escaped(claim.place) + " <span class=\"faint\">" + escaped(claim.id) +
          "</span></h3><span class=\"verdict " + type + "\">" + word + "</span></header>\n";
  html += "<blockquote>“" + escaped(claim.quote) + "”</blockquote>\n";
  html += "<p><span class=\"faint\">The paper's setting:</span> " + escaped(claim.setting) + "." +
          (claim.ours.empty() ? "" : " <span class=\"faint\">Ours:</span> " + escaped(claim.ours) + ".") + "</p>\n";
  if (!decision.reason.empty()) html += "<p><b>" + word + ":</b> " + escaped(decision.reason) + ".</p>\n";
  if (!claim.comment.empty()) html += "<p>" + escaped(claim.comment) + "</p>\n";
  html += plot_html(ledger, index);
  if (!decision.findings.empty()) html += groups_html(ledger, claim, decision);
  html += std::string("<details><summary>") + (claim.formula.empty() ? "Sources" : "Formula, sources") +
          (decision.findings.empty() ? "" : ", how to repeat it") + "</summary><dl>\n";
  html += item("formula", claim.formula.empty() ? "" : "<code>" + escaped(claim.formula) + "</code>");
  html += item("headers", list_of(links, claim.headers));
  html += item("theory", claim.docs.empty() ? "" : links.to(claim.docs));
  html += item("simulation", claim.simulator.empty() ? "" : links.to(claim.simulator));
  html += item("commands", runs_html(ledger, claim));
  if (!decision.findings.empty()) html += item("this claim alone", "<code>" + escaped(alone(claim, notes)) + "</code>");
  return html + "</dl></details>\n</article>\n";
}

std::string counts_html(const Ledger& ledger) {
  std::string html = "<div class=\"counts\">\n";
  for (const Outcome outcome : all_outcomes) {
    const std::string word = word_of(outcome), type = anchor(word);
    if (ledger.count(outcome) == 0) continue;
    html += "<button type=\"button\" aria-pressed=\"false\" data-verdict=\"" + type + "\"><b class=\"" + type + "\">" +
            std::to_string(ledger.count(outcome)) + "</b> " + word + "</button>\n";
  }
  return html + "</div>\n";
}

/// The papers of the ledger's claims, in their order.
std::vector<std::size_t> papers_of(const Ledger& ledger) {
  std::vector<std::size_t> papers;
  for (const Claim& claim : ledger.claims) {
    if (std::find(papers.begin(), papers.end(), claim.paper) == papers.end()) papers.push_back(claim.paper);
  }
  return papers;
}

std::string filters_html(const Ledger& ledger, const Registry& registry) {
  std::string html =
      "<div class=\"filters\"><select id=\"paper\" aria-label=\"Paper\"><option value=\"\">all papers</option>";
  for (const std::size_t paper : papers_of(ledger)) {
    html +=
        "<option value=\"" + registry.papers[paper].word + "\">" + escaped(registry.papers[paper].title) + "</option>";
  }
  return html +
         "</select><input id=\"words\" type=\"search\" placeholder=\"words, in any order\" aria-label=\"Words, in any "
         "order\"></div>\n" +
         "<p class=\"faint\" id=\"shown\"></p>\n";
}

double seconds_of(const Ledger& ledger) {
  double seconds = 0;
  for (const Run& run : ledger.runs) seconds += run.seconds;
  return seconds;
}

std::string about_html(const Ledger& ledger, const Links& links, const RunNotes& notes) {
  return "<p>Each claim is quoted, with the paper's setting and ours. Below it stand groups of rows: what the paper "
         "says, "
         "what is exact at this size, near misses that must be rejected, and what we add. The verdict follows from "
         "these "
         "groups by the rules of " +
         links.to("docs/claims.md") + "; nobody types it. " + escaped(family_text(ledger)) +
         "</p>\n<p class=\"faint\"><code>" + escaped(notes.command) + "</code>, seed " + std::to_string(notes.seed) +
         ", version " + version() + ", commit " + escaped(commit()) + ", " + escaped(machine()) + ", " +
         short_text(seconds_of(ledger), 3) + " s of processor time" +
         (ledger.complete ? "" : "; <b>stopped early</b>") + ".</p>\n";
}

}  // namespace

std::string machine() {
  std::ifstream processors("/proc/cpuinfo");
  std::string name = "unknown processor";
  for (std::string line; std::getline(processors, line);) {
    if (!line.starts_with("model name")) continue;
    name = std::string(trimmed(line.substr(line.find(':') + 1)));
    break;
  }
  return name + ", " + std::to_string(std::max(std::thread::hardware_concurrency(), 1u)) + " cores";
}

std::string html_of(const Ledger& ledger, const Registry& registry, const RunNotes& notes) {
  const Links links(notes.page);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>The ledger: claims about attention, on trial</title>\n<style>";
  html += page_style;
  html += "</style></head>\n<body><main>\n<h1>The claims of five papers on attention, on trial</h1>\n";
  html += counts_html(ledger) + about_html(ledger, links, notes) + filters_html(ledger, registry);
  for (const std::size_t paper : papers_of(ledger)) {
    const Paper& one = registry.papers[paper];
    html += "<section><h2>" + escaped(one.title) + " <span class=\"faint\">" + escaped(one.authors) + ", arXiv " +
            escaped(one.arxiv) + "</span></h2>\n<p class=\"faint\">" + escaped(one.text) + "</p>\n";
    for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
      if (ledger.claims[i].paper == paper) html += card(ledger, registry, i, links, notes);
    }
    html += "</section>\n";
  }
  html += "</main>\n<script>";
  html += page_script;
  return html + "</script></body></html>\n";
}

}  // namespace incontext::examples::verify
