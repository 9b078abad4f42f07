#include "examples/support/judgment.hpp"

#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/controls.hpp"
#include "examples/support/deliver.hpp"
#include "examples/support/report.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using incontext::statistics::Estimate;
using incontext::statistics::Theory;
using incontext::testing::part;

namespace judgment_test {

namespace {

/// An estimate that is `deviations` standard errors above 1.
Estimate off_by(double deviations, std::int64_t count = 65536) {
  Estimate estimate;
  estimate.count = count;
  estimate.standard_error = 0.01;
  estimate.mean = 1 + deviations * estimate.standard_error;
  return estimate;
}

/// A table with one key and one comparison per row.
Table table_of(std::vector<std::vector<Cell>> comparisons) {
  Table table{.title = "t", .columns = {{.name = "row"}}};
  for (Column& column : comparison_columns()) table.columns.push_back(column);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    std::vector<Cell> cells{static_cast<std::int64_t>(i + 1)};
    cells.insert(cells.end(), comparisons[i].begin(), comparisons[i].end());
    table.add_row(std::move(cells));
  }
  return table;
}

Verdict verdict_of(const std::vector<Estimate>& estimates, const Theory& theory = 1) {
  Judgment judgment;
  std::vector<std::vector<Cell>> cells;
  for (const Estimate& estimate : estimates) cells.push_back(judgment.judged(theory, estimate));
  std::vector<Table> tables{table_of(std::move(cells))};
  judgment.settle(tables);
  return judgment.verdict();
}

/// A row's cell by its column's name.
Cell cell(const Table& table, std::size_t row, const std::string& name) {
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    if (table.columns[j].name == name) return table.rows.at(row).at(j);
  }
  throw std::logic_error("no column " + name);
}

std::string word(const Table& table, std::size_t row, const std::string& name) {
  return std::get<std::string>(cell(table, row, name));
}

bool absent(const Table& table, std::size_t row, const std::string& name) {
  return std::holds_alternative<std::monostate>(cell(table, row, name));
}

int exit_code(const Verdict& verdict, bool complete = true) {
  return exit_code_of({.program = "p", .verdict = verdict, .run = {.complete = complete}});
}

}  // namespace

TEST_CASE("a row with a tolerance or a bound is judged by it", "[judgment]") {
  Judgment judgment;
  std::vector<Table> tables{table_of(
      {judgment.judged_within(1, 0.05, off_by(8)), judgment.judged_within(1, 0.05, off_by(9)),
       judgment.judged_within(1, 0.02, off_by(3)), judgment.judged_bound(">=", 1, off_by(100), 65536),
       judgment.judged_bound("<=", 1, off_by(100), 65536), judgment.judged_bound(">=", 1, off_by(100, 4), 65536)})};
  judgment.settle(tables);
  const std::vector<std::string> expected{"agrees", "disagrees", "not_judged", "agrees", "disagrees", "not_judged"};
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(word(tables[0], i, "verdict") == expected[i]);
  CHECK(word(tables[0], 2, "reason") == part("cannot tell a deviation of the tolerance, 0.02"));
}

TEST_CASE("agreement up to the family-wise bound, disagreement beyond", "[judgment]") {
  CHECK(verdict_of({off_by(3.2)}).agrees == true);
  CHECK(verdict_of({off_by(3.4)}).agrees == false);  // the bound for one comparison is 3.29
  CHECK(verdict_of({off_by(-3.4)}).agrees == false);
  std::vector<Estimate> twenty(20, off_by(0.5));
  twenty[7] = off_by(3.9);
  CHECK(verdict_of(twenty).agrees == true);  // the bound for twenty comparisons is 4.06
  twenty[7] = off_by(4.2);
  CHECK(verdict_of(twenty).agrees == false);
  CHECK(verdict_of(twenty).details["disagreements"] == 1);
  CHECK(verdict_of(twenty).rows == std::vector<std::string>{"Disagrees: row = 8: theory 1, simulation 1.042 ± 0.01."});
}

TEST_CASE("a theory that is off by more than the resolution is rejected, by less than half of it is not",
          "[judgment]") {
  const std::vector<Estimate> exact(12, off_by(0));
  const double resolution = verdict_of(exact).details["worst_resolution"];
  CHECK_THAT(resolution, Catch::Matchers::WithinRel(0.01 * (3.935 + 1.2816), 1e-3));
  CHECK(verdict_of(exact, 1 + resolution).agrees == false);
  CHECK(verdict_of(exact, 1 + resolution / 2).agrees == true);
}

TEST_CASE("fewer than 1000 trials do not call a theory wrong, because their mean may not be normal", "[judgment]") {
  const Verdict few = verdict_of({off_by(9, 999), off_by(0)});
  CHECK_FALSE(few.agrees.has_value());
  CHECK(exit_code(few) == 3);
  CHECK(few.rows.at(0) ==
        part("Not judged: row = 1: z = 9, but the mean of 999 trials may not be normal: at least 1000"));
  CHECK(verdict_of({off_by(9, 1000), off_by(0)}).agrees == false);
  CHECK(verdict_of({off_by(1, 999)}).agrees == true);
}

