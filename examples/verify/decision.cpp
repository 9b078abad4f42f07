#include "examples/verify/decision.hpp"

#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/holm.hpp>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "examples/support/judgment.hpp"
#include "examples/support/text.hpp"
#include "incontext/core/contracts.hpp"

namespace incontext::examples::verify {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

statistics::Agreement agreement_of(const Row& row) {
  statistics::Estimate estimate;
  estimate.mean = row.simulation;
  estimate.standard_error = row.standard_error;
  estimate.count = row.values;
  return statistics::agree({row.theory, row.tolerance}, relation_of(row.relation), estimate);
}

boost::math::students_t law_of(std::int64_t values) {
  return boost::math::students_t(static_cast<double>(std::max<std::int64_t>(values - 1, 1)));
}

/// The level of one of so many members on either side, at the family's first step.
double level_of(std::size_t members) {
  return claim_error / 2 / static_cast<double>(std::max<std::size_t>(members, 1));
}

/// How many standard errors are seen in 99 runs of 100: deviations of the mean that exceed the bound by the 99%
/// quantile. The estimated error of few values is taken to be the true one.
double errors_seen(std::int64_t values, std::size_t members) {
  const auto law = law_of(values);
  return boost::math::quantile(boost::math::complement(law, level_of(members))) + boost::math::quantile(law, 0.99);
}

/// The deviation that is seen in 99 runs of 100, relative to the theory.
double resolution_of(const Row& row, std::size_t members) {
  if (row.theory == 0) return nan;
  return (errors_seen(row.values, members) * row.standard_error + row.tolerance) / std::abs(row.theory);
}

bool is_member(const Row& row) { return row.kind == RowKind::judged && row.unjudged.empty(); }

}  // namespace

Family judge(const std::vector<Row>& rows, const std::set<std::size_t>& indices, std::size_t comparisons) {
  Family family{.comparisons = comparisons};
  std::vector<std::size_t> members;
  std::copy_if(indices.begin(), indices.end(), std::back_inserter(members),
               [&rows](std::size_t i) { return is_member(rows[i]); });
  family.members = members.size();
  const std::size_t size = std::max<std::size_t>(family.size(), 1);
  family.bound = statistics::family_wise_bound(size, claim_error);
  for (const std::size_t i : indices) {
    const Row& row = rows[i];
    JudgedRow& judged = family.rows[i];
    if (row.kind == RowKind::exact && row.unjudged.empty()) {
      judged.rejected = !row.holds;
    } else if (row.kind == RowKind::control && row.is_computed()) {
      judged.rejected = row.holds;
    } else if (row.unjudged.empty()) {
      const statistics::Agreement agreement = agreement_of(row);
      judged.z = std::copysign(agreement.excess, row.simulation - row.theory);
      judged.p_value = statistics::p_value(agreement);
      judged.resolution = resolution_of(row, size);
      judged.rejected = row.kind == RowKind::control && judged.p_value <= claim_error / static_cast<double>(size);
    }
  }
  std::vector<double> p_values(comparisons, 1.0);  // they are members, too; each is judged at the first step
  for (const std::size_t i : members) p_values.push_back(family.rows[i].p_value);
  const std::vector<bool> rejected = statistics::holm_rejections(p_values, claim_error);
  for (std::size_t k = 0; k < members.size(); ++k) family.rows[members[k]].rejected = rejected[comparisons + k];
  return family;
}

Family family_of(const Claim& claim, const std::vector<Row>& rows) {
  std::set<std::size_t> indices;
  std::size_t comparisons = 0;
  for (const RowGroup& group : claim.groups) {
    if (group.question != Question::agrees) {
      comparisons += ask(group, rows).comparisons.size();
      continue;
    }
    for (const std::size_t i : selected(rows, group.rows)) {
      const Row& row = rows[i];
      if (row.kind == RowKind::shown || !is_within(group, row)) continue;
      indices.insert(i);
      // another theory of a judged row, which a group of the paper or of ours puts on trial
      const bool is_on_trial = row.kind == RowKind::control && group.role != Role::control;
      if (is_on_trial && !row.is_computed() && row.unjudged.empty()) ++comparisons;
    }
  }
  return judge(rows, indices, comparisons);
}

