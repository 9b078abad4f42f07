// incontext calibrate as a user runs it: files of every layout, a head in detail, a drawing, refusals.

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "examples/support/npy.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/report_of.hpp"
#include "tests/examples/run_program.hpp"

namespace calibrate_program_test {

using namespace incontext::testing;
using Json = nlohmann::json;
using Arguments = std::vector<std::string>;

namespace {

std::vector<double> normal_scores(std::size_t count, double stddev, int seed) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(seed));
  std::normal_distribution<double> normal(0, stddev);
  std::vector<double> scores(count);
  for (double& score : scores) score = normal(generator);
  return scores;
}

Json report(const Arguments& arguments) { return report_of("calibrate", arguments, 0); }

/// An .npy file of half, single or double precision in either byte order and either order of the dimensions.
std::string npy(const std::string& descr, bool fortran, const std::string& shape, const std::string& data) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") + ", 'shape': " + shape + ", }";
  header.append(117 - header.size(), ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n' + data;
}

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

void check_refused(const Arguments& arguments, const std::string& expected) {
  const Finished finished = run_program("calibrate", arguments);
  CAPTURE(finished.errors, expected);
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  CHECK(finished.errors.find(expected) != std::string::npos);
  CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
}

}  // namespace

TEST_CASE("incontext calibrate tells normal heads from others and shows one in detail", "[programs][calibrate]") {
  const TemporaryFolder folder;
  std::vector<double> scores = normal_scores(2 * 96 * 96, 1.5, 1);
  for (std::size_t q = 0; q < 96; ++q) scores[96 * 96 + 96 * q] += 9;  // a sink in head 1
  const std::string file = folder.write("scores.npy", incontext::examples::npy_bytes(scores, {2, 96, 96}));
  const Json all = report({"--scores", file});
  REQUIRE(all["tables"].size() == 2);
  const Json& heads = all["tables"][1]["rows"];
  REQUIRE(heads.size() == 2);
  CHECK(heads[0]["normal_rows"] == "normal");
  CHECK(heads[1]["normal_rows"] == "not normal");
  CHECK(std::abs(heads[0]["score_stddev"].get<double>() - 1.5) < 0.05);
  CHECK(heads[1]["largest_weight"].get<double>() > 2 * heads[1]["largest_weight_predicted"].get<double>());
  CHECK(all["verdict"].is_null());

  const std::string drawing = folder.file("head.svg");
  const Json one = report({"--scores", file, "--head", "0,0", "--gap", "6", "--plot", drawing, "--factors", "1,4,64"});
  REQUIRE(one["tables"].size() == 11);
  for (const Json& row : one["tables"][10]["rows"]) CHECK(row["verdict"] == "agrees");
  CHECK(content_of(drawing).starts_with("<svg "));
  CHECK(content_of(drawing).find("polyline") != std::string::npos);
  for (const Json& row : one["tables"][4]["rows"]) CHECK(row["verdict"] == "agrees");
  for (const Json& row : one["tables"][5]["rows"]) CHECK(row["verdict"] == "agrees");
  const Json& rules = one["tables"][7]["rows"];
  CHECK(rules[0]["rule"] == "exact");
  const double held = rules[0]["value_1x"];
  CHECK(std::abs(rules[0]["value_64x"].get<double>() - held) < 1e-8);
  CHECK(rules[1]["value_64x"].get<double>() - held > 3);  // unchanged: log 64 and more
  const Json sink = report({"--scores", file, "--head", "0,1"});
  CHECK(sink["tables"][4]["rows"][4]["verdict"] == "disagrees");
  // temperatures of a law that misses the head are not tabulated without saying so
  const auto note_of = [](const Json& table) { return table["notes"].dump(); };
  for (const int rules_of : {7, 8, 9}) {
    CHECK(note_of(sink["tables"][rules_of]).find("it does not describe this head") != std::string::npos);
    CHECK(note_of(one["tables"][rules_of]).find("The law of normal scores misses") == std::string::npos);
  }
  CHECK(note_of(all["tables"][1]).find("look like weights") == std::string::npos);
}

TEST_CASE("incontext calibrate says which heads look like weights", "[programs][calibrate]") {
  const TemporaryFolder folder;
  std::vector<double> scores = normal_scores(2 * 32 * 32, 1.5, 1);
  for (std::size_t row = 32; row < 64; ++row) {  // of head 1, with a sink that is not in the file
    double sum = 9;
    for (std::size_t k = 0; k < 32; ++k) sum += scores[32 * row + k] = std::exp(scores[32 * row + k]);
    for (std::size_t k = 0; k < 32; ++k) scores[32 * row + k] /= sum;
  }
  const Json heads = report(
      {"--scores", folder.write("scores.npy", incontext::examples::npy_bytes(scores, {2, 32, 32}))})["tables"][1];
  CHECK(heads["rows"][0]["looks_like_weights"].is_null());
  CHECK(heads["rows"][1]["looks_like_weights"] == "yes");
  CHECK(heads["notes"].dump().find("look like weights after softmax: 1") != std::string::npos);
}

