#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/text.hpp"

/// Reads a case's inputs out of JSON: numbers are decimal strings or JSON numbers, arrays may be nested.
namespace incontext::oracles {

using Json = nlohmann::ordered_json;
using examples::InputError, examples::throw_input_error, examples::parse_decimal, examples::shown;

/// A number of the oracle format, correctly rounded; nothing if `value` is no number.
inline std::optional<double> oracle_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.get_ref<const std::string&>();
  if (text == "inf" || text == "-inf") return text == "inf" ? INFINITY : -INFINITY;
  if (text == "nan") return NAN;
  return parse_decimal(text);
}

/// One JSON object and its path in the file, which every error message names.
class Fields {
 public:
  Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
    if (!object.is_object()) refuse(path_, "is not an object", object, "{...}");
  }

  bool has(const std::string& name) const { return object_.contains(name); }
  const std::string& path() const { return path_; }

  Fields object(const std::string& name) const { return {at(name), path_ + "." + name}; }

  std::string text(const std::string& name) const {
    if (!at(name).is_string()) refuse(path_ + "." + name, "is not a text", at(name), "\"...\"");
    return at(name).get<std::string>();
  }

  bool flag(const std::string& name) const {
    if (!at(name).is_boolean()) refuse(path_ + "." + name, "is not a truth value", at(name), "true or false");
    return at(name).get<bool>();
  }

  double number(const std::string& name) const { return finite(at(name), path_ + "." + name); }

  double positive(const std::string& name) const {
    const double value = number(name);
    if (!(value > 0)) refuse(path_ + "." + name, "is not positive", at(name), "0 < value");
    return value;
  }

  double non_negative(const std::string& name) const {
    const double value = number(name);
    if (!(value >= 0)) refuse(path_ + "." + name, "is negative", at(name), "0 <= value");
    return value;
  }

  std::int64_t count(const std::string& name) const {
    const double value = number(name);
    if (value != std::floor(value) || !(std::abs(value) < 9e15)) {
      refuse(path_ + "." + name, "is not a whole number", at(name), "a whole number");
    }
    return static_cast<std::int64_t>(value);
  }

  std::int64_t count(const std::string& name, std::int64_t minimum) const {
    const std::int64_t value = count(name);
    if (value < minimum) refuse(path_ + "." + name, "is too small", at(name), "at least " + std::to_string(minimum));
    return value;
  }

  /// The index of a word in a fixed list of words.
  std::size_t choice(const std::string& name, const std::vector<std::string>& words) const {
    const std::string word = text(name);
    std::string known;
    for (std::size_t i = 0; i < words.size(); ++i) {
      if (words[i] == word) return i;
      known += (i == 0 ? "" : " | ") + words[i];
    }
    refuse(path_ + "." + name, "is unknown", at(name), known);
  }

  Eigen::VectorXd vector(const std::string& name) const {
    const std::string path = path_ + "." + name;
    const Json& array = array_at(at(name), path);
    Eigen::VectorXd values(static_cast<Eigen::Index>(array.size()));
    for (std::size_t i = 0; i < array.size(); ++i) {
      values(static_cast<Eigen::Index>(i)) = finite(array[i], path + index(i));
    }
    return values;
  }

  Eigen::VectorXd vector(const std::string& name, Eigen::Index size) const {
    Eigen::VectorXd values = vector(name);
    if (values.size() != size) {
      refuse(path_ + "." + name, "has the wrong size", values.size(), std::to_string(size) + " numbers");
    }
    return values;
  }

  /// A row of scores: numbers, or -inf where a key is masked; at least one is visible.
  Eigen::VectorXd scores(const std::string& name) const { return score_row(at(name), path_ + "." + name); }

  /// A lower triangle of scores, as under a causal mask: each row has one score more than the row before.
  Eigen::MatrixXd lower_triangle(const std::string& name) const {
    const std::string path = path_ + "." + name;
    const Json& rows = array_at(at(name), path);
    const auto size = static_cast<Eigen::Index>(rows.size());
    Eigen::MatrixXd values = Eigen::MatrixXd::Zero(size, size);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const Eigen::VectorXd row = score_row(rows[i], path + index(i));
      if (row.size() != static_cast<Eigen::Index>(i) + 1) {
        refuse(path + index(i), "has the wrong size", row.size(), std::to_string(i + 1) + " numbers");
      }
      values.row(static_cast<Eigen::Index>(i)).head(row.size()) = row.transpose();
    }
    return values;
  }

  Eigen::MatrixXd matrix(const std::string& name) const {
    const std::string path = path_ + "." + name;
    const Json& rows = array_at(at(name), path);
    const std::size_t columns = array_at(rows[0], path + index(0)).size();
    Eigen::MatrixXd values(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(columns));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string here = path + index(i);
      const Json& row = array_at(rows[i], here);
      if (row.size() != columns) {
        refuse(here, "has the wrong size", row.size(), std::to_string(columns) + " numbers");
      }
      for (std::size_t j = 0; j < columns; ++j) {
        values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = finite(row[j], here + index(j));
      }
    }
    return values;
  }

 private:
  [[noreturn]] static void refuse(const std::string& path, std::string_view problem, const Json& value,
                                  std::string_view needs) {
    throw_input_error(path, problem, value.dump(-1, ' ', false, Json::error_handler_t::replace), needs);
  }
  static std::string index(std::size_t i) { return "[" + std::to_string(i) + "]"; }

  const Json& at(const std::string& name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) throw_input_error(path_, "field is missing", name, "this field");
    return *found;
  }
  static const Json& array_at(const Json& value, const std::string& path) {
    if (!value.is_array() || value.empty()) refuse(path, "is not an array with entries", value, "[...]");
    return value;
  }
  static Eigen::VectorXd score_row(const Json& value, const std::string& path) {
    const Json& array = array_at(value, path);
    Eigen::VectorXd values(static_cast<Eigen::Index>(array.size()));
    bool visible = false;
    for (std::size_t i = 0; i < array.size(); ++i) {
      const bool masked = oracle_number(array[i]) == -INFINITY;
      values(static_cast<Eigen::Index>(i)) = masked ? -INFINITY : finite(array[i], path + index(i));
      visible = visible || !masked;
    }
    if (!visible) refuse(path, "has no visible score", value, "a score above -inf");
    return values;
  }
  static double finite(const Json& value, const std::string& path) {
    const auto number = oracle_number(value);
    if (!number) refuse(path, "is not a number", value, "a number or a decimal string");
    if (!std::isfinite(*number)) refuse(path, "is not finite", value, "a finite number");
    return *number;
  }

  const Json& object_;
  std::string path_;
};

inline Json to_json(const Eigen::VectorXd& vector) {
  Json numbers = Json::array();
  for (const double number : vector) numbers.push_back(number);
  return numbers;
}

inline Json to_json(const Eigen::MatrixXd& matrix) {
  Json rows = Json::array();
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) rows.push_back(to_json(Eigen::VectorXd(matrix.row(i))));
  return rows;
}

}  // namespace incontext::oracles
