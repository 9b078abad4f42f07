#include "examples/evaluate/compare.hpp"

#include <string>

#include "examples/evaluate/cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using incontext::examples::evaluate::compare, incontext::examples::evaluate::evaluate_cases,
    incontext::examples::evaluate::Fields, incontext::examples::evaluate::Json, incontext::examples::evaluate::Registry,
    incontext::examples::evaluate::report_cases, incontext::examples::evaluate::ReportedRows,
    incontext::examples::evaluate::Tolerance;
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

std::string cases_refusal(const std::string& text) {
  return message_of<InputError>([&] { evaluate_cases("f.json", text, doubling()); });
}

}  // namespace

TEST_CASE("numbers agree within rtol |ref| + atol and not beyond", "[evaluate]") {
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

TEST_CASE("what is not a number never agrees; an infinity agrees with itself alone", "[evaluate]") {
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

TEST_CASE("arrays agree number by number, and the worst place is named", "[evaluate]") {
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

TEST_CASE("tolerance by the largest entry of the array, where the file says so", "[evaluate]") {
  const Json computed = Json::parse("[100, 1e-9]");
  const Json reference = Json::parse(R"(["100", "0"])");
  CHECK_FALSE(agrees(computed, reference, {.relative = 1e-10}));
  CHECK(agrees(computed, reference, {.relative = 1e-10, .relative_to_largest_entry = true}));
  CHECK_FALSE(agrees(computed, reference, {.relative = 1e-12, .relative_to_largest_entry = true}));
  CHECK_FALSE(agrees(1e-9, "0", {.relative = 1e-10, .relative_to_largest_entry = true}));
}

TEST_CASE("cases are judged, counted, and reported", "[evaluate]") {
  const auto report = [](const std::string& cases) {
    return report_cases(evaluate_cases("f", "{\"cases\": [" + cases + "]}", doubling()), ReportedRows::all);
  };
  const std::string good = R"({"id": "a", "kind": "double", "in": {"x": "2"}, "out": {"value": "4"}, "rtol": "1e-12"})";
  const std::string off = R"({"id": "b", "kind": "double", "in": {"x": 2}, "out": {"value": "4.1"}, "rtol": "1e-12"})";
  const std::string alone = R"({"id": "c", "kind": "double", "in": {"x": 2}})";
  const std::string foreign = R"({"id": "d", "kind": "halve", "in": {}, "out": {"value": 1}})";
  const std::string more = R"({"id": "e", "kind": "double", "in": {"x": 2}, "out": {"other": 1}, "rtol": 0})";
  const std::string infinite = R"({"id": "g", "kind": "double", "in": {"x": "1e308"}})";
  const std::string said_so =
      R"({"id": "h", "kind": "double", "in": {"x": "1e308"}, "out": {"value": "inf"}, "rtol": 0})";
  CHECK(report(good).verdict->agrees == true);
  CHECK(report(off).verdict->agrees == false);
  CHECK(report(more).verdict->agrees == false);
  CHECK(report(said_so).verdict->agrees == true);
  for (const std::string& left : {alone, foreign, infinite}) {
    CHECK_FALSE(report(left).verdict->agrees.has_value());
    CHECK_FALSE(report(good + "," + left).verdict->agrees.has_value());
    CHECK(report(off + "," + left).verdict->agrees == false);
  }
  const auto all = *report(good + "," + off + "," + alone + "," + foreign + "," + infinite).verdict;
  CHECK(all.details["agree"] == 1);
  CHECK(all.details["disagree"] == 1);
  CHECK(all.details["without_reference"] == 1);
  CHECK(all.details["not_implemented"] == 1);
  CHECK(all.details["not_finite"] == 1);
  CHECK(all.rows == std::vector<std::string>{"Disagrees: b: value: too far apart, computed 4.0, reference \"4.1\".",
                                             "Not judged: c: no reference.", "Not judged: d: kind halve is unknown.",
                                             "Not judged: g: value is \"inf\", and no reference says so."});
}

TEST_CASE("people see the rows that do not agree, or all on demand", "[evaluate]") {
  const auto rows = [](const std::string& value, ReportedRows reported) {
    const std::string one =
        R"({"id": "a", "kind": "double", "in": {"x": 2}, "out": {"value": )" + value + R"(}, "rtol": 0})";
    const auto tables = report_cases(evaluate_cases("f", "{\"cases\": [" + one + "]}", doubling()), reported).tables;
    return tables.empty() ? 0 : tables.front().rows.size();
  };
  CHECK(rows("4", ReportedRows::not_agreeing) == 0);
  CHECK(rows("5", ReportedRows::not_agreeing) == 1);
  CHECK(rows("4", ReportedRows::all) == 1);
  CHECK(rows("4", ReportedRows::in_full) == 1);
}

TEST_CASE("a key that stands twice in an object is refused", "[evaluate]") {
  const std::string one = R"({"id": "a", "kind": "double", "in": {"x": 2}})";
  CHECK(cases_refusal("{\"cases\": [], \"cases\": [" + one + "]}") ==
        part("f.json: has a key twice in one object (value = cases; needs every key once)"));
  CHECK(cases_refusal(R"({"cases": [{"id": "a", "kind": "double", "in": {"x": 2, "x": 3}}]})") == part("(value = x;"));
  const std::string apart = R"({"id": "b", "kind": "double", "in": {"x": 2}})";  // the same keys in another object
  CHECK(evaluate_cases("f", "{\"cases\": [" + one + "," + apart + "]}", doubling()).size() == 2);
}

TEST_CASE("one output of a case can have a tolerance of its own", "[evaluate]") {
  const auto agrees = [](const std::string& rest) {
    const std::string one =
        R"({"id": "a", "kind": "double", "in": {"x": 2}, "out": {"value": "4.0001"}, )" + rest + "}";
    return report_cases(evaluate_cases("f", "{\"cases\": [" + one + "]}", doubling()), ReportedRows::all)
        .verdict->agrees;
  };
  CHECK(agrees(R"("rtol": "1e-3")") == true);
  CHECK(agrees(R"("rtol": "1e-3", "tolerances": {"value": {"rtol": "1e-6"}})") == false);
  CHECK(agrees(R"("rtol": "1e-6", "tolerances": {"value": {"rtol": "0", "atol": "1e-3"}})") == true);
}

TEST_CASE("an empty list of cases is refused", "[evaluate]") {
  CHECK(cases_refusal("{\"cases\": []}") == part("f.json: has an empty list of cases"));
}

TEST_CASE("bad cases are refused by case, field and value", "[evaluate]") {
  const auto with = [](const std::string& one) { return cases_refusal("{\"cases\": [" + one + "]}"); };
  CHECK(cases_refusal("{\"cases\": [1,") == part("f.json: is not JSON"));
  CHECK(cases_refusal("{\"cases\": [NaN]}") == part("f.json: is not JSON"));
  CHECK(cases_refusal("[]") == part("f.json: is not an object"));
  CHECK(cases_refusal("{}") == part("has no array of cases"));
  CHECK(cases_refusal(std::string(100000, '[')) == part("is nested too deeply"));
  CHECK(with("7") == part("case number 1: is not an object (value = 7"));
  CHECK(with("{}") == part("case number 1: field is missing (value = id"));
  CHECK(with(R"({"id": "a"})") == part("case a: field is missing (value = kind"));
  const std::string judged = R"({"id": "a", "kind": "double", "in": {"x": 2}, "out": {"value": 4}, "rtol": 0, )";
  CHECK(with(judged + R"("tolerances": {"valeu": {"rtol": 1}}})") == part("a.tolerances: names no reference"));
  CHECK(with(judged + R"("tolerances": {"value": 1}})") == part("tolerances.value: is not an object"));
  CHECK(with(judged + R"("tolerances": {"value": {"rtol": -1}}})") == part("tolerance is negative"));
  CHECK(with(R"({"id": "a", "kind": "double"})") == part("case a: field is missing (value = in"));
  CHECK(with(R"({"id": "a", "kind": "double", "in": {}})") == part("case a.in: field is missing (value = x"));
  CHECK(with(R"({"id": "a", "kind": "double", "in": {"x": "2,5"}})") ==
        part("case a.in.x: is not a number (value = \"2,5\""));
  CHECK(with(R"({"id": "a", "kind": "double", "in": {"x": "inf"}})") == part("case a.in.x: is not finite"));
  CHECK(with(R"({"id": "a", "kind": "double", "in": {"x": 1}, "out": {"value": 2}})") ==
        part("case a: field is missing (value = rtol"));
  CHECK(with(R"({"id": "a", "kind": "double", "in": {"x": 1}, "out": {}, "rtol": "-1"})") ==
        part("case a: tolerance is negative"));
  CHECK(with(R"({"id": "a", "kind": "double", "in": {"x": 1}, "out": 2, "rtol": "1"})") ==
        part("case a.out: is not an object"));
}

TEST_CASE("matrices are read whole or refused by entry", "[evaluate]") {
  const Json object = Json::parse(R"({"m": [["1", 2], ["3", "4.5"]], "ragged": [[1, 2], [3]], "hole": [[1, "x"]]})");
  const Fields fields(object, "in");
  CHECK(fields.matrix("m") == (Eigen::MatrixXd(2, 2) << 1, 2, 3, 4.5).finished());
  CHECK(message_of<InputError>([&] { fields.matrix("ragged"); }) == part("in.ragged[1]: has the wrong size"));
  CHECK(message_of<InputError>([&] { fields.matrix("hole"); }) == part("in.hole[0][1]: is not a number"));
  CHECK(message_of<InputError>([&] { fields.vector("m"); }) == part("in.m[0]: is not a number"));
}
