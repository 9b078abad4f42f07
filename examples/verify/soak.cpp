#include "examples/verify/soak.hpp"

#include <incontext/statistics/families.hpp>
#include <incontext/statistics/kolmogorov_smirnov.hpp>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

namespace incontext::examples::verify {

namespace {

constexpr std::size_t rows_shown = 10;

/// Whether a right theory's p-value is uniform: it states a value, and its own error and rounding do not matter.
bool has_uniform_p_value(const Row& row) {
  constexpr double negligible = 0.01;
  return row.kind == RowKind::judged && row.unjudged.empty() && row.relation.empty() &&
         row.tolerance <= negligible * row.standard_error;
}

std::vector<std::string> simulations(const std::vector<Claim>& claims, const VerifyOptions& o) {
  std::vector<std::string> names;
  for (const std::string& name : needed_runs(o.registry, claims, o.edition)) {
    const std::string& line = line_of(o.registry.command(name), o.edition);
    if (!line.empty() && !line.starts_with("incontext train ") && !line.starts_with("incontext scores"))
      names.push_back(name);
  }
  return names;
}

/// The claims of whose runs no row is tested.
std::vector<std::string> without_rows(const std::vector<Claim>& claims, const std::vector<SeededRow>& rows) {
  std::vector<std::string> names;
  for (const Claim& claim : claims) {
    const bool has_one = std::any_of(rows.begin(), rows.end(), [&claim](const SeededRow& row) {
      const std::vector<std::string> runs = claim.runs();
      return std::find(runs.begin(), runs.end(), row.command) != runs.end();
    });
    if (!has_one) names.push_back(claim.id);
  }
  return names;
}

/// The p-values of all runs together: at each seed one row of every run, another one at the next seed.
std::vector<double> independent_p_values(const std::vector<SeededRow>& rows, std::int64_t seeds) {
  std::map<std::string, std::vector<const SeededRow*>> runs;
  for (const SeededRow& row : rows) runs[row.command].push_back(&row);
  std::vector<double> together;
  for (const auto& [command, all] : runs) {
    for (std::size_t seed = 0; seed < static_cast<std::size_t>(seeds); ++seed) {
      const SeededRow& row = *all[seed % all.size()];
      if (seed < row.p_values.size()) together.push_back(row.p_values[seed]);
    }
  }
  return together;
}

/// A test of uniformity, and its result.
struct Tested {
  std::string name;
  std::int64_t count;
  double statistic, p_value;
};

/// The test of all runs together, then that of each row over its seeds.
std::vector<Tested> tests_of(const std::vector<SeededRow>& rows, std::int64_t seeds) {
  std::vector<Tested> tests;
  const auto test = [&tests](const std::string& name, const std::vector<double>& p_values) {
    if (p_values.size() < 2) return;
    const auto count = static_cast<std::int64_t>(p_values.size());
    const double statistic = statistics::kolmogorov_smirnov_statistic(p_values);
    tests.push_back({name, count, statistic, statistics::kolmogorov_smirnov_p_value(statistic, count)});
  };
  test("one row per program and seed", independent_p_values(rows, seeds));
  for (const SeededRow& row : rows) test(row.command + ": " + row.name, row.p_values);
  return tests;
}

}  // namespace

Soak judge_uniformity(const std::vector<SeededRow>& rows, std::int64_t seeds, const std::vector<std::string>& without) {
  const std::vector<Tested> tests = tests_of(rows, seeds);
  std::vector<double> p_values;
  for (const Tested& one : tests) p_values.push_back(one.p_value);
  const std::vector<bool> rejected = statistics::holm_rejections(p_values, family_error);
  std::vector<std::size_t> order(tests.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() > 1) {
    std::stable_sort(order.begin() + 1, order.end(),
                     [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  }
  Soak result;
  result.table = {
      .title = "Are the p-values uniform? Kolmogorov and Smirnov's test over seeds",
      .columns = {
          {"row"}, {"values"}, {.name = "distance", .digits = 3}, {.name = "p_value", .digits = 3}, {"rejected"}}};
  for (std::size_t i = 0; i < std::min(order.size(), rows_shown); ++i) {
    const Tested& one = tests[order[i]];
    result.table.add_row(
        {one.name, one.count, one.statistic, one.p_value, std::string(rejected[order[i]] ? "yes" : "no")});
  }
  if (!tests.empty()) {
    result.table.notes = {"The first row is all runs together; below it are the least uniform of " +
                          std::to_string(rows.size()) + " rows. Rejected: by Holm's test of all these, 1% in total."};
  }
  const auto count = std::count(rejected.begin(), rejected.end(), true);
  std::string claims;
  for (const std::string& claim : without) claims += (claims.empty() ? "" : ", ") + claim;
  if (!claims.empty()) {
    result.table.notes.push_back("The runs of these claims have no row with a uniform p-value: " + claims + ".");
  }
  if (tests.empty()) {
    result.verdict.text =
        "Incomplete: nothing was tested, " +
        (claims.empty() ? "no run has a row with a uniform p-value."
                        : "the runs of these claims have no row with a uniform p-value: " + claims + ".");
    return result;
  }
  result.verdict.agrees = count == 0;
  result.verdict.text = (count == 0 ? "Agreement" : "DISAGREEMENT") + std::string(": ") + std::to_string(count) +
                        " of " + std::to_string(tests.size()) + " tests of uniform p-values over " +
                        std::to_string(seeds) + " seeds are rejected.";
  return result;
}

Soak soak(const std::vector<Claim>& claims, const VerifyOptions& o, const Interrupts& interrupts) {
  const std::vector<std::string> once = simulations(claims, o);
  std::vector<Draw> draws;
  for (std::int64_t i = 0; i < o.soak; ++i) {
    for (const std::string& name : once) draws.push_back({name, o.seed + 1 + draws.size()});
  }
  std::map<std::pair<std::string, std::size_t>, SeededRow> rows;
  for (const Run& run : do_runs(draws, o, interrupts)) {
    if (!run.problem.empty()) continue;
    std::vector<Row> all = rows_of(nlohmann::json::parse(run.report), run.command);
    std::erase_if(all, [](const Row& row) { return row.kind != RowKind::judged; });
    const Family family = judge(all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!has_uniform_p_value(all[i])) continue;
      SeededRow& row = rows.try_emplace({run.command, i}, SeededRow{run.command, all[i].name}).first->second;
      row.p_values.push_back(family.rows[i].p_value);
    }
  }
  std::vector<SeededRow> seeded;
  for (auto& [place, row] : rows) seeded.push_back(std::move(row));
  return judge_uniformity(seeded, o.soak, without_rows(claims, seeded));
}

}  // namespace incontext::examples::verify
