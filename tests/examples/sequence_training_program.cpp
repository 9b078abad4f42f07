// incontext train affine, quantifier and needle as a user runs them, at sizes that take a second.

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace sequence_training_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;

TEST_CASE("incontext train finds the inverse temperature of every row length, and rejects its controls",
          "[programs][train]") {
  const Json report = incontext::testing::report_of("train", {"needle", "--threads", "1"}, 0);
  REQUIRE(report["tables"].size() == 3);
  for (const int table : {0, 1}) {
    REQUIRE(report["tables"][table]["rows"].size() == 4);
    for (const Json& row : report["tables"][table]["rows"]) CHECK(row["verdict"] == "agrees");
  }
  CHECK(std::abs(report["tables"][1]["rows"][0]["theory"].get<double>() - 3) < 1e-3);  // Bayes' m/v
  for (const Json& row : report["tables"][2]["rows"]) CHECK(row["outcome"] == "rejected");
}

TEST_CASE("incontext train trains on affine functions, and no answer leaves the bound of the weights",
          "[programs][train]") {
  const Json report = incontext::testing::report_of("train",
                                                    {"affine", "--maps", "softmax,ssmax", "--steps", "60", "--batch",
                                                     "8", "--width", "8", "--tested", "64", "--threads", "1"},
                                                    0);
  REQUIRE(report["tables"].size() == 7);
  for (const Json& row : report["tables"][0]["rows"]) CHECK(row["verdict"] == "agrees");
  CHECK(report["tables"][1]["rows"].size() == 2 * 2 * 8);
  const Json& ratios = report["tables"][2]["rows"];
  REQUIRE(ratios.size() == 2 * 8);  // of ssmax, of which nothing is claimed
  for (const Json& row : ratios) {
    CHECK(row["simulation"].get<double>() > 0);
    CHECK(row["relation"].is_null());
  }
  const Json& largest = report["tables"][3]["rows"];
  REQUIRE(largest.size() == 4);
  for (const std::string map : {"softmax", "ssmax"}) {  // nearer to proportion, 2.5, without norms, and to 1 with them
    CHECK(largest[3]["attention_" + map].get<double>() > 1.5 * largest[1]["attention_" + map].get<double>());
    CHECK(largest[3]["full_" + map].get<double>() < 1.5 * largest[1]["full_" + map].get<double>());
  }
  const Json& bounds = report["tables"][4]["rows"];
  REQUIRE(bounds.size() == 4);
  for (const Json& row : bounds) {
    const bool has_norms = row["model"] == "full";
    CHECK(row["bound"].is_number() == has_norms);
    if (!has_norms) continue;
    CHECK(row["largest_answer"].get<double>() < 1.5 * row["bound"].get<double>());
    CHECK(row["over_least"].get<double>() >= 1);
  }
  CHECK(report["tables"][5]["rows"].size() == 4);
  for (const Json& row : report["tables"][5]["rows"]) CHECK(row["verdict"] == "agrees");
}

TEST_CASE("incontext train claims of five runs that an alternative errs no less than softmax", "[programs][train]") {
  const auto run = run_program(
      "train", {"affine", "--maps", "softmax,average,sa-softmax", "--models", "full", "--seeds", "5", "--steps", "200",
                "--batch", "8", "--width", "8", "--tested", "256", "--threads", "1", "--format", "json"});
  CHECK(run.exit_code == 0);
  const Json report = Json::parse(run.output);
  std::size_t claimed = 0;
  for (const Json& row : report["tables"][2]["rows"]) {
    if (row["relation"].is_null()) continue;
    ++claimed;
    CHECK(row["relation"] == ">=");
    CHECK(row["map"] == "sa-softmax");
    CHECK(row["theory"] == 1);
    CHECK(row["values"] == 5);
    CHECK(row["verdict"] != "not_judged");
  }
  CHECK(claimed == 3);  // functions of the standard deviations 4, 7 and 10
}

TEST_CASE("incontext train counts right answers to quantifiers, by map and length", "[programs][train]") {
  const auto run = run_program("train", {"quantifier", "--maps", "softmax", "--seeds", "1", "--steps", "20", "--batch",
                                         "8", "--width", "8", "--tested", "32", "--threads", "1", "--format", "json"});
  CHECK((run.exit_code == 0 || run.exit_code == 1));  // 20 steps may teach nothing, which the control then says
  const Json report = Json::parse(run.output);
  CHECK(report["tables"][0]["rows"][0]["verdict"] == "agrees");
  const Json& rows = report["tables"][1]["rows"];
  REQUIRE(rows.size() == 2 * 6);
  for (const Json& row : rows) {
    CHECK(row["least"].get<double>() <= row["right"].get<double>());
    CHECK(row["right"].get<double>() <= row["largest"].get<double>());
  }
}