namespace {

std::string and_more(std::size_t count) { return count > 1 ? ", and " + std::to_string(count - 1) + " more" : ""; }

std::string plural(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// A row's numbers: what was simulated or computed, and what was claimed.
std::string numbers_of(const Row& row) {
  std::string text = short_text(row.simulation, 5);
  if (!row.is_computed() && row.standard_error > 0) text += " ± " + short_text(row.standard_error, 2);
  const std::string relation = row.is_computed() && row.relation != "!=" ? " " + row.relation + " " : " against ";
  return text + relation + short_text(row.theory, 5);
}

std::string text_of_agreement(const Finding& finding, const std::vector<Row>& rows, std::size_t first_rejected) {
  const std::size_t all = finding.judged + finding.computed;
  if (finding.rejected > 0) {
    return std::to_string(finding.rejected) + " of " + plural(all, "row") + " rejected: " + rows[first_rejected].name +
           ": " + numbers_of(rows[first_rejected]) + and_more(finding.rejected);
  }
  std::string text = all == 1 ? numbers_of(rows[finding.rows.front()]) : plural(all, "row") + " agree";
  if (finding.judged > 0) {
    text += ", |z| " + std::string(finding.judged > 1 ? "up to " : "") + short_text(finding.largest_z, 3) + ", p " +
            std::string(finding.judged > 1 ? "from " : "") + short_text(finding.least_p, 2);
    if (std::isfinite(finding.coarsest)) text += ", " + short_text(100 * finding.coarsest, 2) + "% off would be seen";
  }
  return text;
}

/// Where a larger deviation than the group allows could have been missed, nothing is shown.
void require_resolution(const RowGroup& group, Finding& finding) {
  if (finding.state != State::holds || !(finding.coarsest > group.resolution)) return;
  finding.state = State::undecided;
  finding.text += ", where " + short_text(100 * group.resolution, 2) + "% are asked for";
}

/// Whether the rows agree.
Finding find_agreement(const RowGroup& group, const std::vector<Row>& rows, const Family& family) {
  Finding finding;
  std::size_t first_rejected = 0;
  bool cannot_tell = false;
  std::string unjudged;
  for (const std::size_t i : selected(rows, group.rows)) {
    const Row& row = rows[i];
    if (row.kind == RowKind::shown || !is_within(group, row)) continue;
    finding.rows.push_back(i);
    if (!row.unjudged.empty()) {
      unjudged = row.unjudged;
      continue;
    }
    const JudgedRow& judged = family.rows.at(i);
    ++(row.is_computed() ? finding.computed : finding.judged);
    cannot_tell = cannot_tell || row.cannot_tell;
    if (judged.rejected && finding.rejected++ == 0) first_rejected = i;
    if (row.is_computed()) continue;
    finding.largest_z = std::max(finding.largest_z, std::abs(judged.z));
    finding.least_p = std::min(finding.least_p, judged.p_value);
    finding.resolution = std::fmin(finding.resolution, judged.resolution);
    finding.coarsest = std::fmax(finding.coarsest, judged.resolution);
  }
  finding.exact = finding.judged == 0;
  if (finding.judged + finding.computed == 0) {
    finding.missing = !unjudged.empty() ? unjudged : no_row_text(group.rows);
    return finding;
  }
  // One near miss of a group that is rejected is enough: others may be too near.
  finding.state = finding.rejected > 0 ? State::rejected : cannot_tell ? State::undecided : State::holds;
  finding.text = text_of_agreement(finding, rows, first_rejected);
  if (group.role == Role::paper) require_resolution(group, finding);
  return finding;
}

/// How a comparison came out: 1 positive beyond chance, -1 negative, 0 neither.
int sign_of(const Comparison& comparison, const Family& family, double& z) {
  if (!(comparison.error > 0)) return comparison.difference > 0 ? 1 : comparison.difference < 0 ? -1 : 0;
  z = comparison.difference / comparison.error;
  const double p = boost::math::cdf(boost::math::complement(law_of(comparison.values), std::abs(z)));
  return p > level_of(family.size()) ? 0 : z > 0 ? 1 : -1;
}

/// What comparisons of values say.
Finding find_order(const RowGroup& group, const std::vector<Row>& rows, const Family& family) {
  const Answer answer = ask(group, rows);
  Finding finding{
      .state = State::holds, .exact = !answer.alone, .alone = answer.alone, .rows = answer.rows, .text = answer.text};
  finding.missing = answer.missing;
  if (!finding.missing.empty()) {
    finding.state = State::undecided;
    return finding;
  }
  for (const Comparison& comparison : answer.comparisons) {
    double z = 0;
    const int sign = sign_of(comparison, family, z);
    const bool computed = !(comparison.error > 0);
    ++(computed ? finding.computed : finding.judged);
    finding.exact = finding.exact && computed;
    finding.largest_z = std::max(finding.largest_z, std::abs(z));
    const bool no = sign < 0 || (computed && comparison.needed && sign == 0);
    if (no) ++finding.rejected;
    if (!no && comparison.needed && sign == 0) finding.state = State::undecided;
  }
  if (finding.rejected > 0) finding.state = State::rejected;
  if (group.question == Question::equals && group.role == Role::paper && *group.than != 0) {
    for (const Comparison& comparison : answer.comparisons) {
      const double seen = errors_seen(comparison.values, family.size()) * comparison.error / std::abs(*group.than);
      finding.coarsest = std::fmax(finding.coarsest, seen);
      finding.resolution = std::fmin(finding.resolution, seen);
    }
    require_resolution(group, finding);
  }
  for (const double threshold : group.thresholds) {
    RowGroup other = group;
    other.than = threshold;
    other.thresholds.clear();
    const State state = find_order(other, rows, family).state;
    const std::string what = state == State::holds      ? "holds"
                             : state == State::rejected ? "does not hold"
                                                        : "is undecided";
    finding.text += ", with " + short_text(threshold, 6) + " it " + what;
  }
  return finding;
}

}  // namespace

Finding find(const RowGroup& group, const std::vector<Row>& rows, const Family& family) {
  return group.question == Question::agrees ? find_agreement(group, rows, family) : find_order(group, rows, family);
}

Ruling rule_on(const Claim& claim, const std::vector<Finding>& findings) {
  std::vector<Seen> groups;
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const RowGroup& group = claim.groups[i];
    groups.push_back({.role = group.role,
                      .state = findings[i].state,
                      .exact = findings[i].exact,
                      .alone = findings[i].alone,
                      .regime = group.regime,
                      .says = group.says,
                      .again = findings[i].again});
  }
  return rule(claim.scale, !claim.ours.empty() && !claim.same_setting, groups);
}

