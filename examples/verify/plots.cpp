#include "examples/verify/plots.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"

namespace incontext::examples::verify {

namespace {

constexpr std::size_t most_series = 3;

/// A number of the row's name.
const double* named_number(const Row& row, const std::string& column) {
  for (const auto& [name, number] : row.numbers) {
    if (name == column) return &number;
  }
  return nullptr;
}

/// The judged rows of the table that has most of them.
std::vector<std::size_t> largest_table(const Ledger& ledger, const Decision& decision) {
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> tables;
  std::set<std::size_t> seen;
  for (const Finding& finding : decision.findings) {
    for (const std::size_t i : finding.rows) {
      const Row& row = ledger.rows[i];
      const bool is_judged = row.kind == RowKind::judged && row.unjudged.empty();
      if (is_judged && seen.insert(i).second) tables[{row.command, row.table}].push_back(i);
    }
  }
  std::vector<std::size_t> largest;
  for (const auto& [name, rows] : tables) {
    if (rows.size() > largest.size()) largest = rows;
  }
  return largest;
}

std::set<double> values_of(const Ledger& ledger, const std::vector<std::size_t>& rows, const std::string& column) {
  std::set<double> values;
  for (const std::size_t i : rows) {
    if (const double* value = named_number(ledger.rows[i], column)) values.insert(*value);
  }
  return values;
}

/// The column to draw over: the first number of the rows' names that takes at least three values, else two.
std::string axis_of(const Ledger& ledger, const std::vector<std::size_t>& rows) {
  for (const std::size_t fewest : {std::size_t{3}, std::size_t{2}}) {
    for (const auto& [column, ignored] : ledger.rows[rows.front()].numbers) {
      if (values_of(ledger, rows, column).size() >= fewest) return column;
    }
  }
  return "";
}

/// The words of a row's name.
std::string words_of_name(const Row& row) {
  std::string name;
  for (const auto& [column, word] : row.words) {
    if (column != "z") name += (name.empty() ? "" : ", ") + word;
  }
  return name;
}

/// What distinguishes the rows of a series: the words of their names, and numbers that differ at the same place.
std::string series_of(const Row& row, const std::vector<std::string>& numbers) {
  std::string name = words_of_name(row);
  for (const std::string& column : numbers) {
    if (const double* value = named_number(row, column)) {
      name += (name.empty() ? "" : ", ") + column + " = " + short_text(*value, 4);
    }
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

/// Further numbers of the names without which two rows would be at the same place of the same series.
std::vector<std::string> grouping_numbers(const Ledger& ledger, const std::vector<std::size_t>& rows,
                                          const std::string& axis) {
  std::vector<std::string> chosen;
  for (const auto& [column, ignored] : ledger.rows[rows.front()].numbers) {
    const auto has_duplicates = [&] {
      std::set<std::pair<std::string, double>> places;
      for (const std::size_t i : rows) {
        const double* x = named_number(ledger.rows[i], axis);
        if (x != nullptr && !places.insert({series_of(ledger.rows[i], chosen), *x}).second) return true;
      }
      return false;
    };
    if (column == axis || !has_duplicates()) continue;
    if (values_of(ledger, rows, column).size() > 1) chosen.push_back(column);
  }
  return chosen;
}

/// A name that the legend has room for.
std::string fitting(const std::string& name) {
  constexpr std::size_t room = 36;
  if (name.size() <= room) return name;
  std::size_t end = name.rfind(' ', room);
  return name.substr(0, end == std::string::npos ? room : end) + " ...";
}

void sort_points(Series& series) {
  std::stable_sort(series.points.begin(), series.points.end(),
                   [](const PlotPoint& one, const PlotPoint& other) { return one.x < other.x; });
}

/// Logarithmic where all values are positive and the largest is more than `apart` times the least.
Axis axis_for(const std::vector<Series>& all, double PlotPoint::*value, double apart) {
  double least = INFINITY, largest = -INFINITY;
  for (const Series& series : all) {
    for (const PlotPoint& point : series.points) {
      least = std::min(least, point.*value);
      largest = std::max(largest, point.*value);
    }
  }
  return least > 0 && largest > apart * least ? Axis::logarithmic : Axis::linear;
}

Panel panel_of(std::vector<Series> series, const std::string& title, const std::string& x_label,
               const std::string& y_label) {
  std::erase_if(series, [](const Series& one) { return one.points.empty(); });
  Panel panel{.title = title, .x_label = x_label, .series = std::move(series), .y_label = y_label};
  panel.x_axis = axis_for(panel.series, &PlotPoint::x, 15);
  panel.y_axis = axis_for(panel.series, &PlotPoint::y, 30);
  return panel;
}

/// Other theories than the program's own.
std::set<std::size_t> other_formulas(const Ledger& ledger, const Decision& decision) {
  std::set<std::size_t> all;
  for (const Finding& finding : decision.findings) {
    for (const std::size_t i : finding.rows) {
      if (ledger.rows[i].kind == RowKind::control) all.insert(i);
    }
  }
  return all;
}

/// The values that other formulas have, at the places of the rows that they were tried on, which have the same
/// simulation.
void add_controls(Series& hollow, const Ledger& ledger, const Decision& decision, const std::vector<std::size_t>& rows,
                  const std::string& axis) {
  for (const std::size_t i : other_formulas(ledger, decision)) {
    const Row& control = ledger.rows[i];
    for (const std::size_t j : rows) {
      const Row& row = ledger.rows[j];
      if (row.command != control.command || row.simulation != control.simulation) continue;
      if (row.standard_error != control.standard_error) continue;
      if (const double* x = named_number(row, axis)) hollow.points.push_back({*x, control.theory, 0});
      break;
    }
  }
}

/// The Bayes ridge, simulated in a row of its own or computed beside each.
Series bayes_of(const Ledger& ledger, const std::vector<std::size_t>& rows, const std::string& axis) {
  Series bayes{.name = "Bayes", .line = true, .color = most_series + 1};
  const Row& first = ledger.rows[rows.front()];
  for (const Row& row : ledger.rows) {
    const double* x = named_number(row, axis);
    if (x == nullptr || row.command != first.command || row.table != first.table) continue;
    if (row.kind == RowKind::shown && words_of_name(row).starts_with("Bayes ridge"))
      bayes.points.push_back({*x, row.simulation, 0});
    if (row.kind == RowKind::judged && row.bayes) bayes.points.push_back({*x, *row.bayes, 0});
  }
  sort_points(bayes);
  const auto same_place = [](const PlotPoint& one, const PlotPoint& other) { return one.x == other.x; };
  bayes.points.erase(std::unique(bayes.points.begin(), bayes.points.end(), same_place), bayes.points.end());
  return bayes;
}

Panel against(const Ledger& ledger, const Decision& decision, const std::vector<std::size_t>& rows,
              const std::string& axis, const std::string& title) {
  const std::vector<std::string> numbers = grouping_numbers(ledger, rows, axis);
  std::map<std::string, std::vector<std::size_t>> groups;
  for (const std::size_t i : rows) groups[series_of(ledger.rows[i], numbers)].push_back(i);
  std::vector<std::pair<std::string, std::vector<std::size_t>>> ordered(groups.begin(), groups.end());
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& one, const auto& other) { return one.second.size() > other.second.size(); });
  if (ordered.size() > most_series) ordered.resize(most_series);
  std::vector<Series> series;
  std::vector<std::size_t> drawn;
  for (const auto& [name, members] : ordered) {
    const std::size_t color = series.size() / 2;
    const std::string words = name.empty() ? "" : ": " + fitting(name);
    Series theory{.name = "theory (line), simulation" + words, .line = true, .color = color};
    Series simulated{.name = "", .line = false, .color = color};
    for (const std::size_t i : members) {
      const Row& row = ledger.rows[i];
      const double* x = named_number(row, axis);
      if (x == nullptr) continue;
      theory.points.push_back({*x, row.theory, 0});
      simulated.points.push_back({*x, row.simulation, row.standard_error});
      drawn.push_back(i);
    }
    sort_points(theory);
    series.push_back(std::move(theory));
    series.push_back(std::move(simulated));
  }
  Series hollow{.name = "other formulas (hollow)", .line = false, .hollow = true, .color = most_series};
  add_controls(hollow, ledger, decision, drawn, axis);
  series.push_back(std::move(hollow));
  series.push_back(bayes_of(ledger, rows, axis));
  std::string label = axis;
  std::replace(label.begin(), label.end(), '_', ' ');
  return panel_of(std::move(series), title, label, "theory and simulation");
}

/// The ratio of simulation and theory, row by row; differences in standard errors where a theory is 0.
Panel row_by_row(const Ledger& ledger, const Decision& decision, const std::vector<std::size_t>& rows,
                 const std::string& title) {
  const bool as_ratios =
      std::none_of(rows.begin(), rows.end(), [&ledger](std::size_t i) { return ledger.rows[i].theory == 0; });
  Series theory{.name = "theory (line), simulation", .line = true, .color = 0};
  Series simulated{.name = "", .line = false, .color = 0};
  Series hollow{.name = "other formulas (hollow)", .line = false, .hollow = true, .color = most_series};
  const auto place = [as_ratios](const Row& row, double value) {
    return as_ratios ? value / row.theory : (value - row.theory) / row.standard_error;
  };
  double x = 0;
  for (const std::size_t i : rows) {
    const Row& row = ledger.rows[i];
    ++x;
    theory.points.push_back({x, place(row, row.theory), 0});
    const double bar = as_ratios ? row.standard_error / std::abs(row.theory) : 1;
    simulated.points.push_back({x, place(row, row.simulation), bar});
    for (const std::size_t j : other_formulas(ledger, decision)) {
      const Row& control = ledger.rows[j];
      const bool same = control.command == row.command && control.simulation == row.simulation &&
                        control.standard_error == row.standard_error;
      if (same) hollow.points.push_back({x, place(row, control.theory), 0});
    }
  }
  Panel panel = panel_of({theory, simulated, hollow}, title, "row",
                         as_ratios ? "over theory" : "less theory, in standard errors");
  panel.whole_x = true;
  panel.x_axis = Axis::linear;
  panel.from_zero = false;
  return panel;
}

/// Columns of a program's table, as the registry names them.
std::optional<Panel> curves_of(const Ledger& ledger, const Claim& claim) {
  std::vector<Series> series;
  std::string title;
  for (const Run& run : ledger.runs) {
    const std::vector<std::string> runs = claim.runs();
    if (!run.problem.empty() || runs.empty() || run.command != runs.front()) continue;
    const auto report = nlohmann::json::parse(run.report);
    for (const auto& table : report.at("tables")) {
      if (!table.at("title").get<std::string>().starts_with(claim.curves.table) || !series.empty()) continue;
      title = table.at("title").get<std::string>();
      for (const std::string& column : claim.curves.columns) {
        Series one{.name = column, .line = true};
        for (const auto& row : table.at("rows")) {
          const auto x = row.find(claim.curves.x), y = row.find(column);
          if (x == row.end() || y == row.end() || !x->is_number() || !y->is_number()) continue;
          one.points.push_back({x->get<double>(), y->get<double>(), 0});
        }
        sort_points(one);
        one.line = std::adjacent_find(one.points.begin(), one.points.end(), [](const auto& left, const auto& right) {
                     return left.x == right.x;
                   }) == one.points.end();  // else they are several curves
        std::replace(one.name.begin(), one.name.end(), '_', ' ');
        series.push_back(std::move(one));
      }
    }
  }
  std::erase_if(series, [](const Series& one) { return one.points.empty(); });
  if (series.empty()) return std::nullopt;
  std::string label = claim.curves.x;
  std::replace(label.begin(), label.end(), '_', ' ');
  return panel_of(std::move(series), title, label, claim.curves.y);
}

/// What a group asks about, as points with their errors, and what they are compared with.
Panel asked_panel(const RowGroup& group, const Answer& answer) {
  std::string column = group.value, place = group.along.empty() ? "row" : group.along;
  for (std::string* name : {&column, &place}) std::replace(name->begin(), name->end(), '_', ' ');
  Series values{.name = column, .line = false, .color = 0};
  Series others{.name = "compared with", .line = false, .hollow = true, .color = 1};
  for (const AskedPoint& point : answer.points) {
    values.points.push_back({point.place, point.value, point.error});
    if (std::isfinite(point.other)) others.points.push_back({point.place, point.other, 0});
  }
  Panel panel = panel_of({values, others}, group.rows.table, place, column);
  panel.from_zero = false;
  if (group.along.empty()) {
    panel.whole_x = true;
    panel.x_axis = Axis::linear;
  }
  return panel;
}

/// The group with most points, of the paper if it has one.
std::optional<Panel> largest_question(const Ledger& ledger, const Claim& claim) {
  std::optional<Panel> panel;
  std::size_t most = 0;
  for (const RowGroup& group : claim.groups) {
    if (group.question == Question::agrees || group.role == Role::control) continue;
    const Answer answer = ask(group, ledger.rows);
    if (answer.points.size() <= most) continue;
    most = answer.points.size();
    panel = asked_panel(group, answer);
  }
  return panel;
}

/// A table's title up to the values of its parameters, which follow a colon. "Figure 2a:" alone would say too little.
std::string shortened(const std::string& title) {
  constexpr std::size_t fewest = 12;
  std::size_t end = title.find(':');
  if (end < fewest) end = title.find(':', end + 1);
  return title.substr(0, end);
}

}  // namespace

std::optional<Panel> plot_of(const Ledger& ledger, std::size_t index) {
  const Claim& claim = ledger.claims[index];
  const Decision& decision = ledger.decisions[index];
  const std::vector<std::size_t> rows = largest_table(ledger, decision);
  std::optional<Panel> panel;
  if (rows.empty()) {
    panel = curves_of(ledger, claim);
    if (!panel) panel = largest_question(ledger, claim);
  } else {
    const std::string axis = axis_of(ledger, rows), title = ledger.rows[rows.front()].table;
    panel = axis.empty() ? row_by_row(ledger, decision, rows, title) : against(ledger, decision, rows, axis, title);
  }
  if (panel) panel->title = shortened(panel->title);
  return panel;
}

}  // namespace incontext::examples::verify
