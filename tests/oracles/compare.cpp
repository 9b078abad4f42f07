#include "tests/oracles/kinds/compare.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"
#include "tests/oracles/kinds/cases.hpp"

using namespace incontext::oracles;
using incontext::testing::message_of;
using incontext::testing::part;

namespace {

constexpr Tolerance tight{.relative = 1e-12, .absolute = 1e-14};

bool agrees(const Json& computed, const Json& reference, const Tolerance& tolerance = tight) {
  return compare(computed, reference, tolerance, "").agrees();
}

Registry doubling() {
  return {{"double", [](const Fields& in) -> Json { return {{"value", 2 * in.number("x")}}; }}};
}

EvaluatedCase evaluated(const std::string& text) {
  return evaluate_cases(parse_json("{\"cases\": [" + text + "]}"), doubling()).front();
}

std::string refusal(const std::string& text) {
  return message_of<InputError>([&] { evaluated(text); });
}

}  // namespace

TEST_CASE("numbers agree within rtol |ref| + atol and not beyond", "[oracles]") {
  CHECK(agrees(2.0, "2.000000000000000000"));
  CHECK(agrees(2.0 + 1.9e-12, "2"));
  CHECK_FALSE(agrees(2.0 + 2.1e-12, "2"));
  CHECK(agrees(0.9e-14, 0));
  CHECK_FALSE(agrees(1.1e-14, 0));
  CHECK(agrees(3, 3));
  CHECK(agrees(0.0, "1e-310", {.relative = 1e-12}));
  CHECK(agrees(1e-310, "0", {.relative = 1e-12}));
  CHECK_FALSE(agrees(1e-300, "0", {.relative = 1e-12}));
}

TEST_CASE("what is not a number never agrees; an infinity agrees with itself alone", "[oracles]") {
  CHECK_FALSE(agrees(NAN, "2"));
  CHECK_FALSE(agrees(2.0, "nan"));
  CHECK_FALSE(agrees(NAN, "2"));
  CHECK(agrees(NAN, "nan"));  // the reference says so
  CHECK(agrees(INFINITY, "inf"));
  CHECK_FALSE(agrees(INFINITY, "-inf"));
  CHECK_FALSE(agrees(1e308, "inf"));
  CHECK_FALSE(agrees(INFINITY, "1"));
  CHECK_FALSE(agrees("two", "2"));
  CHECK_FALSE(agrees(nullptr, "2"));
  CHECK(agrees(nullptr, nullptr));
  CHECK(agrees("frozen", "frozen"));
  CHECK_FALSE(agrees("frozen", "molten"));
}

TEST_CASE("arrays agree number by number, and the worst place is named", "[oracles]") {
  const Json reference = Json::parse(R"([["1", "2"], ["3", "4"]])");
  CHECK(agrees(Json::parse("[[1, 2], [3, 4]]"), reference));
  CHECK_FALSE(agrees(Json::parse("[1, 2]"), Json::parse("[1, 2, 3]")));
  CHECK_FALSE(agrees(Json::parse("[1, 2, 3]"), Json::parse("[1, 2]")));
  CHECK_FALSE(agrees(1.0, Json::array({"1"})));
  CHECK_FALSE(agrees(Json::array({1.0}), "1"));
  Json computed = Json::parse("[[1, 2.000000001], [3.000001, 4]]");
  CHECK(compare(computed, reference, tight, "m").place == "m[1][0]");
  computed[1][1] = NAN;
  CHECK(compare(computed, reference, tight, "m").place == "m[1][1]");
  CHECK(compare(Json::parse(R"({"a": [1]})"), Json::parse(R"({"a": ["2"]})"), tight, "").place == "a[0]");
  CHECK(compare(Json::parse(R"({"a": 1})"), Json::parse(R"({"b": 1})"), tight, "").problem == "not computed");
}

TEST_CASE("tolerance by the largest entry of the array, where the file says so", "[oracles]") {
  const Json computed = Json::parse("[100, 1e-9]");
  const Json reference = Json::parse(R"(["100", "0"])");
  CHECK_FALSE(agrees(computed, reference, {.relative = 1e-10}));
  CHECK(agrees(computed, reference, {.relative = 1e-10, .relative_to_largest_entry = true}));
  CHECK_FALSE(agrees(computed, reference, {.relative = 1e-12, .relative_to_largest_entry = true}));
  CHECK_FALSE(agrees(1e-9, "0", {.relative = 1e-10, .relative_to_largest_entry = true}));
}