TEST_CASE("the drawing of incontext calibrate has the needle's weight of its table", "[programs][calibrate]") {
  const TemporaryFolder folder;
  const std::string drawing = folder.file("head.svg");
  const std::string file =
      folder.write("scores.npy", incontext::examples::npy_bytes(normal_scores(96 * 96, 1.5, 1), {96, 96}));
  const Json tables = report({"--scores", file, "--head", "0,0", "--gap", "4", "--plot", drawing})["tables"];
  Json row, scores;
  for (const Json& table : tables) {
    if (table["rows"].empty()) continue;
    if (table["rows"][0].contains("needle_weight_predicted")) row = table["rows"][0];
    if (table["rows"][0].contains("score_stddev")) scores = table["rows"][0];
  }
  REQUIRE(row.is_object());
  REQUIRE(scores.is_object());
  // the second panel: the measured circle gives the scale, whose zero is the lower axis
  std::string svg = content_of(drawing);
  svg.erase(0, svg.rfind("<polyline"));
  std::smatch circle, point;
  REQUIRE(std::regex_search(svg, circle, std::regex("<circle cx='([0-9.]+)' cy='([0-9.]+)'")));
  REQUIRE(std::regex_search(svg, point, std::regex("[' ]" + circle[1].str() + ",([0-9.]+)[' ]")));
  constexpr double axis = 304;
  const double drawn =
      row["needle_weight"].get<double>() * (axis - std::stod(point[1])) / (axis - std::stod(circle[2]));
  const double predicted = row["needle_weight_predicted"];
  CHECK(std::abs(drawn - predicted) < 1e-4);
  const double uncentered = incontext::laws::needle_weight<double>(96, scores["score_stddev"], 4.0).value;
  CHECK(std::abs(uncentered - predicted) > 3e-4);  // the law from the true mean is another
}

TEST_CASE("incontext calibrate reads the same scores from every kind of file", "[programs][calibrate]") {
  const TemporaryFolder folder;
  constexpr std::size_t queries = 12, keys = 16;
  std::vector<double> scores;
  for (const double score : normal_scores(queries * keys, 1, 2)) scores.push_back(std::round(score * 64) / 64);
  std::vector<double> transposed(scores.size());
  std::vector<float> singles(scores.begin(), scores.end());
  std::vector<std::uint64_t> swapped;
  std::vector<std::uint16_t> halves;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    transposed[i % keys * queries + i / keys] = scores[i];
    swapped.push_back(__builtin_bswap64(std::bit_cast<std::uint64_t>(scores[i])));
    // exact: at most 11 significant bits
    const auto bits = std::bit_cast<std::uint32_t>(singles[i]);
    const std::uint32_t magnitude = bits & 0x7fffffffU;
    const std::uint32_t half = magnitude == 0 ? 0 : (magnitude >> 13) - (112U << 10);
    halves.push_back(static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | half));
  }
  const Json expected =
      report({"--scores", folder.write("c.npy", npy("<f8", false, "(12, 16)", bytes_of(scores)))})["tables"];
  const auto check_same = [&](const std::string& name, const std::string& content, const Arguments& more = {}) {
    Arguments arguments{"--scores", folder.write(name, content)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Json tables = report(arguments)["tables"];
    REQUIRE(tables.size() == expected.size());
    for (std::size_t i = 0; i < tables.size(); ++i) CHECK(tables[i]["rows"] == expected[i]["rows"]);
  };
  check_same("f.npy", npy("<f8", true, "(12, 16)", bytes_of(transposed)));
  check_same("single.npy", npy("<f4", false, "(12, 16)", bytes_of(singles)));
  check_same("half.npy", npy("<f2", false, "(1, 1, 12, 16)", bytes_of(halves)), {"--threads", "3"});
  check_same("big.npy", npy(">f8", false, "(1, 12, 16)", bytes_of(swapped)));
}

TEST_CASE("incontext calibrate gives the moment-ratio temperature of a shift", "[programs][calibrate]") {
  const TemporaryFolder folder;
  std::vector<double> scores = normal_scores(40 * 40, 1, 3);
  for (std::size_t q = 0; q < 40; ++q) scores[41 * q] = 1 + 0.1 * scores[41 * q];
  std::vector<double> doubled = scores;
  for (double& score : doubled) score *= 2;
  const Json rows =
      report({"--scores", folder.write("a.npy", incontext::examples::npy_bytes(scores, {40, 40})), "--shifted",
              folder.write("b.npy", incontext::examples::npy_bytes(doubled, {40, 40}))})["tables"]
          .back()["rows"];
  REQUIRE(rows.size() == 3);
  CHECK(std::abs(rows[2]["temperature"].get<double>() - 2) < 1e-12);  // E z^2 / E z doubles with the scores
  CHECK(rows[2]["standard_error"].get<double>() > 0);
}

