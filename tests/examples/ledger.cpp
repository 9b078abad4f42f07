#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "examples/support/render.hpp"
#include "examples/support/text.hpp"
#include "examples/verify/claims_file.hpp"
#include "examples/verify/decision.hpp"
#include "examples/verify/edition.hpp"
#include "examples/verify/mutants.hpp"
#include "examples/verify/page.hpp"
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

RowGroup group_of(Role role, const std::string& table, std::vector<Key> where = {}) {
  return {.role = role,
          .says = "The rows are so.",
          .rows = {.runs = {"run"}, .table = table, .where = std::move(where)},
          .resolution = 1};
}

Claim claim_of(Role role = Role::paper) {
  return {
      .id = "test/claim",
      .place = "eq. 1",
      .quote = "A sentence.",
      .setting = "any",
      .groups = {group_of(role, "Results"), group_of(Role::control, "Negative controls", {{"statement", "wrong"}})}};
}

/// A claim about the rows of the results, and what is asked of them along x.
Claim asking(Question question, double than = 0) {
  Claim claim = claim_of();
  claim.groups[0].question = question;
  claim.groups[0].along = "x";
  claim.groups[0].error = "standard_error";
  if (question == Question::above || question == Question::below || question == Question::equals) {
    claim.groups[0].than = than;
  }
  if (question == Question::steady) claim.groups[0].factor = than;
  return claim;
}

const verify::Registry papers{.papers = {{"test", "0000.00000", "A paper", "Somebody", "All of it was read."}}};

const std::vector<Json> right{judged(1, 1, 0.5), judged(2, 2, -1), judged(4, 3, 1.5)};
const std::vector<Json> rejected_control{control("wrong by a tenth", 1.1, 1.005, "rejected")};

}  // namespace

TEST_CASE("a claim whose rows agree and whose control is rejected is confirmed") {
  const Ledger ledger = ledger_of({claim_of()}, {run_of(right, rejected_control)});
  const Decision& decision = ledger.decisions.front();
  CHECK(decision.family.size() == 3);
  CHECK(decision.outcome == Outcome::confirmed);
  CHECK(decision.findings[0].judged == 3);
  CHECK(decision.findings[1].rejected == 1);
  CHECK(decision.findings[0].largest_z == Approx(1.5));
  CHECK(verdict_of(ledger).agrees == true);
  CHECK(verdict_of(ledger).text == part("of 1 claim: 1 confirmed."));
}

TEST_CASE("the resolution is the bound and the 99% quantile in standard errors, over the theory") {
  const Ledger ledger = ledger_of({claim_of()}, {run_of(right, rejected_control)});
  // Student's t with 4095 degrees of freedom: quantiles at 1 - 0.00005/3 and at 0.99, by SciPy 1.17
  const double bound = 4.154029441, power = 2.327258856;
  const Finding& finding = ledger.decisions.front().findings.front();
  CHECK(finding.coarsest == Approx((bound + power) * 0.01 / 1).epsilon(1e-4));
  CHECK(finding.resolution == Approx((bound + power) * 0.01 / 3).epsilon(1e-4));
}

namespace {

/// Rows of which the second is off by so many standard errors.
std::vector<Json> shifted(double off) {
  std::vector<Json> rows = right;
  rows[1] = judged(2, 2, off);
  return rows;
}

}  // namespace

TEST_CASE("power: a row of the paper that is off is rejected, and counts if another seed rejects it too") {
  const Claim claim = claim_of();
  const Ledger ledger = ledger_of({claim}, {run_of(shifted(6), rejected_control)});
  CHECK(ledger.decisions.front().needs_another_seed(claim));
  CHECK(ledger.runs_to_repeat() == std::vector<std::string>{"run"});
  CHECK(ledger.decisions.front().findings[0].text == part("1 of 3 rows rejected: x = 2: 2.06 ± 0.01 against 2"));
  const auto again = [&](double off) { return with_another_seed(ledger, {run_of(shifted(off), rejected_control)}); };
  CHECK(again(6).decisions.front().outcome == Outcome::contradicted);
  CHECK(again(6).decisions.front().reason == part("does not hold in the paper's setting: \"The rows are so\""));
  CHECK(again(1).decisions.front().outcome == Outcome::undecided);
  CHECK(verdict_of(again(6)).agrees == true);  // nothing of ours is rejected
}

