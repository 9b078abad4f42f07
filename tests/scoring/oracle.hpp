#pragma once

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"

/// Reading of the reference values in tests/oracles/scoring.json: decimal strings, each case with its own tolerance.
namespace incontext::testing {

using Json = nlohmann::json;

inline double number(const Json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : value.get<double>();
}

inline std::vector<double> numbers(const Json& list) {
  std::vector<double> row;
  for (const Json& value : list) row.push_back(number(value));
  return row;
}

/// A list of rows, end to end.
inline std::vector<double> flat(const Json& list) {
  std::vector<double> all;
  for (const Json& row : list) {
    for (const Json& value : row) all.push_back(number(value));
  }
  return all;
}

inline const Json& scoring_oracles() {
  static const Json all = [] {
    std::ifstream file(INCONTEXT_ORACLES "/scoring.json");
    REQUIRE(file.good());
    return Json::parse(file);
  }();
  return all;
}

/// All cases of one kind; at least one, so that a renamed kind is noticed.
inline std::vector<Json> cases(const std::string& kind) {
  std::vector<Json> found;
  for (const Json& one : scoring_oracles().at("cases")) {
    if (one.at("kind") == kind) found.push_back(one);
  }
  REQUIRE(!found.empty());
  return found;
}

/// Whether value agrees with the reference under the case's own tolerance; NaN never does.
inline bool agrees(double value, double reference, const Json& one) {
  return std::abs(value - reference) <= number(one.at("rtol")) * std::abs(reference) + number(one.at("atol"));
}

inline bool agrees(const std::vector<double>& value, const std::vector<double>& reference, const Json& one) {
  bool all = value.size() == reference.size();
  for (std::size_t i = 0; all && i < value.size(); ++i) all = agrees(value[i], reference[i], one);
  return all;
}

/// Checks one output of a case, and that the same comparison refuses the output with one relative part in 10^6 more.
inline void check_output(const Json& one, const std::string& key, std::vector<double> value) {
  const Json& expected = one.at("out").at(key);
  const std::vector<double> reference = expected.is_array()
                                            ? (expected.front().is_array() ? flat(expected) : numbers(expected))
                                            : std::vector<double>{number(expected)};
  INFO(one.at("id") << " " << key << ": " << Json(value).dump() << " against " << Json(reference).dump());
  CHECK(agrees(value, reference, one));
  for (double& x : value) {
    if (std::abs(x) * 1e-6 <= number(one.at("atol")) || number(one.at("rtol")) >= 1e-6) continue;
    const double kept = x;
    x *= 1 + 1e-6;
    CHECK_FALSE(agrees(value, reference, one));
    x = kept;
  }
}

inline void check_output(const Json& one, const std::string& key, double value) {
  check_output(one, key, std::vector<double>{value});
}

}  // namespace incontext::testing