TEST_CASE("incontext train compares the wrong answers of maps that learned and answer the same rows",
          "[programs][train]") {
  const Json report = incontext::testing::report_of(
      "train", {"quantifier", "--maps",        "softmax,ssa", "--seeds",  "2",       "--quantifiers", "some",
                "--numbers",  "one-exception", "--lengths",   "10",       "--steps", "100",           "--batch",
                "16",         "--width",       "8",           "--tested", "64",      "--threads",     "1"},
      3);  // nothing is judged of two runs
  const Json &shares = report["tables"][0]["rows"], &contrasts = report["tables"][1]["rows"];
  REQUIRE(shares.size() == 4);
  REQUIRE(contrasts.size() == 4);
  for (int i : {0, 1, 2, 3}) {  // of each test the last answer, then any answer; the rows of softmax come first
    const std::string right = i % 2 == 0 ? "right" : "all_right";
    const double beyond = shares[i / 2][right].get<double>() - shares[i / 2 + 2][right].get<double>();
    CHECK_THAT(contrasts[i]["simulation"].get<double>(), Catch::Matchers::WithinAbs(beyond, 1e-12));
    CHECK(contrasts[i]["map"] == "ssa");
    CHECK(contrasts[i]["values"] == 2);
  }
}

TEST_CASE("incontext train claims nothing of models that have not learned, whatever the order of the maps",
          "[programs][train]") {
  const auto tables_of = [](const std::string& task, const std::string& maps) {
    std::vector<std::string> arguments{task, "--maps",    maps, "--seeds",  "5",   "--steps",
                                       "1",  "--batch",   "8",  "--width",  "8",   "--tested",
                                       "64", "--threads", "1",  "--format", "json"};
    const std::vector<std::string> own = task == "quantifier"
                                             ? std::vector<std::string>{"--numbers", "one-exception", "--lengths", "50"}
                                             : std::vector<std::string>{"--models", "full"};
    arguments.insert(arguments.end(), own.begin(), own.end());
    return Json::parse(run_program("train", arguments).output)["tables"];
  };
  const auto differences = [](const Json& tables) {
    for (const Json& table : tables) {
      if (table["title"].get<std::string>().find("with the same seed") != std::string::npos) return table["rows"];
    }
    return Json(Json::array());
  };
  for (const std::string task : {"affine", "quantifier"}) {
    const Json rows = differences(tables_of(task, "softmax,sa-softmax"));
    REQUIRE_FALSE(rows.empty());
    for (const Json& row : rows) CHECK((!row.contains("relation") || row["relation"].is_null()));
    CHECK(rows == differences(tables_of(task, "sa-softmax,softmax")));
    CHECK(differences(tables_of(task, "sa-softmax")).empty());
  }
}

TEST_CASE("incontext train refuses what the sequences' tasks have no use for", "[programs][train]") {
  const auto refused = [](const std::vector<std::string>& arguments) {
    const auto run = run_program("train", arguments);
    CHECK(run.exit_code == 2);
    return run.errors;
  };
  CHECK(refused({"affine", "--dimension", "3"}).find("--dimension") != std::string::npos);
  CHECK(refused({"affine", "--maps", "magic"}).find("magic") != std::string::npos);
  CHECK(refused({"quantifier", "--quantifiers", "every,every"}).find("is named twice") != std::string::npos);
  CHECK(refused({"quantifier", "--numbers", "all"}).find("--numbers") != std::string::npos);
  CHECK(refused({"quantifier", "--lengths", "10,10"}).find("is named twice") != std::string::npos);
  CHECK(refused({"quantifier", "--lengths", "3"}).find("--lengths") != std::string::npos);
  CHECK(refused({"affine", "--width", "10"}).find("--width") != std::string::npos);
  CHECK(refused({"needle", "--maps", "softmax"}).find("--maps") != std::string::npos);
  CHECK(refused({"reasoning", "--maps", "softmax"}).find("--maps") != std::string::npos);
}

}  // namespace sequence_training_program_test
