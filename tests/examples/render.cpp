#include "examples/support/render.hpp"

#include <cmath>
#include <sstream>
#include <string>

#include "examples/support/report.hpp"
#include "examples/support/version.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using incontext::testing::part;

namespace {

Report small_report() {
  Table table{.title = "A title",
              .columns = {{"name"},
                          {.name = "theory", .decimals_as = 1},
                          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                          {.name = "count"}}};
  table.add_row({"one, \"two\"", 12.3456789, 0.0004, std::int64_t{7}});
  table.add_row({"three", std::monostate{}, INFINITY, std::int64_t{12345}});
  table.notes = {"a note"};
  return {.program = "program",
          .command = "program --seed 1",
          .arguments = {{"seed", 1}},
          .tables = {table},
          .verdict = Verdict{.agrees = true, .text = "agreement", .details = {{"bound", 4.5}}},
          .run = {.trials = 4096, .seconds = 1.5, .device = "openmp", .threads = 2, .instructions = "AVX2", .seed = 1}};
}

/// The cells that end every row of the report's CSV.
std::string run_cells(const std::string& complete = "true") {
  return "program --seed 1," + complete + (complete == "true" ? ",0" : ",3") + ",4096,1.5,openmp,2,AVX2,1," +
         version() + "," + commit() + "\n";
}

TEST_CASE("a table that is wider than the terminal is shown in blocks that repeat the columns that name a row") {
  Table table{.title = "t",
              .columns = {{"map"},
                          {.name = "n"},
                          {.name = "first", .decimals_as = 1},
                          {.name = "second", .decimals_as = 1},
                          {.name = "third", .decimals_as = 1}},
              .notes = {"a note of several words, which end where the terminal does"}};
  table.add_row({"softmax", std::int64_t{7}, 0.25, 0.5, 0.75});
  table.add_row({"SSMax", std::int64_t{8}, 1.25, 1.5, 1.75});
  CHECK(render_table(table, {.words = 30, .tables = 32}) ==
        "t\n\n"
        "  map      n    first   second\n"
        "  -------  -  -------  -------\n"
        "  softmax  7  0.25000  0.50000\n"
        "  SSMax    8  1.25000  1.50000\n\n"
        "  map      n    third\n"
        "  -------  -  -------\n"
        "  softmax  7  0.75000\n"
        "  SSMax    8  1.75000\n\n"
        "  a note of several words,\n    which end where the\n    terminal does\n");
  // Elsewhere a row is one line, and no width makes a table lose a column.
  CHECK(render_table(table, {.words = 100, .tables = 41}) == render_table(table));
  for (std::size_t width = 1; width < 41; ++width) {
    const std::string text = render_table(table, {.words = 100, .tables = width});
    for (const char* word : {"first", "second", "third", "1.75000"}) CHECK(text == part(word));
  }
}

TEST_CASE("tables have short names of their own, in CSV and JSON") {
  std::vector<Table> tables{{.title = "Figure 2a: error, d = 20", .columns = {{"a"}}},
                            {.title = "Mamba's best, or not", .columns = {{"a"}}},
                            {.name = "errors", .title = "A sentence", .columns = {{"b"}}},
                            {.name = "errors", .title = "Another", .columns = {{"b"}}}};
  CHECK(table_names(tables) == std::vector<std::string>{"figure_2a", "mambas_best", "errors", "errors_2"});
  Report report{.program = "p", .tables = tables};
  for (Table& table : report.tables) table.add_row({1.0});
  CHECK(render_csv(report) == part("\nfigure_2a,1,"));
  CHECK(render_csv(report) == part("\nerrors_2,,1,"));
  const auto document = nlohmann::json::parse(render_json(report));
  CHECK(document["tables"][3]["name"] == "errors_2");
  CHECK(document["tables"][3]["title"] == "Another");
}

}  // namespace

TEST_CASE("the text table aligns numbers, errors show the decimals of their number", "[render]") {
  CHECK(render_text(small_report()) ==
        "A title\n"
        "\n"
        "  name         theory  ± error  count\n"
        "  ----------  -------  -------  -----\n"
        "  one, \"two\"  12.3457   0.0004      7\n"
        "  three                    inf  12345\n"
        "\n"
        "  a note\n"
        "\n"
        "agreement\n");
}