TEST_CASE("a second seed that cannot be run leaves the claim incomplete, with the reason") {
  const Claim claim = claim_of();
  const Ledger ledger = ledger_of({claim}, {run_of(shifted(6), rejected_control)});
  const Ledger again = with_another_seed(ledger, {Run{.command = "run", .problem = "cannot be started"}});
  CHECK(again.decisions.front().outcome == Outcome::not_tried);
  CHECK(again.decisions.front().is_incomplete);
  CHECK(again.decisions.front().reason == part("second seed that the rules ask for is missing: cannot be started"));
  CHECK_FALSE(verdict_of(again).agrees.has_value());
}

TEST_CASE("power: a result of ours that is off fails the run, and leaves the claim undecided") {
  Claim claim = claim_of();
  claim.groups.push_back(group_of(Role::exact, "Results"));
  const Ledger ledger = ledger_of({claim}, {run_of(shifted(6), rejected_control)});
  CHECK(ledger.decisions.front().outcome == Outcome::undecided);
  CHECK(ledger.decisions.front().reason == part("a result of ours is rejected"));
  CHECK(verdict_of(ledger).agrees == false);
  REQUIRE(ledger.rejections().size() == 1);
  CHECK(ledger.rejections().front() == part("x = 2"));
}

TEST_CASE("a row that no claim names fails the run as well") {
  Claim claim = claim_of();
  claim.groups[0].rows.where = {{"x", "1"}};
  CHECK(verdict_of(ledger_of({claim}, {run_of(shifted(6), rejected_control)})).agrees == false);
  CHECK(verdict_of(ledger_of({claim}, {run_of(shifted(1), rejected_control)})).agrees == true);
}

TEST_CASE("a deviation as large as the resolution is rejected 99 times in 100") {
  const Finding finding = ledger_of({claim_of()}, {run_of(right, rejected_control)}).decisions.front().findings.front();
  const auto rejects = [&](double deviation) {  // in standard errors
    const std::vector<Json> rows{judged(1, 1, deviation), judged(2, 2, 0), judged(4, 3, 0)};
    return ledger_of({claim_of()}, {run_of(rows, rejected_control)}).decisions.front().findings[0].state ==
           State::rejected;
  };
  const double shift = finding.coarsest / 0.01;
  CHECK(rejects(shift - 2.32));
  CHECK_FALSE(rejects(shift - 2.34));
}

TEST_CASE("the family decides by Holm: what is rejected alone is not among many") {
  const auto state = [](const std::vector<Json>& rows) {
    return ledger_of({claim_of()}, {run_of(rows, rejected_control)}).decisions.front().findings[0].state;
  };
  const std::vector<Json> one{judged(1, 1, 4.2)};
  CHECK(state(one) == State::rejected);
  std::vector<Json> many = one;
  for (int i = 0; i < 60; ++i) many.push_back(judged(2 + i, 1, 0.1));
  CHECK(state(many) == State::holds);
}

TEST_CASE("without a rejected near miss nothing is confirmed") {
  const auto decided = [](const std::vector<Json>& controls) {
    return ledger_of({claim_of()}, {run_of(right, controls)}).decisions.front();
  };
  CHECK(decided({}).outcome == Outcome::not_tried);
  CHECK(decided({}).is_incomplete);
  CHECK(decided({}).reason == part("no row of a table 'Negative controls'"));
  CHECK(decided({control("wrong by little", 1.01, 1.005, "cannot tell")}).outcome == Outcome::undecided);
  CHECK(decided({control("wrong by little", 1.01, 1.005, "cannot tell")}).reason ==
        part("a near miss is not rejected"));
}

TEST_CASE("a theory's own error is not held against it") {
  Json row = judged(1, 1, 6);
  row["tolerance"] = 0.05;
  const Ledger ledger = ledger_of({claim_of()}, {run_of({row}, rejected_control)});
  CHECK(ledger.decisions.front().outcome == Outcome::confirmed);
  CHECK(ledger.decisions.front().family.rows.at(0).z == Approx(1));
}

