#include "examples/support/judgment.hpp"

#include <incontext/core/contracts.hpp>
#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/estimate.hpp>
#include <incontext/statistics/families.hpp>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <utility>

#include "examples/support/render.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

struct Judgment::Entry {
  statistics::Agreement agreement;
  bool testable = true;  ///< false if the caller gave a reason not to judge it
  bool asked = true;     ///< false if the row may be left without a verdict, because the user did not ask for it
  statistics::Verdict verdict = statistics::Verdict::not_judged;
  std::string row = {};
  std::int64_t trials = 0;

  Cell cell(Pending::Field field) const;
  void doubt();
  bool tested() const { return testable && agreement.excess >= 0; }
};

namespace {

using statistics::Estimate;

/// With fewer trials than this, a disagreement is not judged.
constexpr std::int64_t fewest_trials = 1000;

constexpr const char* not_reached = "not reached: the run was stopped early";

std::string fixed(double value, int decimals) {
  return std::isfinite(value) ? detail::number_text(value, std::chars_format::fixed, decimals)
                              : detail::non_finite_word(value);
}

Cell finite(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

/// The mean and its error, absent if some trials were not finite, because the mean of the others would be biased.
std::vector<Cell> simulation_cells(const Estimate& estimate) {
  if (estimate.non_finite > 0 || estimate.count < 2) return {Cell(), Cell()};
  return {finite(estimate.mean), finite(estimate.standard_error)};
}

std::int64_t trials_of(const Estimate& estimate) { return estimate.count + estimate.non_finite; }

/// Why the values are too few for a verdict on their mean; empty if they are not.
std::string too_few(const Estimate& estimate) {
  if (trials_of(estimate) == 0) return not_reached;
  if (estimate.count < 2 || estimate.count >= fewest_values) return {};
  return "the error of a mean of " + std::to_string(estimate.count) + " values is hardly known: at least " +
         std::to_string(fewest_values);
}

std::string word(statistics::Verdict verdict) {
  switch (verdict) {
    case statistics::Verdict::agrees:
      return "agrees";
    case statistics::Verdict::disagrees:
      return "disagrees";
    case statistics::Verdict::not_judged:
      break;
  }
  return "not_judged";
}

/// The name of a row: the words before its comparison, and the numbers with their headings.
std::string name_of(const Table& table, const std::vector<Cell>& row) {
  std::string name;
  const auto join = [&name](const std::string& part) { name += (name.empty() ? "" : ", ") + part; };
  for (std::size_t j = 0; j < row.size(); ++j) {
    const Column& column = table.columns[j];
    if (table.key_columns == 0 ? column.decimals_as != 0 : j == table.key_columns) break;
    const std::string heading = column.heading.empty() ? column.name : column.heading;
    if (const auto* text = std::get_if<std::string>(&row[j])) join(*text);
    if (const auto* count = std::get_if<std::int64_t>(&row[j])) join(heading + " = " + std::to_string(*count));
    if (const auto* number = std::get_if<double>(&row[j])) {
      join(heading + " = " + detail::number_text(*number, std::chars_format::general, 5));
    }
  }
  return name;
}

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

std::string percent(double share) { return (share < 1 ? short_text(100 * share, 2) : fixed(100 * share, 0)) + "%"; }

/// The rows that one reason keeps from a verdict.
struct RowsOfReason {
  bool asked;
  std::string reason;
  std::vector<std::string> rows = {};
};

void add_row(std::vector<RowsOfReason>& reasons, bool asked, const std::string& reason, const std::string& row) {
  auto at = std::find_if(reasons.begin(), reasons.end(),
                         [&](const RowsOfReason& one) { return one.asked == asked && one.reason == reason; });
  if (at == reasons.end()) at = reasons.insert(at, {asked, reason});
  at->rows.push_back(row);
}

std::string line_of(const RowsOfReason& one) {
  const std::string what = one.asked ? "Not judged" : "Shown without a verdict";
  if (one.rows.size() == 1) return what + ": " + one.rows.front() + ": " + one.reason + ".";
  std::string line = what + ", " + std::to_string(one.rows.size()) + " rows: " + one.reason + ": ";
  for (std::size_t i = 0; i < one.rows.size(); ++i) line += (i > 0 ? "; " : "") + one.rows[i];
  return line + ".";
}

std::string counted(std::size_t comparisons) {
  return std::to_string(comparisons) + (comparisons == 1 ? " comparison" : " comparisons");
}

}  // namespace

/// The mean of a few trials of a skewed quantity is not normal, so they are too few to call a theory wrong.
void Judgment::Entry::doubt() {
  verdict = statistics::Verdict::not_judged;
  agreement.reason = "z = " + fixed(agreement.excess, 1) + ", but the mean of " + std::to_string(trials) +
                     " trials may not be normal: at least " + std::to_string(fewest_trials);
}

bool is_within(double mean, const std::string& relation, double bound) {
  return (relation == ">=" && mean >= bound) || (relation == "<=" && mean <= bound);
}

statistics::Agreement agree(const statistics::Theory& theory, const std::string& relation, const Estimate& estimate) {
  statistics::Agreement agreement = statistics::agree(theory, estimate);
  const bool can_be_judged = agreement.excess >= 0;
  if (can_be_judged && is_within(estimate.mean, relation, theory.value)) agreement.excess = agreement.z = 0;
  return agreement;
}

std::vector<Column> comparison_columns() {
  return {{.name = "theory", .decimals_as = 1, .in_text = InText::where_filled},
          {.name = "approximate", .decimals_as = 1, .in_text = InText::where_filled},
          {.name = "simulation", .decimals_as = 1},
          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
          {.name = "z", .style = Style::two_decimals},
          {.name = "trials", .in_text = InText::hidden},
          {.name = "values", .in_text = InText::hidden},
          {.name = "tolerance", .in_text = InText::hidden},
          {.name = "verdict", .in_text = InText::hidden},
          {.name = "reason", .in_text = InText::hidden}};
}

std::vector<Cell> unreached_comparison() {
  std::vector<Cell> cells(comparison_columns().size());
  cells.back() = not_reached;
  return cells;
}

Judgment::Judgment() = default;
Judgment::~Judgment() = default;

std::size_t Judgment::size() const { return entries_.size(); }

std::vector<Cell> Judgment::add(Entry entry, std::int64_t trials) {
  const std::size_t at = entries_.size();
  std::vector<Cell> cells{finite(entry.agreement.theory), Cell()};
  for (Cell& cell : simulation_cells(entry.agreement.estimate)) cells.push_back(std::move(cell));
  const double tolerance = entry.agreement.theory_error + entry.agreement.estimate.rounding;
  cells.insert(cells.end(), {Pending{at, Pending::Field::z}, trials, entry.agreement.estimate.count, finite(tolerance),
                             Pending{at, Pending::Field::verdict}, Pending{at, Pending::Field::reason}});
  entry.trials = trials;
  entries_.push_back(std::move(entry));
  return cells;
}

std::vector<Cell> Judgment::judged(const statistics::Theory& theory, const Estimate& estimate,
                                   std::optional<std::int64_t> trials) {
  if (const std::string reason = too_few(estimate); !reason.empty()) return not_judged(theory, estimate, reason);
  return add({.agreement = statistics::agree(theory, estimate)}, trials.value_or(trials_of(estimate)));
}

std::vector<Cell> Judgment::judged_bound(const std::string& relation, double bound, const Estimate& estimate,
                                         std::int64_t trials) {
  if (const std::string reason = too_few(estimate); !reason.empty()) return not_judged(bound, estimate, reason);
  return add({.agreement = agree(bound, relation, estimate)}, trials);
}

std::vector<Cell> Judgment::judged_within(double value, double tolerance, const Estimate& estimate) {
  if (trials_of(estimate) == 0) return not_judged(value, estimate, not_reached);
  statistics::Agreement agreement = statistics::agree({value, tolerance}, estimate);
  constexpr double told_apart = 4;  // standard errors
  if (!(told_apart * estimate.standard_error <= tolerance)) {
    agreement.reason = "standard error " + short_text(estimate.standard_error, 2) +
                       " cannot tell a deviation of the tolerance, " + short_text(tolerance, 2) + ": more trials";
  } else if (std::isfinite(agreement.excess)) {
    agreement.reason.clear();
    agreement.z = std::copysign(agreement.excess, estimate.mean - value);
  }
  return add({.agreement = std::move(agreement)}, trials_of(estimate));
}

std::vector<Cell> Judgment::not_judged(const statistics::Theory& theory, const Estimate& estimate,
                                       const std::string& reason) {
  Entry entry{.agreement = statistics::agree(theory, estimate), .testable = false};
  entry.agreement.reason = reason;
  return add(std::move(entry), trials_of(estimate));
}

std::vector<Cell> Judgment::left_out(const statistics::Theory& theory, const Estimate& estimate,
                                     const std::string& reason) {
  Entry entry{.agreement = statistics::agree(theory, estimate), .testable = false, .asked = false};
  entry.agreement.reason = reason;
  return add(std::move(entry), trials_of(estimate));
}

std::vector<Cell> Judgment::judged_if_enough(const statistics::Theory& theory, const Estimate& estimate,
                                             double effective_trials, const std::string& reason) {
  const bool is_enough = estimate.count < 2 || fewest_effective_trials <= effective_trials;
  return is_enough ? judged(theory, estimate) : not_judged(theory, estimate, reason);
}

std::vector<Cell> Judgment::judged_if_enough(const statistics::Theory& theory, const Estimate& estimate,
                                             double effective_trials) {
  const std::string contribute = std::isfinite(effective_trials) ? fixed(effective_trials, 0) : std::string("0");
  return judged_if_enough(theory, estimate, effective_trials,
                          "no more than " + contribute + " of the " + std::to_string(estimate.count) +
                              " trials contribute to the mean, so its error is unknown: increase --trials");
}

std::vector<Cell> Judgment::shown(std::optional<double> approximate, const Estimate& estimate) {
  std::vector<Cell> cells{Cell(), approximate ? finite(*approximate) : Cell()};
  for (Cell& cell : simulation_cells(estimate)) cells.push_back(std::move(cell));
  const Cell reason = trials_of(estimate) == 0 ? Cell(std::string(not_reached)) : Cell();
  cells.insert(cells.end(), {Cell(), trials_of(estimate), Cell(estimate.count), Cell(), Cell(), reason});
  return cells;
}

std::string Judgment::note() const {
  const auto tested =
      std::count_if(entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.tested(); });
  if (tested == 0) return {};
  return "Family-wise bound: |z| <= " + fixed(bound(), 2) + " in all of " + std::to_string(tested) +
         " comparisons (Holm; false alarms in one run of " + detail::number_text(1 / false_alarm_rate) + ").";
}

