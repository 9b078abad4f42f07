#include "examples/verify/questions.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "examples/support/text.hpp"
#include "incontext/core/contracts.hpp"

namespace incontext::examples::verify {

namespace {

/// A value with its standard error.
struct Value {
  double value = 0;
  double error = 0;
  std::int64_t values = 0;
};

/// What a row, or a pair of rows, says at a place.
struct Point {
  std::size_t row = 0;
  double place = 0;
  Value value = {};
};

/// A number with as many digits as its error has meaning for.
std::string text_of(const Value& value) {
  if (!(value.error > 0)) return short_text(value.value, 5);
  const double digits = std::floor(std::log10(std::abs(value.value) / value.error)) + 2;
  const int shown = std::isfinite(digits) ? static_cast<int>(std::clamp(digits, 2.0, 8.0)) : 3;
  return short_text(value.value, shown) + " ± " + short_text(value.error, 2);
}

/// Two values, computed ones with as many digits as tell them apart.
std::string text_of_both(const Value& a, const Value& b) {
  std::string one = text_of(a), other = text_of(b);
  for (int digits = 6; one == other && digits <= 15 && !(a.error > 0) && !(b.error > 0); ++digits) {
    one = short_text(a.value, digits);
    other = short_text(b.value, digits);
  }
  return one + " against " + other;
}

/// A value and a multiple of another.
std::string text_of_both(const Value& a, double factor, const Value& b) {
  return factor == 1 ? text_of_both(a, b) : text_of(a) + " against " + short_text(factor, 6) + " times " + text_of(b);
}

Value minus(const Value& a, const Value& b) {
  return {a.value - b.value, a.error + b.error, std::min(a.values, b.values)};
}

Value times(double factor, const Value& a) { return {factor * a.value, std::abs(factor) * a.error, a.values}; }

Value over(const Value& a, const Value& b) {
  const double ratio = a.value / b.value;
  return {ratio, a.error / std::abs(b.value) + std::abs(ratio / b.value) * b.error, std::min(a.values, b.values)};
}

Comparison positive(const Value& difference, bool needed = true) {
  return {difference.value, difference.error, difference.values, needed};
}

/// The points that a group asks about.
class Asked {
 public:
  Asked(const RowGroup& group, const std::vector<Row>& rows) : group_(group), rows_(rows) {}

  std::vector<Point> points() {
    std::vector<Point> all = at(group_.rows.where);
    for (Point& point : all) {
      if (!group_.less.empty()) point.value = minus(point.value, paired(group_.less, point));
      if (!group_.over.empty()) point.value = over(point.value, paired(group_.over, point));
    }
    std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) { return a.place < b.place; });
    if (all.empty() && missing_.empty()) missing_ = no_row_text(group_.rows) + " has a finite " + group_.value;
    return all;
  }

  /// What a point is compared with.
  Value other(const Point& point) {
    if (group_.than) return {*group_.than, 0, most};
    if (!group_.than_rows.empty() && group_.than_column.empty()) return paired(group_.than_rows, point);
    if (!group_.than_rows.empty()) return paired(group_.than_rows, point, group_.than_column, group_.than_error);
    const double value = number_of(rows_[point.row], group_.than_column);
    const double error = group_.than_error.empty() ? 0 : number_of(rows_[point.row], group_.than_error);
    if (std::isnan(value) || std::isnan(error)) missing_ = "a row has no " + group_.than_column;
    return {value, error, error > 0 ? count_of(rows_[point.row]) : most};
  }

  const std::string& missing() const { return missing_; }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 40;

  /// Errors of rows that state no count are taken to be those of many values.
  static std::int64_t count_of(const Row& row) { return row.values > 0 ? row.values : most; }

  std::vector<Point> at(const std::vector<Key>& where) const { return at(where, group_.value, group_.error); }

  std::vector<Point> at(const std::vector<Key>& where, const std::string& column,
                        const std::string& error_column) const {
    Selection selection = group_.rows;
    selection.where = where;
    std::vector<Point> points;
    for (const std::size_t i : selected(rows_, selection)) {
      const double value = number_of(rows_[i], column);
      const double error = error_column.empty() ? 0 : number_of(rows_[i], error_column);
      const double place =
          group_.along.empty() ? static_cast<double>(points.size()) : number_of(rows_[i], group_.along);
      if (!std::isfinite(value) || !std::isfinite(place) || !std::isfinite(error)) continue;
      if (!is_within(group_, rows_[i])) continue;
      points.push_back({i, place, {value, error, error > 0 ? count_of(rows_[i]) : most}});
    }
    return points;
  }

  Value paired(const std::vector<Key>& where, const Point& point) {
    return paired(where, point, group_.value, group_.error);
  }