TEST_CASE("a mean to which too few trials contribute is not judged, however far off it is", "[judgment]") {
  const auto verdict_with = [](double effective_trials, double deviations) {
    Judgment judgment;
    std::vector<Table> tables{table_of({judgment.judged_if_enough(1, off_by(deviations), effective_trials)})};
    judgment.settle(tables);
    return judgment.verdict();
  };
  CHECK(verdict_with(50, 9).agrees == false);
  CHECK(verdict_with(50, 1).agrees == true);
  for (const double few : {49.9, 3.0, 0.0, double(NAN)}) {
    const Verdict verdict = verdict_with(few, 9);
    CHECK_FALSE(verdict.agrees.has_value());
    CHECK(verdict.rows.at(0) == part("trials contribute to the mean, so its error is unknown: increase --trials"));
  }
  Judgment judgment;
  std::vector<Table> tables{table_of({judgment.judged_if_enough(1, off_by(9), 49, "too few events")})};
  judgment.settle(tables);
  CHECK(judgment.verdict().rows.at(0) == part("too few events"));
}

TEST_CASE("a mean of two to four values is not judged: Student's bound would agree with anything", "[judgment]") {
  const auto of_values = [](double deviations, std::int64_t count) {
    Judgment judgment;
    std::vector<Table> tables{table_of({judgment.judged(1, off_by(deviations, count), 64 * 1024)})};
    judgment.settle(tables);
    return judgment.verdict();
  };
  for (const std::int64_t count : {2, 4}) {
    const Verdict few = of_values(50, count);
    CHECK_FALSE(few.agrees.has_value());
    CHECK(few.rows.at(0) == part("values is hardly known: at least 5"));
  }
  CHECK(of_values(1, 5).agrees == true);
  CHECK(of_values(50, 5).agrees == false);
}

TEST_CASE("the verdict states the median resolution and the worst, and a note for the audit names its row",
          "[judgment]") {
  std::vector<Estimate> rows(5, off_by(0));
  rows[2].standard_error = 0.2;
  const Verdict verdict = verdict_of(rows);
  CHECK(verdict.details["worst_row"] == "row = 3");
  CHECK(verdict.details["worst_resolution"].get<double>() > 19 * verdict.details["median_resolution"].get<double>());
  CHECK(verdict.text == part("a deviation of 5%, in the worst row 100%, would be detected nine times in ten"));
}

TEST_CASE("a comparison that is not finite is not judged, and the family does not agree", "[judgment]") {
  Estimate estimate = off_by(0);
  estimate.non_finite = 1;
  for (const Verdict& verdict : {verdict_of({estimate}), verdict_of({off_by(0)}, std::nan(""))}) {
    CHECK_FALSE(verdict.agrees.has_value());
    CHECK(verdict.text == part("Nothing was judged of 1 comparison"));
    CHECK(exit_code(verdict) == 3);
  }
  const Verdict some = verdict_of({estimate, off_by(0)});
  CHECK_FALSE(some.agrees.has_value());
  CHECK(some.text == part("Incomplete: 1 of 2 comparisons judged, and none disagrees"));
  CHECK(some.rows == std::vector<std::string>{"Not judged: row = 1: 1 of 65537 trials was not finite."});
  CHECK(exit_code(some) == 3);
  CHECK(verdict_of({estimate, off_by(9)}).agrees == false);
}

TEST_CASE("exit codes: a disagreement takes precedence over an incomplete run, and a stopped run never ends with 0",
          "[judgment]") {
  CHECK(exit_code(verdict_of({off_by(0)})) == 0);
  CHECK(exit_code(verdict_of({off_by(9)})) == 1);
  CHECK(exit_code(verdict_of({off_by(0)}), false) == 3);
  CHECK(exit_code(verdict_of({off_by(9)}), false) == 1);
  CHECK(exit_code(Judgment().verdict()) == 3);
  CHECK(exit_code_of({.program = "p"}) == 0);  // there is nothing to judge
  CHECK(exit_code_of({.program = "p", .run = {.complete = false}}) == 3);
}

