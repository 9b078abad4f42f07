// The response of the programs to input that cannot be used: exit code 2, one line that names the parameter and its
// value, nothing on standard output, no file written. Command lines are in bad_command_lines.txt; what happens to outputs
// is here.

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/run_program.hpp"

namespace bad_input_program_test {

using namespace incontext::testing;

TEST_CASE("an output that cannot be written is refused before the run", "[bad-input]") {
  const TemporaryFolder folder;
  for (const std::string& output : {folder.file("missing/report"), folder.file(".")}) {
    const Finished finished = run_program("temperature", {"--output", output});
    CHECK(finished.exit_code == 2);
    CHECK(finished.errors == part("--output: cannot be written"));
    CHECK(finished.errors == part("(value = " + output + ";"));
    CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
    CHECK(finished.output.empty());
    CHECK(folder.names().empty());
  }
}

TEST_CASE("a refused run leaves an older output as it was", "[bad-input]") {
  const TemporaryFolder folder;
  const std::string output = folder.write("report.json", "older");
  CHECK(run_program("temperature", {"--trials", "0", "--output", output}).exit_code == 2);
  CHECK(run_program("temperature", {"--data", folder.file("none"), "--output", output}).exit_code == 2);
  CHECK(content_of(output) == "older");
  CHECK(folder.names() == std::vector<std::string>{"report.json"});
}

}  // namespace bad_input_program_test
