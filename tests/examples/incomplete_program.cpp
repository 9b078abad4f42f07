// A row that cannot be judged is neither an agreement nor a disagreement: rounding, overflow, rare rows, optima that do
// not exist, runs that were stopped. Every such run ends with 3 or names what is out of range, and no row is left out.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace incomplete_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

Json report(const std::string& program, const Arguments& arguments, int exit_code) {
  return incontext::testing::report_of(program, arguments, exit_code);
}

/// Checks that every row to be judged has a verdict, and a reason if and only if it is not judged.
void check_rows(const Json& report) {
  int asked = 0, left = 0;
  for (const Json& table : report["tables"]) {
    for (const Json& row : table["rows"]) {
      if (!row.contains("verdict") || row["verdict"].is_null()) continue;
      ++asked;
      const bool judged = row["verdict"] != "not_judged";
      left += judged ? 0 : 1;
      CHECK(row["z"].is_number() == judged);
      CHECK(row["reason"].is_null() == judged);
    }
  }
  CHECK(report["verdict"]["comparisons"] == asked);
  CHECK(report["verdict"]["not_judged"] == left);
}

/// Runs a program, sends it SIGINT the given seconds after its first trial began, and waits for its end.
Finished stopped_after(double seconds, const std::string& program, const Arguments& arguments,
                       const TemporaryFolder& folder) {
  RunningProgram running(program, arguments, folder);
  REQUIRE(running.process() > 0);
  wait_for_interrupt_handler(running.process());
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  running.send(SIGINT);
  return running.wait();
}

}  // namespace

TEST_CASE("the weight of a needle that has nearly all of it is not judged below rounding, with a reason",
          "[programs][incomplete]") {
  for (const std::string height : {"20", "30", "50", "100"}) {
    CAPTURE(height);
    const Json all = report("fading", {"--figure", "fading", "--height", height, "--lengths", "100"}, 3);
    check_rows(all);
    CHECK(all["verdict"]["agrees"].is_null());
    CHECK(all["tables"][0]["rows"][1]["verdict"] == "not_judged");
  }
  const Json row =
      report("fading", {"--figure", "fading", "--height", "20", "--lengths", "100"}, 3)["tables"][0]["rows"][1];
  CHECK(row["reason"] == part("below the rounding of the simulation, 4.2e-14, and the error of the theory"));
  // The default seed draws a rare event, z = -4.09 in one row. It is no bias: over 185 other seeds the z of the rows have
  // the mean 0 and variances from 0.84 to 1.2.
  check_rows(report("fading", {"--figure", "fading", "--height", "10", "--lengths", "100", "--seed", "2"}, 0));
}

TEST_CASE("frozen rows in which no trial drew a competing second score are not judged", "[programs][incomplete]") {
  const Json all = report("fading", {"--lengths", "100", "--score-stddevs", "1e8"}, 3);
  check_rows(all);
  CHECK(all["verdict"]["judged"] == 0);
  for (const Json& row : all["tables"][0]["rows"]) CHECK(row["reason"] == part("a few rare trials decide"));
}

TEST_CASE("errors whose rounding in single precision exceeds their standard error are not judged",
          "[programs][incomplete]") {
  const auto scaled = [](Arguments arguments) {
    arguments.insert(arguments.end(),
                     {"--attention", "scaled", "--dimension", "4", "--context-length", "50", "--trials", "4096"});
    return arguments;
  };
  const Json tiny = report("softmax-error", scaled({"--input-variance", "1e-7"}), 3);
  check_rows(tiny);
  CHECK(tiny["verdict"]["judged"] == 0);
  const Json noisy = report("softmax-error", scaled({"--noise-variance", "1e7"}), 3);
  check_rows(noisy);
  CHECK(noisy["verdict"]["judged"] == 7);
  // only the noise is left at the temperature that is best for approximate softmax; that of softmax itself cannot be told
  // from an infinite one
  CHECK(noisy["verdict"]["not_judged"] == 1);
  CHECK(noisy["tables"][1]["rows"][0]["optimal"] == "edge of the search");
  for (const Arguments& usual : {Arguments{"--input-variance", "1e-2"}, {"--noise-variance", "1e3"}}) {
    Arguments arguments = scaled(usual);
    arguments.insert(arguments.end(), {"--temperatures", "1,3"});
    check_rows(report("softmax-error", arguments, 0));
  }
  for (const std::string shift : {"1e7", "1e8"}) {
    const Json shifted = report("temperature", {"--mean-shift", shift, "--trials", "4096"}, 3);
    check_rows(shifted);
    for (const Json& row : shifted["tables"][0]["rows"]) CHECK(row["verdict"] != "disagrees");
  }
}

