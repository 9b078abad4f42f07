#include "examples/classify/controls.hpp"

#include <cmath>
#include <utility>

#include "examples/support/report.hpp"

namespace incontext::examples::classify {

namespace {

constexpr double rejected_beyond = 5;
constexpr double telling_beyond = 10;        // standard errors from the exact value to the one claimed
constexpr std::int64_t fewest_trials = 256;  // of fewer, the mean of a skewed quantity is not normal

}  // namespace

Controls::Controls()
    : table_{.title = "Negative controls: theories that are wrong by little",
             .columns = {{"theory"},
                         {"of"},
                         {.name = "claimed", .digits = 4, .decimals_as = 1},
                         {.name = "simulation", .digits = 4, .decimals_as = 1},
                         {.name = "standard_error", .in_text = InText::hidden},
                         {.name = "z", .digits = 4},
                         {.name = "trials", .in_text = InText::hidden},
                         {"outcome"}}} {
  table_.notes = {"Each must be rejected (|z| > 5) where the simulation can tell it from the right value."};
}

void Controls::add(const std::string& what, const std::string& at, double claimed, double exact,
                   const statistics::Estimate& estimate) {
  const double z = (estimate.mean - claimed) / estimate.standard_error;
  std::string outcome = "rejected";
  if (estimate.count < 2) {
    outcome = "not reached";
  } else if (!(std::abs(z) > rejected_beyond)) {
    const bool is_telling =
        estimate.count >= fewest_trials && std::abs(exact - claimed) > telling_beyond * estimate.standard_error;
    outcome = is_telling ? "NOT REJECTED" : "cannot tell";
    failures_ += is_telling ? 1 : 0;
  }
  const bool is_reached = estimate.count > 1;
  table_.add_row({what, at, claimed, is_reached ? Cell(estimate.mean) : Cell(),
                  is_reached ? Cell(estimate.standard_error) : Cell(), is_reached ? Cell(z) : Cell(), estimate.count,
                  outcome});
}

void Controls::join(Verdict& verdict) const {
  if (empty()) return;
  verdict.details["controls"] = table_.rows.size();
  verdict.details["controls_that_passed"] = failures_;
  if (failures_ == 0) return;
  verdict.agrees = false;
  verdict.text += " DISAGREEMENT: " + std::to_string(failures_) + " of the negative controls not rejected.";
}

}  // namespace incontext::examples::classify
