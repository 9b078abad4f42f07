#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "examples/verify/decision.hpp"
#include "examples/verify/edition.hpp"
#include "examples/verify/pages.hpp"
#include "examples/verify/plots.hpp"
#include "examples/verify/soak.hpp"
#include "examples/verify/tables.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using namespace incontext::examples::verify;
using incontext::testing::part;
using Json = nlohmann::ordered_json;

namespace ledger_test {

namespace {

/// A row of a judged table whose simulation is off by so many standard errors of 0.01.
Json judged(double key, double theory, double off, std::int64_t values = 4096) {
  return {{"x", key},
          {"theory", theory},
          {"simulation", theory + 0.01 * off},
          {"standard_error", 0.01},
          {"z", off},
          {"trials", values},
          {"values", values},
          {"tolerance", 0.0},
          {"verdict", "agrees"},
          {"reason", nullptr}};
}

Json control(const std::string& statement, double claimed, double simulation, const std::string& outcome) {
  return {{"statement", statement},
          {"claimed", claimed},
          {"simulation", simulation},
          {"standard_error", 0.01},
          {"z", (simulation - claimed) / 0.01},
          {"trials", 4096},
          {"outcome", outcome}};
}

Json table_of(const std::string& title, const std::vector<Json>& rows) {
  Json columns = Json::array();
  for (const auto& [name, ignored] : rows.front().items()) {
    columns.push_back({{"name", name}, {"heading", name}, {"unit", ""}});
  }
  return {{"title", title}, {"columns", columns}, {"rows", rows}, {"notes", Json::array()}};
}

Run run_of(const std::vector<Json>& rows, const std::vector<Json>& controls) {
  Json report = {{"tables", Json::array({table_of("Results", rows)})}};
  if (!controls.empty()) report["tables"].push_back(table_of("Negative controls: wrong statements", controls));
  return {.command = "run", .line = "incontext-none", .seconds = 1, .problem = {}, .report = report.dump()};
}

Claim claim_of(Outcome expected = Outcome::confirmed) {
  return {.id = "test/claim",
          .place = "eq. 1",
          .statement = "A statement.",
          .found = "It holds.",
          .commands = {"run"},
          .evidence = {{"Results"}},
          .controls = {verify::control("statement", "wrong")},
          .expected = expected};
}

const std::vector<Json> right{judged(1, 1, 0.5), judged(2, 2, -1), judged(4, 3, 1.5)};
const std::vector<Json> rejected_control{control("wrong by a tenth", 1.1, 1.005, "rejected")};

}  // namespace

TEST_CASE("a claim whose rows agree and whose control is rejected is confirmed") {
  const Ledger ledger = ledger_of({claim_of()}, {run_of(right, rejected_control)});
  const Decision& decision = ledger.decisions.front();
  CHECK(ledger.family.members == 3);
  CHECK(decision.outcome == Outcome::confirmed);
  CHECK(decision.judged == 3);
  CHECK(decision.controls_rejected == 1);
  CHECK(decision.largest_z == Approx(1.5));
  CHECK(verdict_of(ledger).agrees == true);
  CHECK(verdict_of(ledger).text == part("1 confirmed, 0 refined, 0 refuted, 0 untested, 0 out of reach"));
}

TEST_CASE("the resolution is the bound and the 99% quantile in standard errors, over the theory") {
  const Ledger ledger = ledger_of({claim_of()}, {run_of(right, rejected_control)});
  // Student's t with 4095 degrees of freedom: quantiles at 1 - 0.005/3 and at 0.99, by SciPy 1.10
  const double bound = 2.936923425, power = 2.327258856;
  CHECK(ledger.decisions.front().coarsest == Approx((bound + power) * 0.01 / 1).epsilon(1e-4));
  CHECK(ledger.decisions.front().resolution == Approx((bound + power) * 0.01 / 3).epsilon(1e-4));
}

TEST_CASE("power: a shifted theory is rejected, and the claim with it") {
  std::vector<Json> shifted = right;
  shifted[1] = judged(2, 2, 6);
  const Ledger ledger = ledger_of({claim_of()}, {run_of(shifted, rejected_control)});
  CHECK(ledger.decisions.front().outcome == Outcome::refuted);
  CHECK(verdict_of(ledger).agrees == false);
  REQUIRE(ledger.rejections().size() == 1);
  CHECK(ledger.rejections().front() == part("x = 2"));
}

TEST_CASE("a deviation as large as the resolution is rejected 99 times in 100") {
  const double resolution = ledger_of({claim_of()}, {run_of(right, rejected_control)}).decisions.front().coarsest;
  const auto rejects = [&](double deviation) {  // in standard errors
    const std::vector<Json> rows{judged(1, 1, deviation), judged(2, 2, 0), judged(4, 3, 0)};
    return ledger_of({claim_of()}, {run_of(rows, rejected_control)}).decisions.front().outcome == Outcome::refuted;
  };
  const double shift = resolution / 0.01;
  CHECK(rejects(shift - 2.32));
  CHECK_FALSE(rejects(shift - 2.34));
}

TEST_CASE("the family decides by Holm: what is rejected alone is not among many") {
  const std::vector<Json> one{judged(1, 1, 3.2)};
  CHECK(ledger_of({claim_of()}, {run_of(one, rejected_control)}).decisions.front().outcome == Outcome::refuted);
  std::vector<Json> many = one;
  for (int i = 0; i < 60; ++i) many.push_back(judged(2 + i, 1, 0.1));
  CHECK(ledger_of({claim_of()}, {run_of(many, rejected_control)}).decisions.front().outcome == Outcome::confirmed);
}

TEST_CASE("without a rejected control a claim is untested") {
  const auto outcome = [](const std::vector<Json>& controls) {
    return ledger_of({claim_of()}, {run_of(right, controls)}).decisions.front();
  };
  CHECK(outcome({}).outcome == Outcome::untested);
  CHECK(outcome({}).reason == part("no row of a table 'Negative controls'"));
  CHECK(outcome({control("wrong by little", 1.01, 1.005, "cannot tell")}).reason == part("no wrong formula"));
  const Decision passed = outcome({rejected_control[0], control("wrong too", 1, 1.001, "NOT REJECTED")});
  CHECK(passed.outcome == Outcome::untested);
  CHECK(passed.reason == part("though the simulation could tell"));
}

TEST_CASE("a paper's formula must be rejected for a claim to be refuted or refined") {
  Claim claim = claim_of(Outcome::refuted);
  claim.paper_says = {verify::control("statement", "the paper's")};
  const auto outcome = [&](double claimed) {
    return ledger_of({claim},
                     {run_of(right, {rejected_control[0], control("the paper's", claimed, 1.005, "rejected")})})
        .decisions.front()
        .outcome;
  };
  CHECK(outcome(1.2) == Outcome::refuted);
  CHECK(outcome(1.004) == Outcome::untested);
}

TEST_CASE("a theory's own error is not held against it") {
  Json row = judged(1, 1, 6);
  row["tolerance"] = 0.05;
  const Ledger ledger = ledger_of({claim_of()}, {run_of({row}, rejected_control)});
  CHECK(ledger.decisions.front().outcome == Outcome::confirmed);
  CHECK(ledger.family.rows.front().z == Approx(1));
}

TEST_CASE("rows that were not judged are no evidence") {
  Json row = judged(1, 1, 0);
  row["verdict"] = "not_judged";
  row["reason"] = "too few trials";
  const Ledger ledger = ledger_of({claim_of()}, {run_of({row}, rejected_control)});
  CHECK(ledger.family.members == 0);
  CHECK(ledger.decisions.front().outcome == Outcome::untested);
  CHECK(verdict_of(ledger).agrees == std::nullopt);
}

TEST_CASE("a further z in a judged row is a control") {
  std::vector<Json> rows = right;
  for (Json& row : rows) row["leading_order_z"] = 40;
  Claim claim = claim_of();
  claim.controls = {{.table = "Results", .z = "leading_order_z"}};
  const Ledger ledger = ledger_of({claim}, {run_of(rows, {})});
  CHECK(ledger.family.members == 3);
  CHECK(ledger.decisions.front().controls_rejected == 3);
  CHECK(ledger.decisions.front().outcome == Outcome::confirmed);
}

TEST_CASE("a program that did not run leaves its claims untested, for its reason") {
  Run failed{.command = "run", .line = "incontext-none"};
  failed.problem = "incontext-none: cannot be started: No such file or directory";
  const Ledger ledger = ledger_of({claim_of()}, {failed});
  CHECK(ledger.decisions.front().outcome == Outcome::untested);
  CHECK(ledger.decisions.front().reason == failed.problem);
}

TEST_CASE("relations between computed numbers: bounds are counted apart, and shown as what they are") {
  const auto relation = [](const std::string& what, double computed, const std::string& sign, double theory) {
    return Json{{"claim", what},    {"cases", 3},       {"at", "n = 2"},      {"computed", computed},
                {"relation", sign}, {"theory", theory}, {"verdict", "agrees"}};
  };
  const std::vector<Json> rows{relation("an equality", 2, "=", 2), relation("a bound", 0.25, "<=", 0.75),
                               relation("control: wrong", 0.25, "!=", 0.5)};
  Claim claim = claim_of();
  claim.evidence = {{"Results", {{"claim", "an equality"}}}, {"Results", {{"claim", "a bound"}}}};
  claim.controls = {{"Results", {{"claim", "control"}}}};
  const Ledger ledger = ledger_of({claim}, {run_of(rows, {})});
  const Decision& decision = ledger.decisions.front();
  CHECK(decision.outcome == Outcome::confirmed);
  CHECK(decision.exact == 1);
  CHECK(decision.bounds == 1);
  CHECK(evidence_text(decision) == "1 equality of computed numbers, 1 bound of a computed number");
  const std::string html = html_of(ledger, {.command = "incontext-verify", .seed = 1, .page = "page.html"});
  CHECK(html == part("<th>computed</th>"));
  CHECK(html.find("<th>simulation</th>") == std::string::npos);
  CHECK(html == part("<td>&le; 0.75</td><td>0.25</td>"));
  CHECK(html == part("<td>&ne; 0.5</td><td>0.25</td><td>rejected</td>"));
}

TEST_CASE("a simulation that a theory only bounds is judged on that side alone, and is a member of the family") {
  const auto bounded = [](double key, double off, const std::string& relation = ">=") {
    Json row = judged(key, 1, off, 16);
    row["relation"] = relation;
    return row;
  };
  const auto decided = [&](double off) {
    return ledger_of({claim_of()}, {run_of({bounded(1, 40), bounded(2, off)}, rejected_control)});
  };
  const Ledger right = decided(-3);
  CHECK(right.family.members == 2);
  CHECK(right.rows.front().kind == RowKind::judged);
  CHECK_FALSE(right.rows.front().is_computed());
  CHECK(right.rows.front().name == "x = 1");
  CHECK(right.family.rows.front().p_value == 1);
  CHECK(right.decisions.front().outcome == Outcome::confirmed);
  CHECK(right.decisions.front().judged == 2);
  CHECK(right.decisions.front().bounds == 0);
  CHECK(html_of(right, {.command = "incontext-verify", .seed = 1, .page = "page.html"}) == part("<td>&ge; 1</td>"));
  const Ledger wrong = decided(-9);
  CHECK(wrong.decisions.front().outcome == Outcome::refuted);
  REQUIRE(wrong.rejections().size() == 1);
  CHECK(wrong.rejections().front() == "Rejected: run: x = 2: 0.91 is not >= 1.");
  const auto from_above = [&](double off) {
    return ledger_of({claim_of()}, {run_of({bounded(1, off, "<=")}, rejected_control)}).decisions.front().outcome;
  };
  CHECK(from_above(-40) == Outcome::confirmed);
  CHECK(from_above(2) == Outcome::confirmed);
  CHECK(from_above(9) == Outcome::refuted);
  Json shown = bounded(1, -40);  // without a relation and a verdict it is only shown
  shown["relation"] = shown["verdict"] = shown["theory"] = nullptr;
  CHECK(ledger_of({claim_of()}, {run_of({shown, judged(2, 1, 0)}, rejected_control)}).family.members == 1);
}

TEST_CASE("a claim whose runs take minutes is tried by the full edition alone") {
  std::size_t in_full_alone = 0;
  for (const Claim& claim : all_claims()) {
    CAPTURE(claim.id);
    const Claim quick = in_edition(claim, Edition::quick);
    CHECK(in_edition(claim, Edition::full).expected == claim.expected);
    for (const std::string& command : quick.commands) {
      CHECK_FALSE(line_of(command_named(command), Edition::quick).empty());
    }
    if (quick.expected == claim.expected) continue;
    ++in_full_alone;
    CHECK(quick.expected == Outcome::untested);
    CHECK(quick.reason == part("--edition full"));
    CHECK(quick.commands.empty());
  }
  CHECK(in_full_alone > 0);
  const Command both{"a", "quick line", "full line"}, one{"b", "one line"}, late{"c", "", "full line"};
  CHECK(line_of(both, Edition::full) == "full line");
  CHECK(line_of(both, Edition::quick) == "quick line");
  CHECK(line_of(one, Edition::full) == "one line");
  CHECK(line_of(late, Edition::quick).empty());
  CHECK(line_of(late, Edition::full) == "full line");
}

TEST_CASE("a bound that is broken is named with its relation") {
  const Json broken{{"claim", "a bound"}, {"cases", 1},    {"computed", 1.5},
                    {"relation", "<="},   {"theory", 0.5}, {"verdict", "disagrees"}};
  const Ledger ledger = ledger_of({claim_of()}, {run_of({broken}, rejected_control)});
  REQUIRE(ledger.rejections().size() == 1);
  CHECK(ledger.rejections().front() == "Rejected: run: a bound: 1.5 is not <= 0.5.");
}

TEST_CASE("the family has rows that no claim names, and says how many") {
  Claim claim = claim_of();
  claim.evidence = {{"Results", {{"x", "1"}}}};
  const Ledger ledger = ledger_of({claim}, {run_of(right, rejected_control)});
  CHECK(ledger.members_of_claims() == 1);
  CHECK(family_text(ledger) == part("3 in all, are one family; 2 of them are in the same figures"));
}

TEST_CASE("a claim that nothing tries is neither agreement nor without its reason") {
  Claim claim = claim_of(Outcome::out_of_reach);
  claim.reason = "needs released models";
  const Ledger ledger = ledger_of({claim}, {});
  CHECK(verdict_of(ledger).agrees == std::nullopt);
  CHECK(verdict_of(ledger).text == part("nothing was tried"));
  CHECK(claims_table(ledger).notes.back() == "test/claim, out of reach: needs released models.");
}

TEST_CASE("the page is one file, draws the claim, and quotes what a paper may contain") {
  Claim claim = claim_of();
  claim.statement = "If a < b, \"then\" <script>alert(1)</script>";
  const Ledger ledger = ledger_of({claim}, {run_of(right, rejected_control)});
  REQUIRE(plot_of(ledger, 0).has_value());
  CHECK(plot_of(ledger, 0)->x_label == "x");
  const std::string html = html_of(ledger, {.command = "incontext-verify", .seed = 1, .page = "page.html"});
  CHECK(html == part("<svg"));
  CHECK(html == part("a &lt; b"));
  CHECK(html.find("<script>alert") == std::string::npos);
  CHECK(html.find("http://") == html.find("http://www.w3.org/2000/svg"));
  CHECK(html.find("https://") == std::string::npos);
  CHECK(markdown_of(ledger, {.command = "incontext-verify", .page = {}}) == part("| `test/claim` | eq. 1 |"));
  // A back quote in an argument must not end the code span that keeps the rest from being HTML.
  const std::string hostile = "incontext-verify --markdown 'x`<img src=x>``y/m.md'";
  CHECK(markdown_of(ledger, {.command = hostile, .page = {}}) == part("\n```" + hostile + "```, seed "));
  CHECK(markdown_of(ledger, {.command = "a`", .page = {}}) == part("\n`` a` ``, seed "));
}

namespace {

/// The anchors of a page of docs/: its headings as the pages' rules make them.
std::set<std::string> anchors_of(const std::filesystem::path& page) {
  std::set<std::string> anchors;
  std::ifstream stream(page);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("#")) continue;
    std::string anchor;
    for (const char c : line.substr(line.find(' ') + 1)) {
      const auto letter = static_cast<unsigned char>(c);
      if (c == ' ' || c == '-') anchor += '-';
      if (std::isalnum(letter) != 0) anchor += static_cast<char>(std::tolower(letter));
    }
    anchors.insert(anchor);
  }
  return anchors;
}

}  // namespace

