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
  std::filesystem::path folder = own_folder();
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

/// A row of a table that has columns for what only simulations have, or has none.
std::string row_html(const Row& row, const JudgedRow& judged, bool table_is_simulated) {
  std::string type = row.kind == RowKind::control ? "control" : judged.rejected ? "rejected" : "";
  const bool simulated = row.values > 0 && row.unjudged.empty();
  std::string what = row.kind == RowKind::control ? (judged.rejected ? "rejected" : "not rejected")
                     : !row.unjudged.empty()      ? "not judged: " + row.unjudged
                     : judged.rejected            ? "REJECTED"
                                                  : "agrees";
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

std::string rows_html(const Ledger& ledger, const Decision& decision) {
  std::vector<std::size_t> all = decision.evidence;
  for (const auto* more : {&decision.paper_says, &decision.controls}) {
    for (const std::size_t i : *more) {
      if (std::find(all.begin(), all.end(), i) == all.end()) all.push_back(i);
    }
  }
  const auto is_computed = [&ledger](std::size_t i) { return ledger.rows[i].is_computed(); };
  const bool some_computed = std::any_of(all.begin(), all.end(), is_computed);
  const bool simulated = !std::all_of(all.begin(), all.end(), is_computed);
  const std::string measured = !some_computed ? "simulation" : simulated ? "simulation or computed" : "computed";
  std::string html = "<div class=\"wide\"><table><thead><tr><th>row</th><th>theory</th><th>" + measured + "</th>" +
                     (simulated ? "<th>± error</th><th>z</th><th>p</th><th>resolution</th>" : "") +
                     "<th></th></tr></thead><tbody>\n";
  for (const std::size_t i : all) html += row_html(ledger.rows[i], ledger.family.rows[i], simulated);
  return html + "</tbody></table></div>\n";
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
  for (const Run& run : ledger.runs) {
    if (std::find(claim.commands.begin(), claim.commands.end(), run.command) == claim.commands.end()) continue;
    html += (html.empty() ? "" : "<br>") + ("<code>" + escaped(run.line) + "</code>, ") + short_text(run.seconds, 2) +
            " s" + (run.problem.empty() ? "" : ": " + escaped(run.problem));
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

std::string numbers_html(const Decision& decision) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (decision.rows() > 0) add(evidence_text(decision));
  if (decision.judged > 0) add("largest |z| " + short_text(decision.largest_z, 3));
  const std::string best = resolution_text(decision.resolution), worst = resolution_text(decision.coarsest);
  if (!best.empty()) add("a common deviation of " + best + " would have been seen (worst row alone: " + worst + ")");
  if (!decision.controls.empty()) add(rejected_controls_text(decision) + " rows of wrong formulas rejected");
  return escaped(text);
}

/// What the words of the page's search are looked for in.
std::string searched_words(const Claim& claim) {
  std::string words = claim.id + ' ' + claim.place + ' ' + claim.statement + ' ' + claim.found + ' ' +
                      arxiv_number(claim.paper) + ' ' + title_of(claim.paper) + ' ' + claim.simulator;
  for (const std::string& header : claim.headers) words += ' ' + header;
  return lower(words);
}

/// The command line that repeats one claim.
std::string alone(const Claim& claim, const RunNotes& notes) {
  return "incontext-verify --claim " + claim.id + (notes.edition == Edition::full ? " --edition full" : "") +
         " --seed " + std::to_string(notes.seed);
}

std::string card(const Ledger& ledger, std::size_t index, const Links& links, const RunNotes& notes) {
  const Claim& claim = ledger.claims[index];
  const Decision& decision = ledger.decisions[index];
  const std::string word = word_of(decision.outcome), type = anchor(word);
  const bool surprising = !decision.as_expected(claim);
  std::string html = "<article id=\"" + anchor(claim.id) + "\" class=\"" + (surprising ? "surprise" : "") +
                     "\" data-verdict=\"" + type + "\" data-paper=\"" + word_of(claim.paper) + "\" data-words=\"" +
                     escaped(searched_words(claim)) + "\">\n";
  html += "<header><h3>" + escaped(claim.place) + " <span class=\"faint\">" + escaped(claim.id) +
          "</span></h3><span class=\"verdict " + type + "\">" + word + "</span></header>\n";
  html += "<p>" + escaped(claim.statement) + "</p>\n";
  if (!claim.found.empty()) {
    const bool is_old = decision.outcome == Outcome::untested;
    html += std::string("<p><b>") + (is_old ? "Recorded earlier, not run here:" : "Found:") + "</b> " +
            escaped(claim.found) + "</p>\n";
  }
  if (!decision.reason.empty()) html += "<p class=\"faint\">" + word + ": " + escaped(decision.reason) + ".</p>\n";
  html += plot_html(ledger, index);
  html += "<p class=\"faint\">" + numbers_html(decision) + "</p>\n";
  if (!decision.evidence.empty()) {
    html += "<details><summary>The numbers</summary>\n" + rows_html(ledger, decision) + "</details>\n";
  }
  const bool has_run = !decision.evidence.empty();
  html += std::string("<details><summary>") + (claim.equation.empty() ? "Sources" : "Formula, sources") +
          (has_run ? ", how to repeat it" : "") + "</summary><dl>\n";
  html += item("formula", claim.equation.empty() ? "" : "<code>" + escaped(claim.equation) + "</code>");
  html += item("headers", list_of(links, claim.headers));
  html += item("theory", claim.docs.empty() ? "" : links.to(claim.docs));
  html += item("simulation", claim.simulator.empty() ? "" : links.to(claim.simulator));
  html += item("commands", runs_html(ledger, claim));
  if (has_run) {
    html += item("this claim alone", "<code>" + escaped(alone(claim, notes)) + "</code>");
  }
  return html + "</dl></details>\n</article>\n";
}

std::string counts_html(const Ledger& ledger) {
  std::string html = "<div class=\"counts\">\n";
  for (const Outcome outcome : all_outcomes) {
    const std::string word = word_of(outcome), type = anchor(word);
    html += "<button type=\"button\" aria-pressed=\"false\" data-verdict=\"" + type + "\"><b class=\"" + type + "\">" +
            std::to_string(ledger.count(outcome)) + "</b> " + word + "</button>\n";
  }
  return html + "</div>\n";
}

std::string filters_html(const std::vector<Paper>& papers) {
  std::string html =
      "<div class=\"filters\"><select id=\"paper\" aria-label=\"Paper\"><option value=\"\">all papers</option>";
  for (const Paper paper : papers) {
    html += "<option value=\"" + word_of(paper) + "\">" + escaped(title_of(paper)) + "</option>";
  }
  return html +
         "</select><input id=\"words\" type=\"search\" placeholder=\"words, in any order\" aria-label=\"Words, in any "
         "order\"></div>\n" +
         "<p class=\"faint\" id=\"shown\"></p>\n";
}

std::vector<Paper> papers_of(const Ledger& ledger) {
  std::vector<Paper> papers;
  for (const Claim& claim : ledger.claims) {
    if (std::find(papers.begin(), papers.end(), claim.paper) == papers.end()) papers.push_back(claim.paper);
  }
  return papers;
}

double seconds_of(const Ledger& ledger) {
  double seconds = 0;
  for (const Run& run : ledger.runs) seconds += run.seconds;
  return seconds;
}

std::string about_html(const Ledger& ledger, const RunNotes& notes) {
  return "<p>Each claim is a set of rows from the project's programs, theory beside simulation or beside computed "
         "numbers. " +
         escaped(family_text(ledger)) +
         " Each claim also has wrong formulas, and is untested if none of their rows was rejected. "
         "Refined: the claim holds in a regime, which is stated.</p>\n<p class=\"faint\"><code>" +
         escaped(notes.command) + "</code>, seed " + std::to_string(notes.seed) + ", version " + version() +
         ", commit " + escaped(commit()) + ", " + escaped(machine()) + ", " + short_text(seconds_of(ledger), 3) +
         " s of processor time" + (ledger.complete ? "" : "; <b>stopped early</b>") + ".</p>\n";
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

std::string html_of(const Ledger& ledger, const RunNotes& notes) {
  const Links links(notes.page);
  std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n"
      "<title>The ledger: claims about attention, on trial</title>\n<style>";
  html += page_style;
  html += "</style></head>\n<body><main>\n<h1>The claims of five papers on attention, on trial</h1>\n";
  html += counts_html(ledger) + about_html(ledger, notes) + filters_html(papers_of(ledger));
  for (const Paper paper : papers_of(ledger)) {
    html += "<section><h2>" + escaped(title_of(paper)) + " <span class=\"faint\">arXiv " + arxiv_number(paper) +
            "</span></h2>\n";
    for (std::size_t i = 0; i < ledger.claims.size(); ++i) {
      if (ledger.claims[i].paper == paper) html += card(ledger, i, links, notes);
    }
    html += "</section>\n";
  }
  html += "</main>\n<script>";
  html += page_script;
  return html + "</script></body></html>\n";
}

}  // namespace incontext::examples::verify