TEST_CASE("no line of text is wider than the terminal where words can be broken", "[render]") {
  Report report = small_report();
  for (int i = 0; i < 60; ++i) report.tables[0].notes[0] += " word" + std::to_string(i);
  report.verdict->text = report.tables[0].notes[0];
  std::istringstream lines(render_text(report));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) CHECK(detail::screen_width(line) <= usual_width);
  CHECK(count > 12);
}

TEST_CASE("the JSON holds every digit, words for what JSON cannot hold, null for what is absent", "[render]") {
  const auto json = nlohmann::json::parse(render_json(small_report()));
  CHECK(json["program"] == "program");
  CHECK(json["arguments"]["seed"] == 1);
  CHECK(json["version"].is_string());
  const auto& table = json["tables"][0];
  CHECK(table["columns"][1]["name"] == "theory");
  CHECK(table["rows"][0]["theory"] == 12.3456789);
  CHECK(table["rows"][1]["theory"].is_null());
  CHECK(table["rows"][1]["standard_error"].is_null());
  CHECK(table["rows"][1]["count"] == 12345);
  CHECK(table["notes"][0] == "a note");
  CHECK(json["verdict"]["agrees"] == true);
  CHECK(json["verdict"]["bound"] == 4.5);
}

TEST_CASE("the JSON report has the record of its run", "[render]") {
  Report report = small_report();
  const auto json = nlohmann::json::parse(render_json(report));
  CHECK(json["complete"] == true);
  CHECK(json["exit_code"] == 0);
  CHECK(json["trials"] == 4096);
  CHECK(json["seconds"] == 1.5);
  CHECK(json["device"] == "openmp");
  CHECK(json["threads"] == 2);
  CHECK(json["instructions"] == "AVX2");
  CHECK(json["seed"] == 1);
  CHECK(json["command"] == "program --seed 1");
  CHECK(json["commit"] == commit());
  report.run = {.complete = false};
  report.verdict->agrees.reset();
  const auto stopped = nlohmann::json::parse(render_json(report));
  CHECK(stopped["complete"] == false);
  CHECK(stopped["exit_code"] == 3);
  for (const char* key : {"trials", "device", "threads", "instructions", "seed"}) CHECK(stopped[key].is_null());
  CHECK(stopped["verdict"]["agrees"].is_null());
  report.verdict.reset();
  CHECK(nlohmann::json::parse(render_json(report))["verdict"].is_null());
}

TEST_CASE("what is for the audit is in CSV and JSON, and in text where the report asks for it", "[render]") {
  Report report = small_report();
  report.tables[0].columns[2].in_text = InText::audit;  // shown still: one row has this number in place of a theory
  report.tables[0].columns[3].in_text = InText::audit;
  report.tables[0].audit_notes = {"a remark on the draws"};
  report.tables.push_back({.title = "Controls", .columns = {{"statement"}}, .rows = {{"wrong"}}, .audit = true});
  const std::string answer = render_text(report);
  CHECK(answer == part("a note"));
  CHECK(answer == part("± error"));
  for (const char* words : {"count", "a remark on the draws", "Controls"}) {
    CAPTURE(words);
    CHECK_FALSE(answer == part(words));
    report.audit = true;
    CHECK(render_text(report) == part(words));
    report.audit = false;
  }
  CHECK(render_csv(report) == part("controls,,,,,wrong,"));
  const auto json = nlohmann::json::parse(render_json(report));
  CHECK(json["tables"][0]["rows"][0]["standard_error"] == 0.0004);
  CHECK(json["tables"][0]["notes"] == nlohmann::json{"a note", "a remark on the draws"});
  CHECK(json["tables"][1]["rows"][0]["statement"] == "wrong");
}

TEST_CASE("the text table leaves out columns for CSV and JSON only, and columns without a cell", "[render]") {
  Table table{.title = "t",
              .columns = {{"name"},
                          {.name = "approximate", .decimals_as = 1, .in_text = InText::where_filled},
                          {.name = "number", .decimals_as = 1},
                          {.name = "reason", .in_text = InText::hidden}}};
  table.add_row({"one", Cell(), 0.25, "because"});
  CHECK(render_table(table) == "t\n\n  name   number\n  ----  -------\n  one   0.25000\n");
  table.add_row({"two", 0.5, Cell(), Cell()});
  CHECK(render_table(table) == part("approximate"));
  CHECK_FALSE(render_table(table) == part("because"));
  const std::string csv = render_csv({.program = "p", .tables = {table}});
  CHECK(csv == part("name,approximate,number,reason,command,complete,exit_code,"));
  CHECK(csv == part("one,,0.25,because,"));
}

