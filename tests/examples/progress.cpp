#include "examples/support/progress.hpp"

#include <cstdio>
#include <string>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"

namespace progress_test {

namespace {

using incontext::examples::ProgressLine;
using incontext::testing::part;

/// The text that a progress line writes during `action`.
template <class Use>
std::string written(bool quiet, bool terminal, const Use& use) {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    ProgressLine line(quiet, terminal, file);
    use(line);
  }
  std::string text(static_cast<std::size_t>(std::ftell(file)), ' ');
  std::rewind(file);
  const std::size_t read = std::fread(text.data(), 1, text.size(), file);
  std::fclose(file);
  return text.substr(0, read);
}

}  // namespace

TEST_CASE("a batch job prints one line about a simulation of more than a minute, and none about shorter ones") {
  const std::string text = written(false, false, [](ProgressLine& line) {
    line.show("short", 0, 1000, 0);
    line.show("short", 500, 1000, 29);
    line.clear();
    line.show("long", 0, 1000, 0);
    line.show("long", 10, 1000, 3);
    line.show("long", 20, 1000, 6);
    line.clear();
  });
  CHECK(text == "long: 1000 trials, which take about 5 min\n");
}

TEST_CASE("a batch job prints a line if nothing is finished after a minute") {
  const std::string text = written(false, false, [](ProgressLine& line) { line.show("slow", 0, 10, 61); });
  CHECK(text == "slow: nothing is finished after 61 s\n");
}

TEST_CASE("the line on a terminal is removed at the end of the run") {
  const std::string text = written(false, true, [](ProgressLine& line) {
    line.show("run", 0, 100, 0);
    line.show("run", 0, 100, 5);
    line.show("run", 50, 100, 10);
    line.clear();
  });
  CHECK(text == part("run: 5 s so far (Ctrl-C: stop)"));
  CHECK(text == part("run: 50%, 10 s left (Ctrl-C: stop and show what was reached)"));
  CHECK(text.substr(text.size() - 4) == "\r\033[K");
}

TEST_CASE("trials of a record take no time: the rate is that of the trials since") {
  const std::string line_left = written(false, true, [](ProgressLine& line) {
    line.show("resumed", 900, 1000, 0);
    line.show("resumed", 950, 1000, 10);
  });
  CHECK(line_left == part("resumed: 95%, 10 s left"));
  const std::string told = written(false, false, [](ProgressLine& line) {
    line.show("resumed", 400, 1000, 0);
    line.show("resumed", 500, 1000, 60);
  });
  CHECK(told == "resumed: 600 trials, which take about 6 min\n");
}

TEST_CASE("the time left is told in the units that people count in") {
  const auto words = [](double left) {
    return written(false, true, [left](ProgressLine& line) {
      line.show("run", 1, 3, left / 3);
      line.show("run", 2, 3, left / 3 + left);
    });
  };
  CHECK(words(45) == part("67%, 45 s left"));
  CHECK(words(119) == part(", 119 s left"));
  CHECK(words(754) == part(", 12 min left"));
  CHECK(words(4139) == part(", 1 h 8 min left"));
  CHECK(words(2 * 86400 + 3 * 3600) == part(", 2 d 3 h left"));
}

TEST_CASE("a quiet run prints no progress") {
  CHECK(written(true, true, [](ProgressLine& line) { line.show("run", 1, 100, 100); }).empty());
  CHECK(written(true, false, [](ProgressLine& line) { line.show("run", 1, 100, 100); }).empty());
}

}  // namespace progress_test
