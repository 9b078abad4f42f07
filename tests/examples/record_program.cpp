#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "run_program.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace record_program_test {

using namespace incontext;
using namespace incontext::testing;
using Arguments = std::vector<std::string>;

namespace {

Finished run(const Arguments& more, const std::string& dimension = "3") {
  Arguments all{"--dimension", dimension, "--context-length", "5", "--relative-error", "0.01", "--format", "json"};
  all.insert(all.end(), more.begin(), more.end());
  return run_program(INCONTEXT_SOFTMAX_ERROR, all);
}

nlohmann::json tables_of(const Finished& finished) { return nlohmann::json::parse(finished.output)["tables"]; }

}  // namespace

TEST_CASE("parts of a program's run, united, and a resumed run print the tables of one run", "[programs][record]") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name) { return folder.file(name); };
  const nlohmann::json expected = tables_of(run({}));
  for (const std::string part : {"1", "2", "3"}) {
    const Finished finished = run({"--part", part + "/3", "--checkpoint", file(part), "--device", "serial"});
    CAPTURE(finished.errors);
    CHECK(finished.exit_code == 0);
    CHECK(finished.output == "Part " + part + "/3 is in " + file(part) + "\n");
  }
  CHECK(run_program(INCONTEXT_MERGE, {file("3"), file("1"), file("2"), "--output", file("whole")}).exit_code == 0);
  CHECK(tables_of(run({"--resume", file("whole")})) == expected);
  CHECK(tables_of(run({"--checkpoint", file("kept")})) == expected);
  CHECK(tables_of(run({"--resume", file("kept")})) == expected);

  const auto refused = [](const Finished& finished) {
    CHECK(finished.exit_code == 2);
    return finished.errors;
  };
  const auto merged = [&](Arguments files) {
    files.insert(files.end(), {"--output", file("other")});
    return refused(run_program(INCONTEXT_MERGE, files));
  };
  CHECK(names(merged({file("1"), file("3")}), "a part is missing", "2"));
  CHECK(names(merged({file("1"), file("2"), file("2")}), "part 2/3", "given twice"));
  CHECK(names(merged({file("1"), folder.write("text", "3")}), "is not a record", "text"));
  CHECK(names(refused(run({"--resume", file("whole")}, "4")), "--dimension differs", "4", "3"));
  CHECK(names(refused(run({"--checkpoint", file("1")})), "--checkpoint: exists already"));
  CHECK(names(refused(run({"--part", "1/3"})), "--part", "--checkpoint FILE"));
  for (const std::string wrong : {"0/3", "4/3", "1/0", "2", "1/2/3", "1/1000001"}) {
    CHECK(names(refused(run({"--part", wrong, "--checkpoint", file("new")})), "--part"));
  }
}

}  // namespace record_program_test
