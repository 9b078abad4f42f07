#pragma once

#include <vector>

#include "examples/fading/controls.hpp"
#include "examples/fading/options.hpp"
#include "examples/fading/simulator.hpp"
#include "examples/support/judgement.hpp"
#include "examples/support/table.hpp"

/// Attention over long rows of random scores, exact law beside simulation.
namespace incontext::examples {

/// What the parts of a run share.
struct FadingRun {
  const FadingOptions& options;
  Simulator& simulator;
  Judgement& judgement;
  Controls& controls;
};

std::vector<Table> figure_tables(FadingRun& run);

/// Weight of a signal among `count` independent scores uniform on (0, 1).
///
///   E e^(beta m) / (e^(beta m) + Z) = int dy F_1(y) psi(y - beta m)^count,
///   psi(s) = (E_1(e^s) - E_1(e^(s + beta))) / beta,  F_1(y) = e^(y - e^y)
double uniform_signal_weight(double count, double inverse_temperature, double signal);

}  // namespace incontext::examples