TEST_CASE("rows that were not judged are no evidence") {
  Json row = judged(1, 1, 0);
  row["verdict"] = "not_judged";
  row["reason"] = "too few trials";
  const Ledger ledger = ledger_of({claim_of()}, {run_of({row}, rejected_control)});
  CHECK(ledger.decisions.front().family.size() == 0);
  CHECK(ledger.decisions.front().outcome == Outcome::not_tried);
  CHECK(ledger.decisions.front().reason == "too few trials");
  CHECK(verdict_of(ledger).agrees == std::nullopt);
}

TEST_CASE("a further z in a judged row is another theory, of a paper or a near miss") {
  const auto decided = [](Role role, double z) {
    std::vector<Json> rows = right;
    for (Json& row : rows) row["leading_order_z"] = z;
    Claim claim = claim_of();
    claim.groups.push_back(group_of(role, "Results"));
    claim.groups.back().rows.z = "leading_order_z";
    return ledger_of({claim}, {run_of(rows, rejected_control)});
  };
  CHECK(decided(Role::control, 40).decisions.front().family.size() == 3);
  CHECK(decided(Role::control, 40).decisions.front().findings.back().rejected == 3);
  CHECK(decided(Role::control, 40).decisions.front().outcome == Outcome::confirmed);
  CHECK(decided(Role::control, 1).decisions.front().outcome == Outcome::undecided);
  CHECK(decided(Role::paper, 1).decisions.front().outcome == Outcome::confirmed);
  CHECK(decided(Role::paper, 40).decisions.front().findings.back().state == State::rejected);
  CHECK(decided(Role::paper, 40).decisions.front().outcome == Outcome::undecided);  // until another seed rejects it too
}

TEST_CASE("a program that did not run leaves its claims untried, for its reason") {
  Run failed{.command = "run", .line = "incontext-none"};
  failed.problem = "incontext-none: cannot be started: No such file or directory";
  const Ledger ledger = ledger_of({claim_of()}, {failed});
  CHECK(ledger.decisions.front().outcome == Outcome::not_tried);
  CHECK(ledger.decisions.front().reason == failed.problem);
  CHECK(verdict_of(ledger).agrees == std::nullopt);
}

TEST_CASE("relations between computed numbers decide exactly, and are shown as what they are") {
  const auto relation = [](const std::string& what, double computed, const std::string& sign, double theory) {
    return Json{{"claim", what},    {"cases", 3},       {"at", "n = 2"},      {"computed", computed},
                {"relation", sign}, {"theory", theory}, {"verdict", "agrees"}};
  };
  const std::vector<Json> rows{relation("an equality", 2, "=", 2), relation("a bound", 0.25, "<=", 0.75),
                               relation("control: wrong", 0.25, "!=", 0.5)};
  Claim claim = claim_of();
  claim.groups = {group_of(Role::paper, "Results", {{"claim", "an equality"}}),
                  group_of(Role::paper, "Results", {{"claim", "a bound"}}),
                  group_of(Role::control, "Results", {{"claim", "control"}})};
  const Ledger ledger = ledger_of({claim}, {run_of(rows, {})});
  const Decision& decision = ledger.decisions.front();
  CHECK(decision.outcome == Outcome::confirmed);
  CHECK(decision.findings[0].computed == 1);
  CHECK(decision.findings[0].exact);
  CHECK(decision.findings[1].text == "0.25 <= 0.75");
  CHECK_FALSE(decision.needs_another_seed(claim));
}