TEST_CASE("the registry: identities differ, and all that it names exists") {
  const std::filesystem::path root = INCONTEXT_SOURCES;
  std::set<std::string> ids, commands, used;
  for (const Command& command : all_commands()) {
    CAPTURE(command.name);
    CHECK(commands.insert(command.name).second);
    CHECK_FALSE(line_of(command, Edition::full).empty());
    for (const std::string& line : {command.quick, command.full}) {
      CHECK((line.empty() || line.starts_with("incontext-")));
      CHECK((line.empty() || line.find("--seed ") == std::string::npos));
    }
  }
  for (const Claim& claim : all_claims()) {
    CAPTURE(claim.id);
    CHECK(ids.insert(claim.id).second);
    CHECK(claim.id.starts_with(word_of(claim.paper) + '/'));
    CHECK_FALSE((claim.statement.empty() || claim.place.empty()));
    for (const std::string& header : claim.headers) CHECK(std::filesystem::exists(root / header));
    if (!claim.simulator.empty()) CHECK(std::filesystem::exists(root / claim.simulator));
    if (!claim.docs.empty()) {
      const std::size_t hash = claim.docs.find('#');
      REQUIRE(hash != std::string::npos);
      CHECK(anchors_of(root / claim.docs.substr(0, hash)).count(claim.docs.substr(hash + 1)) == 1);
    }
    for (const std::string& command : claim.commands) {
      CHECK(commands.count(command) == 1);
      used.insert(command);
    }
    const bool is_tried = claim.expected != Outcome::untested && claim.expected != Outcome::out_of_reach;
    CHECK(is_tried == claim.reason.empty());
    CHECK(is_tried == !claim.commands.empty());
    if (!is_tried) continue;
    CHECK_FALSE((claim.evidence.empty() || claim.controls.empty() || claim.headers.empty() || claim.found.empty()));
    CHECK((claim.paper_says.empty() || claim.expected != Outcome::confirmed));
    if (claim.expected == Outcome::refuted) CHECK_FALSE(claim.paper_says.empty());
  }
  CHECK(used == commands);
}