bool Decision::needs_another_seed(const Claim& claim, std::size_t group) const {
  const Finding& finding = findings[group];
  const bool is_rejected = claim.groups[group].role == Role::paper && finding.state == State::rejected;
  const bool is_large = claim.scale == Scale::paper;
  return !finding.again && (finding.alone || (is_large && is_rejected && !finding.exact));
}

bool Decision::needs_another_seed(const Claim& claim) const {
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (needs_another_seed(claim, i)) return true;
  }
  return false;
}

Decision decide(const Claim& claim, const std::vector<Row>& rows) {
  if (!claim.out_of_reach.empty()) return {.outcome = Outcome::out_of_reach, .reason = claim.out_of_reach};
  if (!claim.not_tried.empty()) return {.outcome = Outcome::not_tried, .reason = claim.not_tried};
  Decision decision{.family = family_of(claim, rows)};
  std::string missing;
  for (const RowGroup& group : claim.groups) {
    decision.findings.push_back(find(group, rows, decision.family));
    if (missing.empty()) missing = decision.findings.back().missing;
  }
  if (!missing.empty()) {
    decision.reason = missing;
    decision.is_incomplete = true;
    return decision;
  }
  const Ruling ruling = rule_on(claim, decision.findings);
  decision.outcome = ruling.outcome;
  decision.reason = ruling.reason;
  return decision;
}

Decision decide_again(const Claim& claim, Decision decision, const Decision& another) {
  if (another.findings.size() != decision.findings.size()) return decision;
  for (std::size_t i = 0; i < decision.findings.size(); ++i) {
    if (another.findings[i].missing.empty()) decision.findings[i].again = another.findings[i].state;
  }
  if (decision.is_incomplete) return decision;
  const Ruling ruling = rule_on(claim, decision.findings);
  decision.outcome = ruling.outcome;
  decision.reason = ruling.reason;
  return decision;
}

}  // namespace incontext::examples::verify