TEST_CASE("a simulation that a theory only bounds is judged on that side alone, and is a member of the family") {
  const auto bounded = [](double key, double off, const std::string& relation = ">=") {
    Json row = judged(key, 1, off, 16);
    row["relation"] = relation;
    return row;
  };
  const auto decided = [&](double off) {
    return ledger_of({claim_of(Role::exact)}, {run_of({bounded(1, 40), bounded(2, off)}, rejected_control)});
  };
  const Ledger right = decided(-3);
  CHECK(right.decisions.front().family.members == 2);
  CHECK(right.rows.front().kind == RowKind::judged);
  CHECK_FALSE(right.rows.front().is_computed());
  CHECK(right.rows.front().name == "x = 1");
  CHECK(right.decisions.front().family.rows.at(0).p_value == 1);
  CHECK(right.decisions.front().findings.front().judged == 2);
  const Ledger wrong = decided(-9);
  CHECK(wrong.decisions.front().findings.front().state == State::rejected);
  REQUIRE(wrong.rejections().size() == 1);
  CHECK(wrong.rejections().front() == "Rejected: run: x = 2: 0.91 is not >= 1.");
  const auto from_above = [&](double off) {
    return ledger_of({claim_of()}, {run_of({bounded(1, off, "<=")}, rejected_control)})
        .decisions.front()
        .findings.front()
        .state;
  };
  CHECK(from_above(-40) == State::holds);
  CHECK(from_above(2) == State::holds);
  CHECK(from_above(9) == State::rejected);
  Json shown = bounded(1, -40);  // without a relation and a verdict it is only shown
  shown["relation"] = shown["verdict"] = shown["theory"] = nullptr;
  CHECK(
      ledger_of({claim_of()}, {run_of({shown, judged(2, 1, 0)}, rejected_control)}).decisions.front().family.members ==
      1);
}

namespace {

/// Simulated values at x = 1, 2, 3, with errors of 0.01.
State asked_of(const Claim& claim, const std::vector<double>& values) {
  std::vector<Json> rows;
  for (std::size_t i = 0; i < values.size(); ++i) rows.push_back(judged(static_cast<double>(i + 1), values[i], 0));
  const Ledger ledger = ledger_of({claim}, {run_of(rows, rejected_control)});
  CHECK(ledger.decisions.front().family.comparisons > 0);
  return ledger.decisions.front().findings.front().state;
}

}  // namespace

TEST_CASE("a trend holds if the ends differ beyond chance and no step goes back, and is else rejected or undecided") {
  const Claim rises = asking(Question::rises), falls = asking(Question::falls);
  CHECK(asked_of(rises, {1, 2, 3}) == State::holds);
  CHECK(asked_of(falls, {1, 2, 3}) == State::rejected);
  CHECK(asked_of(rises, {1, 1.01, 1.02}) == State::undecided);
  CHECK(asked_of(rises, {1, 2.01, 2}) == State::holds);  // back by less than chance
  CHECK(asked_of(rises, {1, 3, 2}) == State::rejected);  // the ends rise, a step falls
  CHECK(asked_of(falls, {3, 2, 1}) == State::holds);
}

TEST_CASE("an order, a number and a constant are asked of every row") {
  CHECK(asked_of(asking(Question::above, 1), {2, 3, 4}) == State::holds);
  CHECK(asked_of(asking(Question::above, 1), {2, 1.005, 4}) == State::undecided);
  CHECK(asked_of(asking(Question::above, 1), {2, 0.5, 4}) == State::rejected);
  CHECK(asked_of(asking(Question::below, 1), {0.5, 0.2}) == State::holds);
  CHECK(asked_of(asking(Question::below, 1), {0.5, 1.2}) == State::rejected);
  CHECK(asked_of(asking(Question::equals, 1), {1.01}) == State::holds);
  CHECK(asked_of(asking(Question::equals, 1), {1.1}) == State::rejected);
  Claim printed = asking(Question::equals, 1);
  printed.groups[0].tolerance = 0.1;
  CHECK(asked_of(printed, {1.1}) == State::holds);
  CHECK(asked_of(asking(Question::steady, 1.5), {1, 1.1, 0.9}) == State::holds);
  CHECK(asked_of(asking(Question::steady, 1.05), {1, 1.04}) == State::undecided);
  CHECK(asked_of(asking(Question::steady, 1.5), {1, 2}) == State::rejected);
}

