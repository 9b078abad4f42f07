#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/catch.hpp"

/// Reading of the reference values in tests/oracles/classification.json: decimal strings, each case with its tolerance.
namespace incontext::testing {

using Json = nlohmann::json;

inline double number(const Json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : value.get<double>();
}

/// All numbers of a list, however deeply nested, end to end.
inline std::vector<double> numbers(const Json& list) {
  if (!list.is_array()) return {number(list)};
  std::vector<double> all;
  for (const Json& value : list) {
    const auto part = numbers(value);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// All cases of one kind; at least one, so that a renamed kind is noticed.
inline std::vector<Json> cases(const std::string& kind) {
  static const Json all = [] {
    std::ifstream file(INCONTEXT_ORACLES "/classification.json");
    REQUIRE(file.good());
    return Json::parse(file);
  }();
  std::vector<Json> found;
  for (const Json& one : all.at("cases")) {
    if (one.at("kind") == kind) found.push_back(one);
  }
  REQUIRE(!found.empty());
  return found;
}

/// The file's rule: the largest error against the largest entry; NaN never agrees.
inline bool agrees(const std::vector<double>& value, const std::vector<double>& reference, double tolerance) {
  if (value.size() != reference.size()) return false;
  double largest = 0.0, error = 0.0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    largest = std::max(largest, std::abs(reference[i]));
    if (!(std::abs(value[i] - reference[i]) <= error)) error = std::abs(value[i] - reference[i]);
  }
  return error <= tolerance * largest;
}

/// Checks one output of a case, and that the same comparison refuses it with one relative part in 10^5 more.
inline void check_output(const Json& one, const Json& expected, std::vector<double> value) {
  const auto reference = numbers(expected);
  const double tolerance = number(one.at("rtol"));
  INFO(one.at("id") << ": " << Json(value).dump() << " against " << Json(reference).dump());
  CHECK(agrees(value, reference, tolerance));
  const auto largest =
      std::max_element(value.begin(), value.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  if (*largest == 0.0) return;
  *largest *= 1 + 1e-5;
  CHECK_FALSE(agrees(value, reference, tolerance));
}

inline void check_output(const Json& one, const std::string& key, double value) {
  check_output(one, one.at("out").at(key), std::vector<double>{value});
}

}  // namespace incontext::testing
