// incontext train as a user runs it: trained layers that agree with their rules, states that go on, refusals.

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
  arguments.insert(arguments.begin(), "classification");
  arguments.insert(arguments.end(), {"--device", "serial"});
  return report_of("train", arguments, exit_code);
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

TEST_CASE("training that diverges says so, although its gradient is clipped", "[examples][train]") {
  const Finished finished =
      run_program("train", {"classification", "--map", "linear", "--seeds", "1", "--steps", "60", "--rate", "1000"});
  CHECK(finished.exit_code == 2);
  CHECK(finished.errors == part("training diverged: at step "));
}

TEST_CASE("trained models end at their rules over context lengths, and near misses are rejected", "[examples][train]") {
  const Json report = train_report({"--figure", "7", "--dimensions", "2", "--context-lengths", "20", "--seeds", "1",
                                    "--steps", "800", "--batch", "128"});
  CHECK(report["verdict"]["agrees"] == true);
  const Json& rows = report["tables"][0]["rows"];
  REQUIRE(rows.size() == 4);
  for (const char* model : {"linear", "softmax, fixed width", "softmax, no key", "softmax"}) {
    CHECK(std::any_of(rows.begin(), rows.end(), [&](const Json& row) { return row["model"] == model; }));
  }
  for (const Json& row : report["tables"][1]["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("strategies are counted over seeds, with Clopper and Pearson's interval", "[examples][train]") {
  const Json report = train_report({"--figure", "17", "--dimensions", "2", "--context-lengths", "20",
                                    "--initial-scales", "0.5", "--seeds", "3", "--steps", "400", "--trials", "1024"});
  const Json row = report["tables"][0]["rows"][0];
  CHECK(row["seeds"] == 3);
  CHECK(row["selection"].get<int>() + row["elimination"].get<int>() + row["mixed"].get<int>() == 3);
  const double share = row["selection"].get<double>() / 3;
  CHECK(row["share_lower"].get<double>() < share);
  CHECK(row["share_upper"].get<double>() >= share);
}

TEST_CASE("prototypes that contexts share are learned by heart, and a context's own are not", "[examples][train]") {
  const Json report = train_report(
      {"--figure", "10", "--prototype-sets", "2", "--steps", "600", "--hidden-ratios", "4", "--trials", "512"});
  CHECK(report["arguments"]["classes"] == 3);
  CHECK(report["tables"][0]["rows"].size() == 20);
  const Json& ends = report["tables"][1]["rows"];
  REQUIRE(ends.size() == 2);
  CHECK(ends[0]["sets"] == 0);
  CHECK(ends[0]["verdict"] == "agrees");
  CHECK(ends[1]["simulation"].get<double>() > 0.1);
  const Json& beyond = report["tables"][2]["rows"];
  REQUIRE(beyond.size() == 1);
  CHECK(beyond[0]["transient"] == "never learned");  // two sets are known by heart at once
  CHECK(beyond[0]["relation"].is_null());
  for (const Json& row : report["tables"][3]["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("with five runs the rise of the loss is claimed to be no less than without shared prototypes",
          "[examples][train]") {
  const Json report = train_report({"--figure", "10", "--prototype-sets", "8,32", "--steps", "400", "--seeds", "5",
                                    "--hidden-ratios", "4", "--trials", "256"});
  const Json& beyond = report["tables"][2]["rows"];
  REQUIRE(beyond.size() == 2);
  for (const Json& row : beyond) {
    CHECK(row["relation"] == ">=");
    CHECK(row["theory"] == 0);
    CHECK(row["values"] == 5);
    CHECK(row["verdict"] == "agrees");
  }
  std::size_t controls = 0;
  for (const Json& row : report["tables"][3]["rows"]) {
    const auto rule = row["rule"].get<std::string>();
    controls += rule == "nothing is lost of learning in context" || rule.starts_with("as much is lost as with ");
  }
  CHECK(controls >= 2);
}

TEST_CASE("figures of the paper refuse options that they have no use for", "[examples][train]") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const auto run = run_program("train", arguments);
    CHECK(run.exit_code == 2);
    CHECK(run.errors == part(message));
  };
  refused({"classification", "--figure", "7", "--rates", "0.1"}, "--rates");
  refused({"classification", "--figure", "17", "--rate", "0.1"}, "--rate");
  refused({"classification", "--figure", "7", "--prototype-sets", "3"}, "--prototype-sets");
  refused({"classification", "--figure", "10", "--weights-trained", "merged"}, "--weights-trained");
  refused({"classification", "--dimensions", "3"}, "--dimensions");
  refused({"classification", "--figure", "valley", "--context-lengths", "50"}, "--context-lengths");
  refused({"classification", "--figure", "17", "--class-counts", "3", "--context-lengths", "20"},
          "is no multiple of the classes");
  refused({"regression", "--figure", "7"}, "--figure: is unknown (value = 7; needs ends|curves|temperature)");
}

TEST_CASE("incontext train is six tasks, each with a help of its own", "[examples][train]") {
  const std::vector<std::string> tasks{"classification", "regression", "reasoning", "affine", "quantifier", "needle"};
  const auto plain = run_program("train", {});
  CHECK(plain.exit_code == 2);  // nothing was judged
  const auto asked = run_program("train", {"--help"});
  CHECK(asked.exit_code == 0);
  CHECK(asked.output == plain.output);
  for (const std::string& task : tasks) {
    CHECK(plain.output == part("\n  " + task));
    const auto help = run_program("train", {task, "--help"});
    CHECK(help.exit_code == 0);
    CHECK(help.output == part("Usage: incontext train " + task));
    CHECK(help.output == part("--seeds"));
    CHECK((help.output == part("--class-counts")) == (task == "classification"));
    CHECK((help.output == part("--methods")) == (task == "reasoning"));
    CHECK((help.output == part("--maps")) == (task == "affine" || task == "quantifier"));
  }
  const std::pair<std::string, std::string> words[] = {{"--figure", "needs classification|regression|"},
                                                       {"regresion", "did you mean regression?"},
                                                       {"7", "needs classification|regression|"}};
  for (const auto& [word, way_out] : words) {
    const auto refused = run_program("train", {word, "7"});
    CHECK(refused.exit_code == 2);
    CHECK(refused.errors == part("incontext train: " + word + ": is not a task (" + way_out));
  }
}

TEST_CASE("regression trains at other sizes, and near misses are rejected there too", "[examples][train]") {
  const Json report = report_of("train", {"regression", "--figure", "temperature", "--dimension", "4",
                                          "--context-length", "20", "--seeds", "8", "--device", "serial"});
  CHECK(report["verdict"]["agrees"] == true);
  CHECK(report["tables"][0]["title"].get<std::string>().ends_with("d = 4, l = 20"));
  for (const Json& row : report["tables"][1]["rows"]) {
    if (row["statement"] == "best temperature before the shift") CHECK(row["outcome"] == "rejected");
  }
}
