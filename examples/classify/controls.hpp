#pragma once

#include <cstdint>
#include <string>

#include "examples/support/controls.hpp"

namespace incontext::examples::classify {

/// Near misses: theories that are wrong by little, and that the run must reject where its simulation can tell.
class Controls : public examples::Controls {
 public:
  Controls()
      : examples::Controls(
            {.title = "Negative controls: theories that are wrong by little",
             .columns = {{"theory"},
                         {"of"},
                         {.name = "claimed", .digits = 4, .decimals_as = 1},
                         {.name = "simulation", .digits = 4, .decimals_as = 1},
                         {.name = "standard_error", .in_text = InText::hidden},
                         {.name = "z", .digits = 4},
                         {.name = "trials", .in_text = InText::hidden},
                         {"outcome"}},
             .notes = {"Each must be rejected (|z| > 5) where the simulation can tell it from the right value."}},
            fewest_trials) {}

  /// `what` names the wrong theory, `at` the row it stands for; `exact` is the right value, absent where there is none:
  /// with it, a control too near to be told apart is no failure.
  void add(const std::string& what, const std::string& at, double claimed, double exact,
           const statistics::Estimate& estimate) {
    examples::Controls::add({what, at}, claimed, exact, estimate);
  }

 private:
  static constexpr std::int64_t fewest_trials = 256;  // of fewer, the mean of a skewed quantity is not normal
};

}  // namespace incontext::examples::classify
