#include "examples/fading/controls.hpp"

#include <cmath>
#include <utility>

#include "examples/support/judgment.hpp"
#include "examples/support/report.hpp"

namespace incontext::examples::fading {

namespace {

constexpr double rejected_beyond = 5;
constexpr double telling_beyond = 10;  // standard errors between the exact value and the limit

}  // namespace

Controls::Controls()
    : table_{.title = "Negative controls: limits, taken at their word where they do not hold",
             .columns = {{"limit"},
                         {"n"},
                         {"at"},
                         {.name = "claimed", .digits = 4, .decimals_as = 1},
                         {.name = "simulation", .decimals_as = 1},
                         {.name = "standard_error", .heading = "± error", .decimals_as = 1},
                         {.name = "z", .digits = 4},
                         {.name = "trials", .in_text = InText::hidden},
                         {"outcome"}}} {
  table_.notes = {
      "Each is right in its limit only, and must be rejected here (|z| > 5) where the simulation can tell."};
}

void Controls::add(const std::string& limit, std::int64_t length, std::string where, double claimed, double exact,
                   const statistics::Estimate& estimate) {
  const auto finite = [](double value) { return std::isfinite(value) ? Cell(value) : Cell(); };
  const double z = (estimate.mean - claimed) / estimate.standard_error;
  std::string outcome = "rejected";
  if (estimate.count < 2) {
    outcome = "not reached";
  } else if (!(std::abs(z) > rejected_beyond)) {
    const bool telling = std::abs(exact - claimed) > telling_beyond * estimate.standard_error;
    outcome = telling ? "NOT REJECTED" : "cannot tell";
    failures_ += telling ? 1 : 0;
  }
  table_.add_row({limit, length, std::move(where), finite(claimed), finite(estimate.mean),
                  finite(estimate.standard_error), finite(z), estimate.count, outcome});
}

void Controls::join(Verdict& verdict) const {
  if (empty()) return;
  verdict.details["controls"] = table_.rows.size();
  verdict.details["controls_that_passed"] = failures_;
  if (failures_ == 0) return;
  verdict.agrees = false;
  verdict.text += " DISAGREEMENT: " + std::to_string(failures_) + " of the negative controls not rejected.";
}

}  // namespace incontext::examples::fading
