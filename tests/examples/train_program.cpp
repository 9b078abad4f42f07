// incontext-train as a user runs it: trained layers that agree with their rules, states that go on, refusals.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

using namespace incontext::testing;
using Json = nlohmann::json;

namespace {

/// OpenMP's waiting threads take the processor from the other tests.
Json train_report(std::vector<std::string> arguments, int exit_code = 0) {
  arguments.insert(arguments.end(), {"--device", "serial"});
  return report_of(INCONTEXT_TRAIN, arguments, exit_code);
}

}  // namespace

TEST_CASE("trained linear attention becomes one step of gradient descent, and the near miss is rejected",
          "[examples][train]") {
  const Json report = train_report({"--map", "linear", "--dimension", "3", "--context-length", "50", "--steps", "1200",
                                    "--seeds", "2", "--trials", "2048"});
  CHECK(report["verdict"]["agrees"] == true);
  REQUIRE(report["tables"][0]["rows"].size() == 2);
  for (const Json& row : report["tables"][0]["rows"]) {
    CHECK(row["verdict"] == "agrees");
    CHECK(row["cosine"].get<double>() > 0.99);
  }
  for (const Json& row : report["tables"][1]["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("a layer that has hardly been trained is no rule", "[examples][train]") {
  const Json report =
      train_report({"--map", "linear", "--dimension", "3", "--steps", "20", "--seeds", "1", "--trials", "2048"}, 1);
  CHECK(report["verdict"]["agrees"] == false);
}

TEST_CASE("a state that was written goes on to the weights of an uninterrupted run", "[examples][train]") {
  const TemporaryFolder folder;
  const auto curve = [&](const std::string& steps, std::vector<std::string> more) {
    std::vector<std::string> arguments{
        "--figure",         "curves", "--map",    "softmax", "--dimension", "2",  "--classes", "2",
        "--context-length", "12",     "--trials", "50",      "--batch",     "64", "--steps",   steps};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return train_report(arguments, 3);  // this run eliminates, which is not judged
  };
  curve("40", {"--weights", folder.file("whole"), "--decay-steps", "40"});
  curve("20", {"--checkpoint", folder.file("state"), "--decay-steps", "40"});
  const Json rest =
      curve("40", {"--resume", folder.file("state"), "--weights", folder.file("resumed"), "--decay-steps", "40"});
  CHECK(rest["tables"][0]["rows"].size() == 5);
  for (const std::string part : {".key_query.npy", ".output.npy"}) {
    CHECK(!content_of(folder.file("whole" + part)).empty());
    CHECK(content_of(folder.file("whole" + part)) == content_of(folder.file("resumed" + part)));
  }
  const auto refused = run_program(INCONTEXT_TRAIN, {"--figure", "curves", "--resume", folder.file("state")});
  CHECK(refused.exit_code == 2);
  CHECK(refused.errors == part("other settings"));
}