TEST_CASE("one CSV holds several tables: the union of the columns and the tables' names", "[render]") {
  const std::string run_names =
      "command,complete,exit_code,run_trials,seconds,device,threads,instructions,seed,version,commit";
  Report report = small_report();
  CHECK(render_csv(report) == "name,theory,standard_error,count," + run_names + "\n" +
                                  "\"one, \"\"two\"\"\",12.3456789,4e-04,7," + run_cells() + "three,,inf,12345," +
                                  run_cells());
  Table other{.title = "Other", .columns = {{"count"}, {"extra"}}};
  other.add_row({std::int64_t{1}, "1.5, \"x\""});
  other.add_row({std::int64_t{2}, std::nan("")});
  report.tables.push_back(other);
  report.run.complete = false;
  CHECK(render_csv(report) == "table,name,theory,standard_error,count,extra," + run_names + "\n" +
                                  "a_title,\"one, \"\"two\"\"\",12.3456789,4e-04,7,," + run_cells("false") +
                                  "a_title,three,,inf,12345,," + run_cells("false") + "other,,,,1,\"1.5, \"\"x\"\"\"," +
                                  run_cells("false") + "other,,,,2,," + run_cells("false"));
}

TEST_CASE("a row with another number of cells than columns is a programming error", "[render]") {
  Table table{.title = "t", .columns = {{"a"}, {"b"}}};
  CHECK_THROWS_AS(table.add_row({1.0}), std::logic_error);
}

TEST_CASE("numbers too small for their column keep their size by an exponent", "[render]") {
  CHECK(detail::shown_number(3e-9, Style::aligned, 5, 6) == "3.000e-09");
  CHECK(detail::shown_number(0, Style::aligned, 5, 6) == "0.00000");
  CHECK(detail::shown_number(-INFINITY, Style::aligned, 5, 6) == "-inf");
  CHECK(detail::shown_number(std::nan(""), Style::aligned, 5, 6) == "nan");
  CHECK(detail::shown_number(0.25, Style::shortest, 5, 4) == "0.25");
  CHECK(detail::shown_number(-2e-3, Style::two_decimals, 5, 4) == "-0.00");
}

TEST_CASE("the text of --help fits the width, and commands to copy stay whole") {
  const std::string help =
      "What a program\ndoes. And more.\n\nOptions:\n  --of N=1    how many of them\n"
      "  --a-longer-name N\n              words that go on and on\n\nExamples:\n  incontext temperature --figure 2a\n";
  CHECK(wrapped_help(help, 14, 100) == help);
  CHECK(wrapped_help(help, 14, 24) ==
        "What a program\ndoes. And more.\n\nOptions:\n  --of N=1    how many\n              of them\n"
        "  --a-longer-name N\n              words that\n              go on and\n              on\n\nExamples:\n"
        "  incontext temperature --figure 2a\n");
  CHECK(wrapped_help("  --figure b  x < 0: the other one\n  a command of the same width that is copied\n", 30, 24) ==
        "  --figure b  x < 0: the\n              other one\n  a command of the same width that is copied\n");
  CHECK(wrapped_help("  --ab FILE its name leaves one blank\n", 12, 24) ==
        "  --ab FILE its name\n            leaves one\n            blank\n");
  const std::string without_description = "  --ab" + std::string(30, ' ') + '\n';
  CHECK(wrapped_help(without_description, 12, 24) == without_description);
  CHECK(wrapped_help("              word    said of it in words\n", 14, 36) ==
        "              word    said of it in\n                      words\n");
  CHECK(wrapped_help("  --figure b  the first of two lines,\n              and the second\n", 14, 30) ==
        "  --figure b  the first of two\n              lines, and the\n              second\n");
  CHECK(wrapped_help("a sentence of words,\nand more of it\nalone.\n", 14, 16) ==
        "a sentence of\nwords, and more\nof it alone.\n");
}