TEST_CASE("trials that overflow are not judged, and their rows stay", "[programs][incomplete]") {
  for (const std::string temperature : {"1e-19", "1e-20", "1e-30"}) {
    CAPTURE(temperature);
    const Json all = report("temperature", {"--temperatures", temperature, "--trials", "4096", "--dimension", "3"}, 3);
    check_rows(all);
    REQUIRE(all["tables"][0]["rows"].size() == 4);
    const Json row = all["tables"][0]["rows"][0];
    CHECK(row["temperature"] == std::stod(temperature));
    CHECK(row["simulation"].is_null());
    CHECK(row["reason"] == part("of 4096 trials were not finite"));
    CHECK(all["verdict"]["judged"] == 2);
  }
}

TEST_CASE("parameters outside the range of single precision are refused by name, value and range",
          "[bad-input][incomplete]") {
  const auto refused = [](const std::string& program, const Arguments& arguments, const std::string& expected) {
    const Finished finished = run_program(program, arguments);
    CAPTURE(arguments, finished.errors);
    CHECK(finished.exit_code == 2);
    CHECK(finished.output.empty());
    CHECK(finished.errors == part(expected));
    CHECK(finished.errors == part("needs single-precision numbers, from 1.2e-38 to 3.4e+38 in size"));
  };
  refused("temperature", {"--temperatures", "1e-200"}, "temperature's inverse is outside the range");
  refused("temperature", {"--temperatures", "1e-100"}, "temperature's inverse is outside the range");
  refused("temperature", {"--noise-variance", "1e200"}, "is outside the range");
  refused("temperature", {"--noise-variance", "1e308"}, "is outside the range");
  refused("temperature", {"--task-scale", "1e308"}, "is outside the range");
  refused("temperature", {"--mean-shift", "1e308"}, "is outside the range");
  refused("softmax-error", {"--task-variance", "1e150"}, "is outside the range");
}

TEST_CASE("an optimal temperature that does not exist is a row without one, and not judged", "[programs][incomplete]") {
  // labels for which every prediction from the context is worse than none
  const TemporaryFolder folder;
  const std::string data = folder.write("four.csv", "x,y\n0.124,-0.031\n2.586,-0.004\n2.782,-1.056\n2.967,1.398\n");
  const Json all =
      report("temperature", {"--data", data, "--labels", "y", "--context-length", "5", "--trials", "4096"}, 3);
  check_rows(all);
  const Json rows = all["tables"][0]["rows"];
  REQUIRE(rows.size() == 8);
  CHECK(rows[6]["predictor"] == "attention, τ*");
  for (const char* name : {"temperature", "theory", "simulation", "z"}) CHECK(rows[6][name].is_null());
  CHECK(rows[6]["verdict"] == "not_judged");
  CHECK(rows[6]["reason"] == part("no positive temperature is optimal"));
  CHECK(all["verdict"]["judged"] == 6);
}

TEST_CASE("a run that was stopped ends with 3, keeps its rows, and says complete: false", "[programs][incomplete]") {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, Arguments>> runs{
      {"temperature", {"--figure", "2a", "--trials", "1e12"}},
      {"temperature", {"--figure", "3c", "--trials", "1e12"}},
      {"temperature",
       {"--data", std::string(INCONTEXT_SOURCE_DIR) + "/examples/data/diabetes.csv", "--labels", "progression",
        "--trials", "1e12"}},
      {"softmax-error", {"--vary", "context-length", "--trials", "1e12"}},
      {"gradients", {"--figure", "normsoftmax", "--trials", "1e12"}},
      {"fading", {"--figure", "retrieval", "--trials", "1e12", "--most-scores", "1e15"}},
      {"fading", {"--figure", "diagram", "--trials", "1e12", "--most-scores", "1e15"}},
      {"classify", {"--search-trials", "1e8"}},
      {"classify", {"--figure", "6", "--search-trials", "1e8"}},
      {"classify", {"--figure", "7", "--search-trials", "1e8"}},
      {"classify", {"--figure", "8a", "--search-trials", "1e8"}},
      {"classify", {"--figure", "rates", "--search-trials", "1e8"}},
      {"classify", {"--figure", "elimination", "--trials", "1e12"}}};
  for (auto [program, arguments] : runs) {
    CAPTURE(program, arguments);
    arguments.insert(arguments.end(), {"--format", "json"});
    const Finished finished = stopped_after(0.4, program, arguments, folder);
    CAPTURE(finished.errors);
    REQUIRE(finished.exit_code == 3);
    const Json all = Json::parse(finished.output);
    CHECK(all["complete"] == false);
    CHECK(all["verdict"]["agrees"] != false);
    CHECK(finished.errors == part("Stopped early"));
    check_rows(all);
    int unreached = 0;
    for (const Json& table : all["tables"]) {
      for (const Json& row : table["rows"]) {
        unreached += row.contains("reason") && row["reason"] == "not reached: the run was stopped early" ? 1 : 0;
      }
    }
    CHECK(unreached > 0);
  }
}