TEST_CASE("what keeps a case from agreeing is said, and a case that nothing tries does not agree", "[oracles]") {
  const auto problem = [](const std::string& text) { return problem_of(evaluated(text)); };
  CHECK(problem(R"({"id": "a", "kind": "double", "in": {"x": "2"}, "out": {"value": "4"}, "rtol": "1e-12"})").empty());
  CHECK(problem(R"({"id": "b", "kind": "double", "in": {"x": 2}, "out": {"value": "4.1"}, "rtol": "1e-12"})") ==
        "b: value: too far apart, computed 4.0, reference \"4.1\"");
  CHECK(problem(R"({"id": "c", "kind": "double", "in": {"x": 2}})") == "c: has no reference");
  CHECK(problem(R"({"id": "d", "kind": "halve", "in": {}, "out": {"value": 1}})") == "d: kind halve is unknown");
  CHECK(problem(R"({"id": "e", "kind": "double", "in": {"x": 2}, "out": {"value": 4, "other": 1}, "rtol": 0})") ==
        part("e: other: not computed"));
  CHECK(problem(R"({"id": "h", "kind": "double", "in": {"x": "1e308"}, "out": {"value": "inf"}, "rtol": 0})").empty());
}

TEST_CASE("a key that is there twice in an object is refused", "[oracles]") {
  CHECK(message_of<InputError>([] { parse_json(R"({"x": 2, "y": {"x": 1}, "x": 3})"); }) ==
        part("has a key twice in one object (value = x;"));
  CHECK(parse_json(R"([{"x": 2}, {"x": 3}])").size() == 2);
}

TEST_CASE("one output of a case can have a tolerance of its own", "[oracles]") {
  const auto agrees = [](const std::string& rest) {
    return problem_of(
               evaluated(R"({"id": "a", "kind": "double", "in": {"x": 2}, "out": {"value": "4.0001"}, )" + rest + "}"))
        .empty();
  };
  CHECK(agrees(R"("rtol": "1e-3")"));
  CHECK_FALSE(agrees(R"("rtol": "1e-3", "tolerances": {"value": {"rtol": "1e-6"}})"));
  CHECK(agrees(R"("rtol": "1e-6", "tolerances": {"value": {"rtol": "0", "atol": "1e-3"}})"));
}

TEST_CASE("bad cases are refused by case, field and value", "[oracles]") {
  CHECK(refusal("{}") == part("case number 1: field is missing (value = id"));
  CHECK(refusal(R"({"id": "a"})") == part("case a: field is missing (value = kind"));
  const std::string judged = R"({"id": "a", "kind": "double", "in": {"x": 2}, "out": {"value": 4}, "rtol": 0, )";
  CHECK(refusal(judged + R"("tolerances": {"valeu": {"rtol": 1}}})") == part("a.tolerances: names no reference"));
  CHECK(refusal(judged + R"("tolerances": {"value": {"rtol": -1}}})") == part("tolerance is negative"));
  CHECK(refusal(R"({"id": "a", "kind": "double", "in": {}})") == part("case a.in: field is missing (value = x"));
  CHECK(refusal(R"({"id": "a", "kind": "double", "in": {"x": "2,5"}})") ==
        part("case a.in.x: is not a number (value = \"2,5\""));
  CHECK(refusal(R"({"id": "a", "kind": "double", "in": {"x": 1}, "out": {"value": 2}})") ==
        part("case a: field is missing (value = rtol"));
}

TEST_CASE("matrices are read whole or refused by entry", "[oracles]") {
  const Json object = Json::parse(R"({"m": [["1", 2], ["3", "4.5"]], "ragged": [[1, 2], [3]], "hole": [[1, "x"]]})");
  const Fields fields(object, "in");
  CHECK(fields.matrix("m") == (Eigen::MatrixXd(2, 2) << 1, 2, 3, 4.5).finished());
  CHECK(message_of<InputError>([&] { fields.matrix("ragged"); }) == part("in.ragged[1]: has the wrong size"));
  CHECK(message_of<InputError>([&] { fields.matrix("hole"); }) == part("in.hole[0][1]: is not a number"));
  CHECK(message_of<InputError>([&] { fields.vector("m"); }) == part("in.m[0]: is not a number"));
}