TEST_CASE("incontext calibrate refuses what it cannot use, in one line", "[programs][calibrate]") {
  const TemporaryFolder folder;
  const auto file = [&](const std::string& name, std::vector<double> scores, std::vector<std::int64_t> shape) {
    return folder.write(name, incontext::examples::npy_bytes(scores, shape));
  };
  const std::string good = file("good.npy", normal_scores(64, 1, 4), {8, 8});
  check_refused({}, "--scores is missing");
  check_refused({"--scores", folder.file("none.npy")}, "none.npy");
  check_refused({"--scores", file("nan.npy", {1, 2, NAN, 4}, {2, 2})},
                "layer 0, head 0, query 1: a score is not a number");
  check_refused({"--scores", file("inf.npy", {1, INFINITY, 3, 4}, {2, 2})}, "query 0: a score is infinite");
  check_refused(
      {"--scores", file("masked.npy", {-INFINITY, -INFINITY, 3, 4}, {2, 2})},
      "query 0: every key is masked, by -inf or by a score of at most -5000 (value = 0; needs a visible key, or "
      "--leave-out-masked-rows)");
  check_refused({"--scores", file("weights.npy", {0.25, 0.75, 0.5, 0.5}, {2, 2})}, "weights after softmax");
  check_refused({"--scores", file("key.npy", {1, 2}, {2, 1})}, "the number of keys is too small");
  check_refused({"--scores", file("five.npy", {1, 2}, {1, 1, 1, 1, 2})}, "wrong number of array dimensions");
  check_refused({"--scores", folder.write("cut.npy", content_of(good).substr(0, 300))}, "data is cut off");
  check_refused({"--scores", folder.write("integers.npy", npy("<i4", false, "(1, 2)", std::string(8, '\0')))},
                "the numbers are no scores (value = int32; needs float16, float32 or float64)");
  check_refused({"--scores", folder.write("complex.npy", npy("<c16", false, "(1, 2)", std::string(32, '\0')))},
                "(value = complex128;");
  check_refused({"--scores", folder.write("bfloat16.npy", npy("<V2", false, "(1, 2)", std::string(4, '\0')))},
                "as bfloat16 in a file of NumPy has none (value = V2; needs float16, float32 or float64: save "
                "scores.astype(\"float32\"))");
  check_refused({"--scores", folder.write("objects.npy", npy("|O", false, "(1, 2)", std::string(16, '\0')))},
                "(value = object;");
  check_refused({"--scores", folder.write("text.npy", "1,2,3\n")}, "is not an .npy file");
  check_refused({"--scores", good, "--head", "1,0"}, "--head");
  check_refused({"--scores", good, "--gap", "-1"}, "--gap: is not positive");
  check_refused({"--scores", good, "--factors", "4,2"}, "--factors");
  check_refused({"--scores", file("two.npy", normal_scores(128, 1, 4), {2, 8, 8}), "--plot", folder.file("x.svg")},
                "--plot is about one head (needs --head");
}

TEST_CASE("a needle that equal weights would favor has a report, with the reason for the missing rule", "[calibrate]") {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("s.npy", npy("<f8", false, "(100, 128)", bytes_of(normal_scores(100 * 128, 2, 5))));
  for (const char* gap : {"0.5", "1", "4"}) {
    CAPTURE(gap);
    const Finished finished = run_program("calibrate", {"--scores", file, "--head", "0,0", "--gap", gap});
    CHECK(finished.exit_code == 0);
    CHECK(finished.output.find("nan") == std::string::npos);
    const bool has_reason =
        finished.output.find("exact: the needle's weight at inverse temperature 1") != std::string::npos;
    CHECK(has_reason == (std::string(gap) != "4"));
  }
}

TEST_CASE("a file that is shortened while it is read ends the program with one line", "[calibrate]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("big.npy", npy("<f2", false, "(20000, 20000)", ""));
  const auto whole = std::filesystem::file_size(file) + std::uintmax_t{2} * 20000 * 20000;
  std::filesystem::resize_file(file, whole);  // a sparse file: no disk is used
  RunningProgram running("calibrate", {"--scores", file}, folder);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  std::filesystem::resize_file(file, 100000);
  const Finished finished = running.wait();
  CAPTURE(finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.output.empty());
  CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
  // before it was opened, within its header, or while it was read
  CHECK(std::regex_search(finished.errors, std::regex("was cut off while it was read|data is cut off")));
}

TEST_CASE("a file of more heads than any model has is refused before it is read", "[calibrate]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("many.npy", npy("<f2", false, "(1000, 1000, 2, 2)", ""));
  std::filesystem::resize_file(file, std::filesystem::file_size(file) + 8000000);
  check_refused({"--scores", file}, "has too many heads (value = 1000 x 1000 x 2 x 2; needs at most 100000");
}

}  // namespace calibrate_program_test