TEST_CASE("rows are compared with rows at the same place, by the sum of their errors") {
  const auto rows = [](double one, double other) {
    std::vector<Json> all;
    for (const double x : {1.0, 2.0}) {
      for (const bool first : {true, false}) {
        Json row = judged(x, first ? one : other, 0);
        row["map"] = first ? "one" : "other";
        all.push_back({{"map", row["map"]}});
        all.back().update(row);
      }
    }
    return all;
  };
  Claim claim = asking(Question::above);
  claim.groups[0].than.reset();
  claim.groups[0].rows.where = {{"map", "one"}};
  claim.groups[0].than_rows = {{"map", "other"}};
  const auto finding = [&](double one, double other) {
    return ledger_of({claim}, {run_of(rows(one, other), rejected_control)}).decisions.front().findings.front();
  };
  CHECK(finding(2, 1).state == State::holds);
  CHECK(finding(1, 2).state == State::rejected);
  CHECK(finding(2, 1).largest_z == Approx(1 / 0.02));
  CHECK(finding(2, 1).text == part("closest at x 1: 2 ± 0.01 against 1 ± 0.01"));
  claim.groups[0].factor = 3;
  CHECK(finding(2, 1).state == State::rejected);
  claim.groups[0].factor = 1;
  claim.groups[0].than_column = "theory";  // of the other row, not of the same
  CHECK(finding(2, 1).text == part("closest at x 1: 2 ± 0.01 against 1"));
  CHECK(finding(2, 1).text.find("against 1 ±") == std::string::npos);
  claim.groups[0].than_column = "";
  claim.groups[0].over = {{"map", "other"}};
  claim.groups[0].than_rows = {};
  claim.groups[0].than = 1.8;
  CHECK(finding(2, 1).state == State::holds);
  claim.groups[0].over = {{"map", "nobody"}};
  CHECK(finding(2, 1).missing == part("0 rows to compare with at x = 1"));
  CHECK(finding(2, 1).state == State::undecided);  // what is missing does not hold
  claim.groups[0].over = {};
  claim.groups[0].rows.where = {{"map", "nobody"}};
  CHECK(finding(2, 1).missing == part("', map nobody has a finite "));
  CHECK(finding(2, 1).state == State::undecided);
}

TEST_CASE("computed numbers have no error: their order is exact") {
  const auto state = [](double value) {
    Claim claim = asking(Question::above, 0.5);
    claim.groups[0].value = "weight";
    claim.groups[0].error.clear();
    const Json row{{"x", 1.0}, {"weight", value}};
    return ledger_of({claim}, {run_of({row}, rejected_control)}).decisions.front().findings.front();
  };
  CHECK(state(0.5 + 1e-12).state == State::holds);
  CHECK(state(0.5).state == State::rejected);
  CHECK(state(0.4).exact);
}

TEST_CASE("a claim has its own family, and the same verdict alone and beside others") {
  Claim claim = claim_of();
  claim.groups[0].rows.where = {{"x", "1"}};
  const Run run = run_of({judged(1, 1, 4), judged(2, 2, 0), judged(4, 3, 0)}, rejected_control);
  const Ledger alone = ledger_of({claim}, {run});
  CHECK(alone.decisions.front().findings.front().state == State::rejected);
  CHECK(alone.of_no_claim.members == 2);
  CHECK(family_text(alone) ==
        part("Here these are 1 rows and 0 comparisons. The same figures have 2 rows that no claim names"));
  std::vector<Claim> many(50, claim_of());
  many.push_back(claim);
  const Ledger beside = ledger_of(many, {run});
  CHECK(beside.decisions.back().outcome == alone.decisions.front().outcome);
  CHECK(beside.decisions.back().findings.front().state == State::rejected);
  CHECK(beside.decisions.back().family.bound == alone.decisions.front().family.bound);
  CHECK(beside.decisions.front().findings.front().state == State::holds);  // 4 is not enough among three
}

TEST_CASE("rows hold if a deviation of 5% would have been seen, or of what the claim says") {
  Claim claim = claim_of();
  claim.groups[0].resolution = RowGroup().resolution;
  const auto finding = [&](double theory) {
    return ledger_of({claim}, {run_of({judged(1, theory, 0.5)}, rejected_control)}).decisions.front().findings.front();
  };
  CHECK(finding(1).state == State::undecided);  // 6.2% would be seen
  CHECK(finding(1).text == part("6.2% off would be seen, where 5% are asked for"));
  CHECK(finding(2).state == State::holds);
  claim.groups[0].resolution = 0.01;
  CHECK(finding(2).state == State::undecided);
  CHECK(finding(8).state == State::holds);
  claim = asking(Question::equals, 1);
  claim.groups[0].resolution = RowGroup().resolution;
  CHECK(finding(1).state == State::undecided);
  CHECK(finding(1.5).state == State::rejected);
}

