#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

using namespace incontext::testing;
using Json = nlohmann::json;

namespace verify_program_test {

namespace {

const std::string program = "verify";

/// A file of claims that runs one command.
std::string one_claim(const std::string& command) {
  return R"(paper = "p"
arxiv = "0"
title = "A paper"
authors = "Somebody"
text = "all"
[runs]
only = { quick = ")" +
         command + R"(" }
[[claim]]
id = "a"
place = "Fig. 1"
quote = "So it is."
setting = "any"
[[claim.rows]]
says = "So it is."
run = "only"
table = "Figure"
)";
}

}  // namespace

TEST_CASE("the ledger runs its siblings for one claim, and the claim's numbers are theirs") {
  const Json report = report_of(program, {"--claim", "normsoftmax/reasoning-chance,signed-averaging/saturation"});
  const Json& claims = report["tables"][0]["rows"];
  REQUIRE(claims.size() == 2);
  CHECK(claims[0]["claim"] == "signed-averaging/saturation");
  CHECK(claims[1]["verdict"] == "confirmed");
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["tables"][3]["rows"].size() == 4);  // saturation has three runs

  const Json alone = report_of("tasks", {"--seed", "1"});
  const auto in_ledger = [&](const Json& simulation) {
    for (const Json& row : report["tables"][2]["rows"]) {
      if (row["simulation"] == simulation) return true;
    }
    return false;
  };
  for (const Json& table : alone["tables"]) {
    for (const Json& row : table["rows"]) CHECK(in_ledger(row["simulation"]));
  }
}

TEST_CASE("the ledger's list names every claim and runs nothing") {
  const Json report = report_of(program, {"--list"});
  CHECK(report["tables"][0]["rows"].size() > 60);
  CHECK(report["verdict"].is_null());
}

TEST_CASE("an unknown claim or paper is refused with the nearest") {
  const Finished claim = run_program(program, {"--claim", "temperature/theorm-4.2"});
  CHECK(claim.exit_code == 2);
  CHECK(claim.errors == part("temperature/theorem-4.2?"));
  const Finished paper = run_program(program, {"--paper", "kernel-decent"});
  CHECK(paper.exit_code == 2);
  CHECK(paper.errors == part("kernel-descent?"));
  CHECK(run_program(program, {"--claim", "temperature/theorem-4.2", "--paper", "2310.12956"}).exit_code == 2);
}

TEST_CASE("outputs are tried before anything runs") {
  const TemporaryFolder folder;
  const std::string claims = folder.file("claims.toml");
  std::ofstream(claims) << one_claim("incontext temperature --dimension 0");  // refused, if it is run
  CHECK(run_program(program, {"--claims-file", claims}).output == part("--dimension"));
  for (const std::string option : {"--output", "--page"}) {
    const Finished finished = run_program(program, {"--claims-file", claims, option, "/no/such/folder/file.html"});
    CHECK(finished.exit_code == 2);
    CHECK(finished.errors == part(option));
    CHECK_FALSE(finished.errors == part("--dimension"));
  }
  const std::string file = folder.file("same.html");
  CHECK(run_program(program, {"--page", file, "--output", file}).exit_code == 2);
}

TEST_CASE("a page replaces no file whose name is not that of a page") {
  const TemporaryFolder folder;
  const std::string file = folder.file("results.json");
  std::ofstream(file) << "{}";
  const Finished finished = run_program(program, {"--page", file});
  CHECK(finished.exit_code == 2);
  CHECK(finished.errors == part("--page: is not the name of a page"));
  CHECK(content_of(file) == "{}");
}

TEST_CASE("a claim that nothing tries is no agreement, and the text says why") {
  const Finished finished = run_program(program, {"--claim", "temperature/figure-4"});
  CHECK(finished.exit_code == 3);
  CHECK(finished.output == part("temperature/figure-4, out of reach: needs"));
  CHECK(finished.output == part("Incomplete: nothing was tried; of 1 claim"));
}

TEST_CASE("Ctrl-C ends the programs and still reports") {
  const TemporaryFolder folder;
  const std::string file = folder.file("ledger.json"), claims = folder.file("claims.toml");
  std::ofstream(claims) << one_claim("incontext temperature --figure 2a --trials 1000000000");
  const pid_t process = ::fork();
  REQUIRE(process >= 0);
  if (process == 0) {
    become(program, {"--claims-file", claims, "--output", file, "--quiet"});
    ::_exit(127);
  }
  wait_for_interrupt_handler(process);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  ::kill(process, SIGINT);
  int status = 0;
  REQUIRE(::waitpid(process, &status, 0) == process);
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(folder.names() == std::vector<std::string>{"claims.toml", "ledger.json.partial"});
  const Json report = Json::parse(content_of(file + ".partial"));
  CHECK(report["complete"] == false);
}

TEST_CASE("claims of one's own are tried in the place of the program's, and what is wrong in them is named") {
  const TemporaryFolder folder;
  const std::string own = folder.file("own.toml");
  std::string text = content_of(INCONTEXT_SOURCES "/examples/verify/claims/scalable_softmax.toml");
  std::ofstream(own) << text;
  const std::vector<std::string> run{"--claims-file", own, "--claim", "scalable-softmax/fading"};
  const Json report = report_of(program, run);
  CHECK(report["tables"][0]["rows"][0]["verdict"] == "confirmed");
  CHECK(report_of(program, {"--claim", "scalable-softmax/fading"})["tables"][0] == report["tables"][0]);
  // A row of the paper that is moved contradicts it, and is no failure of the run.
  const std::string bound = "than = 0.0002";
  REQUIRE(text.find(bound) != std::string::npos);
  std::ofstream(own) << std::string(text).replace(text.find(bound), bound.size(), "than = 0.0001");
  const Json moved = report_of(program, run);
  CHECK(moved["tables"][0]["rows"][0]["verdict"] == "contradicted");
  CHECK(moved["verdict"]["agrees"] == true);
  std::ofstream(own) << text + "colour = 1\n";
  const Finished refused = run_program(program, {"--claims-file", own, "--list"});
  CHECK(refused.exit_code == 2);
  CHECK(refused.errors == part("has an unknown key 'colour'"));
}

TEST_CASE("two seeds give every claim the same verdict", "[.slow]") {
  const Json reports[] = {report_of(program, {"--seed", "11"}), report_of(program, {"--seed", "12"})};
  const Json& claims = reports[0]["tables"][0]["rows"];
  REQUIRE(claims.size() > 100);
  REQUIRE(claims.size() == reports[1]["tables"][0]["rows"].size());
  std::size_t equal_numbers = 0;
  for (std::size_t k = 0; k < claims.size(); ++k) {
    const Json& again = reports[1]["tables"][0]["rows"][k];
    INFO(claims[k]["claim"].dump());
    CHECK(claims[k]["verdict"] == again["verdict"]);
    equal_numbers += claims[k]["resolution"] == again["resolution"] && !claims[k]["resolution"].is_null();
  }
  CHECK(equal_numbers < claims.size() / 4);  // other draws, not the same run twice
}

}  // namespace verify_program_test
