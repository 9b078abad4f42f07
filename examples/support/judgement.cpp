#include "examples/support/judgement.hpp"

#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/estimate.hpp>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstdint>

#include "examples/support/render.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples {

namespace {

std::vector<Cell> cells(double theory, const statistics::Estimate& estimate, double z) {
  return {theory, estimate.mean, estimate.standard_error, z};
}

std::string fixed(double value, int decimals) {
  return std::isfinite(value) ? detail::number_text(value, std::chars_format::fixed, decimals)
                              : detail::non_finite_word(value);
}

}  // namespace

std::vector<Column> comparison_columns() {
  return {{.name = "theory", .decimals_as = 1},
          {.name = "simulation", .decimals_as = 1},
          {.name = "standard_error", .heading = "± error", .decimals_as = 1},
          {.name = "z", .style = Style::two_decimals}};
}

Judgement::Judgement() = default;
Judgement::~Judgement() = default;

std::size_t Judgement::size() const { return family_.size(); }

std::vector<Cell> Judgement::judged(double theory, const statistics::Estimate& estimate) {
  family_.push_back(statistics::agree(theory, estimate));
  return cells(theory, estimate, family_.back().z);
}

std::vector<Cell> Judgement::unjudged(double theory, const statistics::Estimate& estimate) {
  std::vector<Cell> result = cells(theory, estimate, 0);
  result.back() = std::monostate{};
  return result;
}

std::string Judgement::note() const {
  return "Family-wise bound: |z| <= " + fixed(bound(), 2) + " in all of " + std::to_string(family_.size()) +
         " comparisons (Holm; false alarms in one run of " + detail::number_text(1 / false_alarm_rate) + ").";
}

Verdict Judgement::verdict() const {
  Verdict result;
  if (family_.empty()) {
    result.text = "Nothing to judge: no row has both an exact theory and a simulation.";
    return result;
  }
  const std::vector<bool> rejected = statistics::disagreements(family_, false_alarm_rate);
  const auto rejections = std::count(rejected.begin(), rejected.end(), true);
  double worst = 0, resolution = 0;
  bool finite = true;
  for (const statistics::Agreement& member : family_) {
    finite = finite && std::isfinite(member.z);
    worst = std::max(worst, std::abs(member.z));
    resolution = std::max(resolution, member.resolution(bound()));
  }
  if (!finite) worst = std::nan("");
  result.agrees = rejections == 0;
  result.text = (rejections == 0 ? "Agreement: " : "DISAGREEMENT in " + std::to_string(rejections) + " of ") +
                std::to_string(family_.size()) + " comparisons, largest |z| " + fixed(worst, 2) + ", bound " +
                fixed(bound(), 2) + "; a deviation of " + fixed(100 * resolution, 1) + "% would have shown.";
  result.details = {{"comparisons", family_.size()},
                    {"disagreements", rejections},
                    {"largest_absolute_z", detail::json_number(worst)},
                    {"bound", bound()},
                    {"false_alarm_rate", false_alarm_rate},
                    {"resolution", detail::json_number(resolution)}};
  return result;
}

/// statistics::family_wise_bound, with the tails of Student's t where the error is known from few batches only.
double Judgement::bound() const {
  std::int64_t fewest = std::int64_t{1} << 40;
  for (const statistics::Agreement& member : family_) fewest = std::min(fewest, member.estimate.count);
  const auto members = static_cast<double>(std::max<std::size_t>(family_.size(), 1));
  const boost::math::students_t law(static_cast<double>(std::max<std::int64_t>(fewest - 1, 1)));
  return boost::math::quantile(boost::math::complement(law, false_alarm_rate / 2 / members));
}

}  // namespace incontext::examples