  Value paired(const std::vector<Key>& where, const Point& point, const std::string& column,
               const std::string& error_column) {
    std::optional<Value> found;
    std::size_t count = 0;
    for (const Point& one : at(where, column, error_column)) {
      if (one.place != point.place || rows_[one.row].command != rows_[point.row].command) continue;
      found = one.value;
      ++count;
    }
    if (count == 1) return *found;
    if (!missing_.empty()) return {};
    missing_ = std::to_string(count) + " rows to compare with at " + group_.along + " = " + short_text(point.place, 6);
    return {};
  }

  const RowGroup& group_;
  const std::vector<Row>& rows_;
  std::string missing_ = {};
};

std::string place_of(const RowGroup& group, const Point& point) {
  if (group.along.empty()) return "";
  std::string column = group.along;
  std::replace(column.begin(), column.end(), '_', ' ');
  return " at " + column + " " + short_text(point.place, 6);
}

void ask_for_trend(const RowGroup& group, const std::vector<Point>& points, Answer& answer) {
  if (points.size() < 2) {
    answer.missing = "a trend needs two rows";
    return;
  }
  const double sign = group.question == Question::rises ? 1 : -1;
  const auto step = [&](const Point& from, const Point& to) { return times(sign, minus(to.value, from.value)); };
  answer.comparisons.push_back(positive(step(points.front(), points.back())));
  for (std::size_t i = 1; i < points.size(); ++i) {
    answer.comparisons.push_back(positive(step(points[i - 1], points[i]), false));
  }
  answer.text = "from " + text_of(points.front().value) + place_of(group, points.front()) + " to " +
                text_of(points.back().value) + place_of(group, points.back());
}

void ask_for_order(const RowGroup& group, const std::vector<Point>& points, Asked& asked, Answer& answer) {
  const double sign = group.question == Question::above ? 1 : -1;
  double least = INFINITY;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point& point = points[i];
    const Value one = asked.other(point), other = times(group.factor, one);
    const Value difference = times(sign, minus(point.value, other));
    answer.comparisons.push_back(positive(difference));
    const double distance = difference.value / std::max(std::abs(other.value), 1e-300);
    if (!(distance < least)) continue;
    least = distance;
    answer.text = std::string(points.size() > 1 ? "closest" : "") + place_of(group, point);
    answer.text += (answer.text.empty() ? "" : ": ") + text_of_both(point.value, group.factor, one);
  }
  if (answer.text.starts_with(" ")) answer.text.erase(0, 1);
}

void ask_for_number(const RowGroup& group, const std::vector<Point>& points, Answer& answer) {
  for (const Point& point : points) {
    const double off = std::abs(point.value.value - *group.than);
    answer.comparisons.push_back(positive({group.tolerance - off, point.value.error, point.value.values}, false));
    answer.text += (answer.text.empty() ? "" : ", ") + text_of(point.value);
  }
  answer.text += " against " + short_text(*group.than, 6);
}

void ask_for_steadiness(const RowGroup& group, const std::vector<Point>& points, Answer& answer) {
  const Value& first = points.front().value;
  auto [least, most] = std::pair(first, first);
  for (const Point& point : points) {
    if (point.value.value < least.value) least = point.value;
    if (point.value.value > most.value) most = point.value;
    if (&point == &points.front()) continue;
    answer.comparisons.push_back(positive(minus(times(group.factor, first), point.value)));
    answer.comparisons.push_back(positive(minus(times(group.factor, point.value), first)));
  }
  answer.text = "between " + text_of(least) + " and " + text_of(most);
}

}  // namespace

Answer ask(const RowGroup& group, const std::vector<Row>& rows) {
  Asked asked(group, rows);
  const std::vector<Point> points = asked.points();
  Answer answer;
  for (const Point& point : points) {
    answer.rows.push_back(point.row);
    answer.alone = answer.alone || (rows[point.row].drawn && !group.computed && !(point.value.error > 0));
  }
  if (points.empty() || !asked.missing().empty()) {
    answer.missing = asked.missing();
    return answer;
  }
  switch (group.question) {
    case Question::rises:
    case Question::falls:
      ask_for_trend(group, points, answer);
      break;
    case Question::above:
    case Question::below:
      ask_for_order(group, points, asked, answer);
      break;
    case Question::equals:
      ask_for_number(group, points, answer);
      break;
    case Question::steady:
      ask_for_steadiness(group, points, answer);
      break;
    case Question::agrees:
      break;
  }
  if (!asked.missing().empty()) answer.missing = asked.missing();
  if (answer.comparisons.empty() && answer.missing.empty()) answer.missing = "nothing to compare";
  return answer;
}

}  // namespace incontext::examples::verify
