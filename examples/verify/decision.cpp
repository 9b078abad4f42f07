#include "examples/verify/decision.hpp"

#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/families.hpp>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "examples/support/judgment.hpp"

namespace incontext::examples::verify {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

statistics::Agreement agreement_of(const Row& row) {
  statistics::Estimate estimate;
  estimate.mean = row.simulation;
  estimate.standard_error = row.standard_error;
  estimate.count = row.values;
  return agree({row.theory, row.tolerance}, row.relation, estimate);
}

boost::math::students_t law_of(const Row& row) {
  return boost::math::students_t(static_cast<double>(std::max<std::int64_t>(row.values - 1, 1)));
}

/// The deviation that is seen in 99 runs of 100, relative to the theory. Deviations of the mean that exceed the bound
/// by the 99% quantile are seen; the estimated error of few values is taken to be the true one.
double resolution_of(const Row& row, std::size_t members) {
  if (row.theory == 0) return nan;
  const auto law = law_of(row);
  const double bound =
      boost::math::quantile(boost::math::complement(law, family_error / 2 / static_cast<double>(members)));
  const double power = boost::math::quantile(law, 0.99);
  return ((bound + power) * row.standard_error + row.tolerance) / std::abs(row.theory);
}

bool is_member(const Row& row) { return row.kind == RowKind::judged && row.unjudged.empty(); }

}  // namespace

Family judge(const std::vector<Row>& rows) {
  Family family;
  family.members =
      static_cast<std::size_t>(std::count_if(rows.begin(), rows.end(), [](const Row& row) { return is_member(row); }));
  const std::size_t members = std::max<std::size_t>(family.members, 1);
  family.bound = statistics::family_wise_bound(members, family_error);
  std::vector<double> p_values;
  for (const Row& row : rows) {
    JudgedRow judged;
    if (row.kind == RowKind::exact && row.unjudged.empty()) {
      judged.rejected = !row.holds;
    } else if (row.kind == RowKind::control && row.is_computed()) {
      judged.rejected = row.holds;
    } else if (row.unjudged.empty()) {
      const statistics::Agreement agreement = agreement_of(row);
      judged.z = std::copysign(agreement.excess, row.simulation - row.theory);
      judged.p_value = statistics::p_value(agreement);
      judged.resolution = resolution_of(row, members);
      if (row.kind == RowKind::control) {
        judged.rejected = judged.p_value <= family_error / static_cast<double>(members);
      } else {
        p_values.push_back(judged.p_value);
      }
    }
    family.rows.push_back(judged);
  }
  const std::vector<bool> rejected = statistics::holm_rejections(p_values, family_error);
  for (std::size_t i = 0, member = 0; i < rows.size(); ++i) {
    if (is_member(rows[i])) family.rows[i].rejected = rejected[member++];
  }
  return family;
}

namespace {

std::vector<std::size_t> all_selected(const Claim& claim, const std::vector<Row>& rows, const std::vector<Rows>& wanted,
                                      std::string& missing) {
  std::vector<std::size_t> chosen;
  for (const Rows& one : wanted) {
    const std::vector<std::size_t> found = selected(rows, claim.commands, one);
    if (found.empty()) {
      missing = "no row of a table '" + one.table + "'";
      for (const Key& key : one.where) missing += ", " + key.column + " " + key.value;
      missing += one.z.empty() ? "" : ", " + one.z;
    }
    for (const std::size_t i : found) {
      if (std::find(chosen.begin(), chosen.end(), i) == chosen.end()) chosen.push_back(i);
    }
  }
  return chosen;
}

std::size_t rejected_of(const std::vector<std::size_t>& chosen, const Family& family) {
  return static_cast<std::size_t>(
      std::count_if(chosen.begin(), chosen.end(), [&family](std::size_t i) { return family.rows[i].rejected; }));
}

/// Counts what the evidence consists of.
void measure(Decision& decision, const std::vector<Row>& rows, const Family& family) {
  for (const std::size_t i : decision.evidence) {
    const Row& row = rows[i];
    if (row.kind == RowKind::exact) ++(row.is_bound() ? decision.bounds : decision.exact);
    if (!is_member(row)) continue;
    ++decision.judged;
    decision.largest_z = std::max(decision.largest_z, std::abs(family.rows[i].z));
    decision.resolution = std::fmin(decision.resolution, family.rows[i].resolution);
    decision.coarsest = std::fmax(decision.coarsest, family.rows[i].resolution);
  }
}

}  // namespace

Decision decide(const Claim& claim, const std::vector<Row>& rows, const Family& family) {
  Decision decision{.reason = claim.reason};
  if (claim.expected == Outcome::out_of_reach || claim.expected == Outcome::untested) {
    decision.outcome = claim.expected;
    return decision;
  }
  std::string missing;
  decision.evidence = all_selected(claim, rows, claim.evidence, missing);
  decision.paper_says = all_selected(claim, rows, claim.paper_says, missing);
  decision.controls = all_selected(claim, rows, claim.controls, missing);
  decision.controls_rejected = rejected_of(decision.controls, family);
  measure(decision, rows, family);
  const auto untested = [&decision](const std::string& reason) {
    decision.outcome = Outcome::untested;
    decision.reason = reason;
    return decision;
  };
  if (!missing.empty()) return untested(missing);
  if (decision.rows() == 0) return untested("none of its rows could be judged");
  if (decision.controls_rejected == 0) return untested("no wrong formula was rejected");
  for (const std::size_t i : decision.controls) {
    if (rows[i].passed) return untested("a wrong formula was not rejected, though the simulation could tell");
  }
  if (const std::size_t failed = rejected_of(decision.evidence, family); failed > 0) {
    decision.outcome = Outcome::refuted;
    decision.reason = std::to_string(failed) + " of its rows are rejected, and nothing in their place is tested";
    return decision;
  }
  if (!claim.paper_says.empty() && rejected_of(decision.paper_says, family) == 0) {
    return untested("the paper's own formula was not rejected, as it was expected to be");
  }
  decision.outcome = claim.expected;
  return decision;
}

}  // namespace incontext::examples::verify