TEST_CASE("cells of a comparison that was judged, that was not judged with its reason, and beside an approximation",
          "[judgment]") {
  Judgment judgment;
  Estimate coarse = off_by(0);
  coarse.rounding = 0.5;
  std::vector<Table> tables{
      table_of({judgment.judged(1, off_by(1)), judgment.judged(1, coarse),
                judgment.not_judged(1, off_by(0), "rare rows"), judgment.judged(1, {}), Judgment::shown(0.9, off_by(0)),
                Judgment::shown({}, {}), judgment.judged(1, off_by(2), 4096)})};
  CHECK(judgment.size() == 5);
  judgment.settle(tables);
  const Table& table = tables[0];
  CHECK(std::get<double>(cell(table, 0, "z")) == Approx(1));
  CHECK(std::get<std::int64_t>(cell(table, 0, "trials")) == 65536);
  CHECK(word(table, 0, "verdict") == "agrees");
  CHECK(absent(table, 0, "reason"));
  CHECK(absent(table, 0, "approximate"));
  for (const std::size_t row : {1, 2, 3}) {
    CHECK(word(table, row, "verdict") == "not_judged");
    CHECK(absent(table, row, "z"));
  }
  CHECK(word(table, 1, "reason") == "standard error 0.01 is below the rounding of the simulation, 0.5");
  CHECK(word(table, 2, "reason") == "rare rows");
  CHECK(word(table, 3, "reason") == "not reached: the run was stopped early");
  CHECK(absent(table, 3, "simulation"));
  CHECK(std::get<double>(cell(table, 3, "theory")) == 1);
  CHECK(absent(table, 4, "theory"));
  CHECK(std::get<double>(cell(table, 4, "approximate")) == 0.9);
  CHECK(std::get<double>(cell(table, 4, "simulation")) == 1);
  for (const char* name : {"z", "verdict", "reason"}) CHECK(absent(table, 4, name));
  CHECK(word(table, 5, "reason") == "not reached: the run was stopped early");
  CHECK(absent(table, 5, "verdict"));
  CHECK(std::get<std::int64_t>(cell(table, 6, "trials")) == 4096);
  CHECK(table.audit_notes.back() == part("in all of 3 comparisons"));  // the unresolved one is tested, too
  CHECK(judgment.verdict().details["judged"] == 2);
  CHECK(judgment.verdict().details["not_judged"] == 3);
}

TEST_CASE("rows that a table leaves without a simulated value are in its notes, with their reason", "[judgment]") {
  Judgment judgment;
  std::vector<Cell> long_row = Judgment::shown({}, {}), other = long_row;
  long_row.back() = other.back() = "longer than can be drawn";
  std::vector<Table> tables{table_of({judgment.judged(1, off_by(1)), std::move(long_row), Judgment::shown({}, {})})};
  judgment.settle(tables);
  REQUIRE(tables[0].notes.size() == 1);
  REQUIRE(tables[0].audit_notes.size() == 1);
  CHECK(tables[0].audit_notes[0] == part("The row that tells least: row = 1"));
  CHECK(tables[0].notes[0] == "Without a simulated value: row = 2: longer than can be drawn.");
  std::vector<Table> two{table_of({std::vector<Cell>(other), std::move(other)})};
  Judgment().settle(two);
  CHECK(two[0].notes ==
        std::vector<std::string>{"Without a simulated value, 2 rows: longer than can be drawn: row = 1; row = 2."});
}

TEST_CASE("what is said of draws is said where something was drawn", "[judgment]") {
  for (const bool simulated : {true, false}) {
    Judgment judgment;
    Report report{.program = "p", .run = {.simulated = simulated}};
    report.tables = {table_of({judgment.judged(1, off_by(1))})};
    report.tables[0].draw_notes = {"Rows share their draws."};
    judge(report, judgment);
    const std::vector<std::string>& notes = report.tables[0].audit_notes;
    CHECK(std::count(notes.begin(), notes.end(), "Rows share their draws.") == (simulated ? 1 : 0));
  }
}

TEST_CASE("a control that should have been rejected and was not is a disagreement", "[judgment]") {
  const Estimate estimate(incontext::statistics::Moments{.count = 100, .mean = 0.3, .sum_of_squares = 99 * 1e-4});
  std::string said;
  const auto verdict_of = [&](double claimed, double exact) {
    Controls controls;
    controls.add({"limit", std::int64_t{10}, "here"}, claimed, exact, estimate);
    Verdict verdict{.agrees = true, .text = "Agreement."};
    controls.join(verdict);
    said = verdict.text;
    for (const std::string& row : verdict.rows) said += '\n' + row;
    return std::make_pair(verdict.agrees.value(), std::get<std::string>(controls.table().rows.at(0).back()));
  };
  CHECK(verdict_of(0.5, 0.3) == std::make_pair(true, std::string("rejected")));
  CHECK(said == part("1 rejected, as it should be."));
  CHECK(verdict_of(0.3, 0.5) == std::make_pair(false, std::string("NOT REJECTED")));
  CHECK(said == part("\nWrong, and not rejected: limit, n = 10, here."));
  CHECK(verdict_of(0.3, 0.305) == std::make_pair(true, std::string("cannot tell")));
  CHECK(said == "Agreement. Negative controls (--audit): 1 that the run cannot tell from the truth.");
}

}  // namespace judgment_test