TEST_CASE("a threshold of ours says what others would") {
  Claim claim = asking(Question::above, 1);
  claim.groups[0].thresholds = {0.5, 1.5};
  const Ledger ledger = ledger_of({claim}, {run_of({judged(1, 1.2, 0)}, rejected_control)});
  CHECK(ledger.decisions.front().findings.front().state == State::holds);
  CHECK(ledger.decisions.front().findings.front().text == part(", with 0.5 it holds, with 1.5 it does not hold"));
  CHECK(ledger.decisions.front().family.comparisons == 1);  // that of the claim alone
}

TEST_CASE("every row reversed alone changes the verdict, and one that decides nothing is found") {
  const auto outcomes = [](const Claim& claim, const std::vector<Json>& rows) {
    std::vector<std::string> found;
    const std::vector<Run> run{run_of(rows, rejected_control)};
    for (const Mutant& one : mutants_of(with_another_seed(ledger_of({claim}, run), run))) {
      found.push_back(word_of(one.outcome) + (one.changed ? "" : " still"));
    }
    return found;
  };
  using Words = std::vector<std::string>;
  CHECK(outcomes(claim_of(), right) == Words{"contradicted", "undecided"});
  CHECK(outcomes(asking(Question::rises), right) == Words{"contradicted", "undecided"});
  CHECK(outcomes(asking(Question::above, 0.5), right) == Words{"contradicted", "undecided"});
  CHECK(outcomes(asking(Question::equals, 1), {judged(1, 1, 0)}) == Words{"contradicted", "undecided"});
  CHECK(outcomes(asking(Question::steady, 1.5), {judged(1, 1, 0), judged(2, 1.1, 0)}) ==
        Words{"contradicted", "undecided"});
  Claim in_a_regime = asking(Question::above, 1.5);
  in_a_regime.groups.insert(in_a_regime.groups.begin(), in_a_regime.groups.front());
  in_a_regime.groups[0].regime = "small x", in_a_regime.groups[0].to = 1;
  in_a_regime.groups[1].regime = "large x", in_a_regime.groups[1].from = 2;
  CHECK(outcomes(in_a_regime, right) == Words{"confirmed", "contradicted", "undecided"});
  Claim wrong = asking(Question::above, 5);  // of one that does not hold all rows together
  CHECK(outcomes(wrong, right) == Words{"confirmed"});
  Claim lenient = claim_of();
  lenient.scale = Scale::trained;
  CHECK(outcomes(lenient, right) == Words{"not reproduced in a small model", "undecided"});
  Claim idle = claim_of();  // a second near miss group is no second near miss: each must be rejected
  idle.groups.push_back(idle.groups.back());
  CHECK(outcomes(idle, right) == Words{"contradicted", "undecided", "undecided"});
}

TEST_CASE("replies stand with their claim") {
  Claim claim = claim_of();
  claim.replies = {{"A. N. Author", "2027-01-31", "What we meant is this."}};
  const Table table = claims_table(ledger_of({claim}, {run_of(right, rejected_control)}), papers);
  CHECK(render_json({.program = "incontext verify", .tables = {table}}) ==
        part("A. N. Author (2027-01-31): What we meant is this."));
}

TEST_CASE("a claim that nothing tries is neither agreement nor without its reason") {
  Claim claim = claim_of();
  claim.groups.clear();
  claim.out_of_reach = "needs released models";
  const Ledger ledger = ledger_of({claim}, {});
  CHECK(verdict_of(ledger).agrees == std::nullopt);
  CHECK(verdict_of(ledger).text == part("nothing was tried"));
  CHECK(claims_table(ledger, papers).notes.back() == "test/claim, out of reach: needs released models.");
}