Cell Judgment::Entry::cell(Pending::Field field) const {
  const bool judged = verdict != statistics::Verdict::not_judged;
  if (field == Pending::Field::verdict) return word(verdict);
  if (field == Pending::Field::reason) return judged ? Cell() : Cell(agreement.reason);
  if (!judged) return {};
  const double off = agreement.estimate.mean - agreement.theory;
  return finite(agreement.excess == 0 ? 0 : std::copysign(agreement.excess, off));
}

void Judgment::settle(std::vector<Table>& tables) {
  std::vector<statistics::Agreement> family;
  for (const Entry& entry : entries_) {
    if (entry.testable) family.push_back(entry.agreement);
  }
  const auto verdicts = statistics::verdicts(family, false_alarm_rate);
  std::size_t tested = 0;
  for (Entry& entry : entries_) {
    if (!entry.testable) continue;
    entry.verdict = verdicts[tested++];
    if (entry.verdict == statistics::Verdict::disagrees && entry.trials < fewest_trials) entry.doubt();
  }
  for (Table& table : tables) {
    bool has_any = false;
    for (std::vector<Cell>& row : table.rows) {
      for (Cell& cell : row) {
        const Pending* pending = std::get_if<Pending>(&cell);
        if (pending == nullptr) continue;
        Entry& entry = entries_[pending->comparison];
        if (entry.row.empty()) entry.row = name_of(table, row);
        cell = entry.cell(pending->field);
        has_any = true;
      }
    }
    if (has_any && !note().empty()) table.notes.push_back(note());
  }
}

