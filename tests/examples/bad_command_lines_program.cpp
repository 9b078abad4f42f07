// The messages of every subcommand for command lines that it refuses; both are listed in bad_command_lines.txt.

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/run_program.hpp"

namespace bad_command_lines_program_test {

using namespace incontext::testing;

namespace {

/// The parts of a line between " | "; the last one holds the rest.
std::vector<std::string> parts_of(const std::string& line, std::size_t most) {
  const std::string mark = " | ";
  std::vector<std::string> parts;
  std::size_t at = 0;
  while (parts.size() + 1 < most && line.find(mark, at) != std::string::npos) {
    const std::size_t end = line.find(mark, at);
    parts.push_back(line.substr(at, end - at));
    at = end + mark.size();
  }
  parts.push_back(line.substr(at));
  return parts;
}

/// Replaces \n, \t, \\ and \xHH as C does.
std::string unescaped(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      bytes += text[i];
    } else if (text[++i] == 'x') {
      bytes += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      bytes += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
  }
  return bytes;
}

std::map<std::string, std::string> contents_of(const TemporaryFolder& folder) {
  std::map<std::string, std::string> contents;
  for (const std::string& name : folder.names()) contents[name] = content_of(folder.file(name));
  return contents;
}

}  // namespace

TEST_CASE("every bad command line is refused in one line by exit code 2, and writes nothing", "[bad-input]") {
  const TemporaryFolder folder;
  std::ifstream script(std::string(INCONTEXT_SOURCE_DIR) + "/tests/examples/bad_command_lines.txt");
  std::map<std::string, int> runs;
  for (std::string line; std::getline(script, line);) {
    if (line.empty() || line.front() == '#') continue;
    CAPTURE(line);
    if (line.starts_with("file ")) {
      const auto parts = parts_of(line.substr(5), 2);
      REQUIRE(parts.size() == 2);
      folder.write(parts[0], unescaped(parts[1]));
      if (parts[0] == "read_only") REQUIRE(::chmod(folder.file(parts[0]).c_str(), 0444) == 0);
      continue;
    }
    const auto parts = parts_of(line, 4);
    REQUIRE(parts.size() == 4);
    const auto before = contents_of(folder);
    const Finished finished =
        run_command("cd " + shell_quoted(folder.file("")) + " && " + in_shell(parts[1]) + " " + parts[2]);
    CAPTURE(finished.errors);
    CHECK(finished.exit_code == std::stoi(parts[0]));
    CHECK(finished.output.empty());
    CHECK(finished.errors.starts_with("incontext " + parts[1] + ": "));
    CHECK(finished.errors == part(parts[3]));
    CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
    CHECK(finished.errors.size() < 1000);
    CHECK(contents_of(folder) == before);
    ++runs[parts[1]];
  }
  for (const std::string& name : all_subcommands()) {
    CAPTURE(name);
    CHECK(runs[name] >= 3);
  }
}

}  // namespace bad_command_lines_program_test