TEST_CASE("the page is one file, has the report in full, and no text of a paper is HTML") {
  Claim claim = claim_of();
  claim.quote = "If a < b, \"then\" </script><script>alert(1)</script>";
  claim.formula = "a < b";
  const Ledger ledger = ledger_of({claim}, {run_of(right, rejected_control)});
  verify::Registry registry = papers;
  registry.claims = {claim};
  Report report{.program = "incontext verify", .command = "incontext verify --page x.html"};
  report.tables = {claims_table(ledger, registry), groups_table(ledger), rows_table(ledger), runs_table(ledger),
                   mutants_table(ledger, mutants_of(ledger))};
  report.verdict = verdict_of(ledger);
  const std::string html = page_of(report, registry);
  CHECK(html.find("alert(1)</script>") == std::string::npos);
  CHECK(html.find("http://") == html.find("http://www.w3.org/2000/svg"));
  CHECK(html.find("https://") == std::string::npos);
  const std::string before = "<script type=\"application/json\" id=\"ledger\">";
  const std::size_t begin = html.find(before) + before.size();
  const Json data = Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
  CHECK(data["report"] == Json::parse(render_json(report)));
  CHECK(data["report"]["tables"][0]["rows"][0]["quote"] == claim.quote);
  CHECK(data["papers"][0]["title"] == "A paper");
  CHECK(data["formulas"]["test/claim"] == "a < b");
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

/// A report's arguments but for the seed, what a run is not changed by, and the methods, of which a second recording
/// may leave out those that no rule asks about again.
Json without_seed(Json arguments) {
  for (const char* name : {"seed", "output", "threads", "methods"}) arguments.erase(name);
  return arguments;
}

}  // namespace

TEST_CASE("the claims' files: all that they name exists, and every run is of a claim") {
  const std::filesystem::path root = INCONTEXT_SOURCES;
  const verify::Registry registry = read_claims(built_in_claims());
  CHECK(registry.papers.size() == 5);
  std::set<std::string> used;
  for (const Command& command : registry.commands) {
    CAPTURE(command.name);
    for (const std::string& line : {command.quick, command.full}) {
      CHECK((line.empty() || line.starts_with("incontext ")));
      CHECK((line.empty() || line.find("--seed ") == std::string::npos));
    }
    if (!command.recorded.empty()) CHECK(recorded_report(command.recorded) == part("\"tables\""));
    if (!command.recorded_again.empty()) {
      const Json once = Json::parse(recorded_report(command.recorded));
      const Json again = Json::parse(recorded_report(command.recorded_again));
      CHECK(once["program"] == again["program"]);
      CHECK(without_seed(once["arguments"]) == without_seed(again["arguments"]));
      CHECK(once["arguments"]["seed"] != again["arguments"]["seed"]);
    }
  }
  for (const Claim& claim : registry.claims) {
    CAPTURE(claim.id);
    for (const std::string& header : claim.headers) CHECK(std::filesystem::exists(root / header));
    if (!claim.simulator.empty()) CHECK(std::filesystem::exists(root / claim.simulator));
    if (!claim.docs.empty()) {
      const std::size_t hash = claim.docs.find('#');
      REQUIRE(hash != std::string::npos);
      CHECK(anchors_of(root / claim.docs.substr(0, hash)).count(claim.docs.substr(hash + 1)) == 1);
    }
    for (const std::string& run : claim.runs()) used.insert(run);
  }
  CHECK(used.size() == registry.commands.size());
}

TEST_CASE("commands take the ledger's seed where they draw") {
  const Command tasks{.name = "a", .quick = "incontext tasks"},
      scores{.name = "b", .quick = "incontext scores --figure prompt"};
  CHECK(words_of(tasks, Edition::quick, 7) == std::vector<std::string>{"incontext", "tasks", "--seed", "7"});
  CHECK(words_of(scores, Edition::full, 7).back() == "prompt");
  const Command both{"a", "quick line", "full line"}, late{"c", "", "full line"};
  CHECK(line_of(both, Edition::full) == "full line");
  CHECK(line_of(both, Edition::quick) == "quick line");
  CHECK(line_of(scores, Edition::full) == scores.quick);
  CHECK(line_of(late, Edition::quick).empty());
}

}  // namespace ledger_test