struct Judgment::Tally {
  std::size_t judged = 0, disagreements = 0;
  const Entry *largest = nullptr, *coarsest = nullptr;  ///< by largest |z|, and by worst resolution
  std::vector<double> resolutions = {};
  std::size_t asked = 0, left_out = 0;
  std::vector<std::string> rows = {};  ///< a line for each row that disagrees, and for each reason not to judge rows
};

Judgment::Tally Judgment::tally() const {
  Tally tally;
  const double bound = this->bound();
  double worst = -1;
  std::vector<RowsOfReason> reasons;
  for (const Entry& entry : entries_) {
    const statistics::Agreement& agreement = entry.agreement;
    ++(entry.asked ? tally.asked : tally.left_out);
    if (entry.verdict == statistics::Verdict::not_judged) {
      add_row(reasons, entry.asked, agreement.reason, entry.row);
      continue;
    }
    ++tally.judged;
    if (tally.largest == nullptr || agreement.excess > tally.largest->agreement.excess) tally.largest = &entry;
    const double resolution = agreement.resolution(bound);
    if (std::isfinite(resolution)) tally.resolutions.push_back(resolution);
    if (std::isfinite(resolution) && resolution > worst) tally.coarsest = &entry;
    worst = std::max(worst, std::isfinite(resolution) ? resolution : worst);
    if (entry.verdict == statistics::Verdict::agrees) continue;
    ++tally.disagreements;
    tally.rows.push_back("Disagrees: " + entry.row + ": theory " + short_text(agreement.theory, 6) + ", simulation " +
                         short_text(agreement.estimate.mean, 6) + " ± " +
                         short_text(agreement.estimate.standard_error, 2) + ".");
  }
  for (const RowsOfReason& one : reasons) tally.rows.push_back(line_of(one));
  return tally;
}