TEST_CASE("uniform p-values agree over seeds, and those of a wrong theory or of too small an error do not") {
  const auto outcome = [](auto&& distort) {
    std::vector<SeededRow> rows;
    for (int row = 0; row < 6; ++row) {
      SeededRow one{.command = row < 3 ? "first" : "second", .name = std::to_string(row)};
      for (int seed = 0; seed < 40; ++seed) {  // evenly spread, in another order for each row
        one.p_values.push_back(distort((((7 + 2 * row) * seed + row) % 40 + 0.5) / 40));
      }
      rows.push_back(one);
    }
    return judge_uniformity(rows, 40).verdict.agrees;
  };
  CHECK(outcome([](double p) { return p; }) == true);
  CHECK(outcome([](double p) { return p * p * p; }) == false);
  CHECK(outcome([](double p) { return 0.5 + p / 2; }) == false);
  CHECK(judge_uniformity({}, 3).verdict.agrees == std::nullopt);
  CHECK(judge_uniformity({}, 3, {"test/claim"}).verdict.text == part("nothing was tested"));
  CHECK(judge_uniformity({}, 3, {"test/claim"}).verdict.text == part("test/claim"));
}

TEST_CASE("commands take the ledger's seed where they draw") {
  const auto words = words_of(command_named("tasks"), Edition::quick, 7);
  CHECK(words == std::vector<std::string>{"incontext-tasks", "--seed", "7"});
  CHECK(words_of(command_named("scores-prompt"), Edition::full, 7).back() == "prompt");
}

}  // namespace ledger_test