TEST_CASE("a stopped run has the same rows as a complete one, in the same order", "[programs][incomplete]") {
  const TemporaryFolder folder;
  const auto keys = [](const Json& all) {
    std::vector<Json> keys;
    for (const Json& table : all["tables"]) {
      for (const Json& row : table["rows"])
        keys.push_back(
            {row.value("context_length", Json()), row.value("predictor", Json()), row.value("statement", Json())});
    }
    return keys;
  };
  const Arguments figure{"--figure", "2a", "--context-lengths", "10,20,30", "--format", "json", "--trials"};
  Arguments all = figure, cut = figure;
  all.push_back("512");
  cut.push_back("1e12");
  const Finished stopped = stopped_after(0.3, "temperature", cut, folder);
  REQUIRE(stopped.exit_code == 3);
  CHECK(keys(Json::parse(stopped.output)) == keys(Json::parse(run_program("temperature", all).output)));
}

TEST_CASE("a stopped run writes to FILE.partial and says so, unless --replace-by-partial is given",
          "[programs][incomplete]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("report.json", "older and complete");
  const Arguments endless{"--trials", "1e12", "--output", file, "--format", "json"};
  const Finished partial = stopped_after(0.3, "temperature", endless, folder);
  CHECK(partial.exit_code == 3);
  CHECK(partial.output == part("Stopped early"));
  CHECK(partial.errors == part("the partial report is " + file + ".partial; " + file + " is unchanged"));
  CHECK(content_of(file) == "older and complete");
  CHECK(Json::parse(content_of(file + ".partial"))["complete"] == false);
  Arguments replacing = endless;
  replacing.push_back("--replace-by-partial");
  CHECK(stopped_after(0.3, "temperature", replacing, folder).exit_code == 3);
  CHECK(Json::parse(content_of(file))["complete"] == false);
}

TEST_CASE("a stopped run without --output prints its partial tables", "[programs][incomplete]") {
  const TemporaryFolder folder;
  const Finished finished = stopped_after(0.3, "temperature", {"--trials", "1e12"}, folder);
  CHECK(finished.exit_code == 3);
  CHECK(finished.output == part("Approximate softmax against temperature"));
  CHECK(finished.output == part("Stopped early: rows that were not reached are empty."));
  CHECK(finished.errors.empty());
}

TEST_CASE("every JSON and CSV report has the record of its run", "[programs][incomplete]") {
  const auto at = [](const std::string& device, const Arguments& more) {
    Arguments arguments{"--dimension", "2",    "--context-length", "5", "--trials", "2048",
                        "--device",    device, "--seed",           "7"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return report("temperature", arguments, 0);
  };
  const Json openmp = at("openmp", {"--threads", "3"}), serial = at("serial", {});
  CHECK(openmp["complete"] == true);
  CHECK(openmp["device"] == "openmp");
  CHECK(openmp["threads"] == 3);
  CHECK(serial["device"] == "serial");
  CHECK(serial["threads"] == 1);
  CHECK(openmp["instructions"] == serial["instructions"]);
  const std::string instructions = serial["instructions"];
  CHECK((instructions == "plain" || instructions == "AVX2" || instructions == "AVX-512"));
  CHECK(openmp["seed"] == 7);
  CHECK(openmp["trials"] == 2048 + 2048 / 32);  // the trials of the ridge are counted too
  CHECK(openmp["seconds"].get<double>() > 0);
  CHECK(openmp["commit"].get<std::string>().size() >= 7);
  CHECK(openmp["command"] == part("--threads 3"));
  CHECK(openmp["arguments"]["device"] == "openmp");
  const Json automatic = at("automatic", {});
  CHECK(automatic["device"] != "automatic");

  const Finished csv = run_program("temperature", {"--dimension", "2", "--context-length", "5", "--trials", "2048",
                                                   "--format", "csv", "--device", "serial"});
  std::istringstream lines(csv.output);
  std::string header, line;
  std::getline(lines, header);
  CHECK(header == part(",z,trials,values,tolerance,verdict,reason,"));
  CHECK(header.ends_with(
      ",command,complete,exit_code,run_trials,seconds,device,threads,instructions,seed,version,commit"));
  int rows = 0;
  for (; std::getline(lines, line); ++rows) {
    bool quoted = false;
    std::ptrdiff_t commas = 0;
    for (const char c : line) {
      quoted = quoted != (c == '"');
      commas += c == ',' && !quoted ? 1 : 0;
    }
    CHECK(commas == std::count(header.begin(), header.end(), ','));
    CHECK(line == part(",true,0,2112,"));
    CHECK(line == part(",serial,1," + instructions + ",1,"));
  }
  CHECK(rows == 8);
}

TEST_CASE("the reason of an exit code other than 0 is on standard error when standard output is CSV",
          "[programs][incomplete]") {
  const Finished finished = run_program("temperature", {"--scoring", "softmax", "--query", "included", "--mean-shift",
                                                        "1", "--trials", "512", "--format", "csv"});
  CHECK(finished.exit_code == 3);
  CHECK(finished.errors == part("incontext temperature: Nothing was judged"));
}

}  // namespace incomplete_program_test