std::string Judgment::headline(const Tally& tally) const {
  const std::size_t left = tally.asked - tally.judged;
  if (tally.asked == 0 && tally.left_out > 0) {
    return "Nothing was judged: " + counted(tally.left_out) + " shown without a verdict.";
  }
  if (tally.asked == 0) return "Nothing was judged: no row has both an exact theory and a simulation.";
  if (tally.judged == 0) return "Nothing was judged of " + counted(tally.asked) + ".";
  const std::string family =
      left > 0 ? std::to_string(tally.judged) + " of " + counted(tally.asked) : counted(tally.asked);
  std::string text = tally.disagreements > 0
                         ? "DISAGREEMENT in " + std::to_string(tally.disagreements) + " of " + family
                     : left > 0 ? "Incomplete: " + family + " judged, and none disagrees"
                                : "Agreement: " + family;
  text += ", largest |z| " + fixed(tally.largest->agreement.excess, 2) + ", bound " + fixed(bound(), 2);
  if (tally.coarsest == nullptr) return text + ".";
  return text + "; a deviation of " + percent(median_of(tally.resolutions)) +
         " would be detected nine times in ten in the median row, of " +
         percent(tally.coarsest->agreement.resolution(bound())) + " in the worst (" + tally.coarsest->row + ").";
}

Verdict Judgment::verdict() const {
  const Tally tally = this->tally();
  const std::size_t left = tally.asked - tally.judged;
  Verdict result{.text = headline(tally), .rows = tally.rows};
  if (tally.disagreements > 0) result.agrees = false;
  if (tally.disagreements == 0 && tally.judged > 0 && left == 0) result.agrees = true;
  result.details = {{"comparisons", tally.asked},
                    {"judged", tally.judged},
                    {"disagreements", tally.disagreements},
                    {"not_judged", left},
                    {"shown_without_verdict", tally.left_out},
                    {"largest_absolute_z", nullptr},
                    {"bound", nullptr},
                    {"false_alarm_rate", false_alarm_rate},
                    {"median_resolution", nullptr},
                    {"worst_resolution", nullptr},
                    {"worst_row", nullptr}};
  if (tally.judged > 0) {
    result.details["largest_absolute_z"] = detail::json_number(tally.largest->agreement.excess);
    result.details["bound"] = bound();
  }
  if (tally.coarsest != nullptr) {
    result.details["median_resolution"] = median_of(tally.resolutions);
    result.details["worst_resolution"] = tally.coarsest->agreement.resolution(bound());
    result.details["worst_row"] = tally.coarsest->row;
  }
  return result;
}

namespace {

/// A report of exact values alone: nothing is pending, and the columns of a simulation are empty and not shown.
void leave_unjudged(Report& report) {
  for (Table& table : report.tables) {
    for (Column& column : table.columns) {
      if (column.in_text == InText::shown) column.in_text = InText::where_filled;
    }
    for (std::vector<Cell>& row : table.rows) {
      for (Cell& cell : row) {
        const auto* word = std::get_if<std::string>(&cell);
        if (std::holds_alternative<Pending>(cell) || (word != nullptr && *word == not_reached)) cell = Cell();
      }
    }
  }
  std::erase_if(report.tables, [](const Table& table) { return table.name == controls_name; });
  report.verdict = Verdict{.text = "Exact values alone: nothing was simulated, and no row is judged."};
}

}  // namespace

void judge(Report& report, Judgment& judgment) {
  if (!report.run.simulated) {
    leave_unjudged(report);
    return;
  }
  judgment.settle(report.tables);
  report.verdict = judgment.verdict();
}

/// statistics::family_wise_bound, with the tails of Student's t where the error is known from few batches only.
double Judgment::bound() const {
  std::int64_t fewest = std::int64_t{1} << 40, tested = 0;
  for (const Entry& entry : entries_) {
    if (!entry.testable || !(entry.agreement.excess >= 0)) continue;
    fewest = std::min(fewest, entry.agreement.estimate.count);
    ++tested;
  }
  const boost::math::students_t law(static_cast<double>(std::max<std::int64_t>(fewest - 1, 1)));
  const auto members = static_cast<double>(std::max<std::int64_t>(tested, 1));
  return boost::math::quantile(boost::math::complement(law, false_alarm_rate / 2 / members));
}

}  // namespace incontext::examples
