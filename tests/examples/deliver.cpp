#include "examples/support/deliver.hpp"

#include <string>
#include <vector>

#include "examples/support/report.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/temporary_folder.hpp"

namespace deliver_test {

using namespace incontext::examples;
using incontext::testing::content_of;
using incontext::testing::part;
using incontext::testing::TemporaryFolder;

namespace {

Report report_of(bool complete) {
  Table table{.title = "A title", .columns = {{"number"}}};
  table.add_row({1.5});
  return {.program = "program",
          .tables = {table},
          .verdict = Verdict{.agrees = true, .text = "Agreement."},
          .run = {.complete = complete}};
}

OutputOptions to(const std::string& file) { return {.format = Format::json, .file = file, .quiet = true}; }

}  // namespace

TEST_CASE("a stopped run's report replaces an older one only with --replace-by-partial", "[deliver]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("report.json", "older and complete");
  CHECK(deliver(report_of(false), to(file)) == 3);
  CHECK(content_of(file) == "older and complete");
  CHECK(content_of(file + ".partial") == part("\"complete\": false"));
  CHECK(folder.names() == std::vector<std::string>{"report.json", "report.json.partial"});
  OutputOptions replaces = to(file);
  replaces.replace_by_partial = true;
  CHECK(deliver(report_of(false), replaces) == 3);
  CHECK(content_of(file) == part("\"complete\": false"));
  CHECK(deliver(report_of(true), to(file)) == 0);
  CHECK(content_of(file) == part("\"complete\": true"));
}

TEST_CASE("a stopped run's report goes to FILE.partial also if there is no older report", "[deliver]") {
  const TemporaryFolder folder;
  CHECK(deliver(report_of(false), to(folder.file("report.json"))) == 3);
  CHECK(folder.names() == std::vector<std::string>{"report.json.partial"});
}

TEST_CASE("a stopped run's report is written to a device or a pipe directly", "[deliver]") {
  CHECK(deliver(report_of(false), to("/dev/null")) == 3);
}

TEST_CASE("a report says how many seconds it took", "[deliver]") {
  const TemporaryFolder folder;
  Report report = report_of(true);
  report.start -= std::chrono::seconds(5);
  deliver(report, to(folder.file("report.json")));
  const auto json = nlohmann::json::parse(content_of(folder.file("report.json")));
  CHECK(json["seconds"].get<double>() >= 5);
  CHECK(json["seconds"].get<double>() < 60);
}

}  // namespace deliver_test
