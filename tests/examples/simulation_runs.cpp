#include "examples/support/simulation_runs.hpp"

#include <csignal>

#include "support/catch.hpp"

namespace incontext::testing {

TEST_CASE("a run that is stopped between two simulations is incomplete once more is asked for") {
  examples::SimulationRuns runs(examples::SimulationOptions{}, true);
  const auto simulation = [](const simulate::Options& options) {
    options.progress({.done = 1, .planned = 1, .seconds = 0});  // from here on Ctrl-C is a request
    return simulate::Simulation{};
  };
  runs.run("the first", 0, simulation);
  CHECK_FALSE(runs.stopped());
  CHECK(runs.summary().complete);
  std::raise(SIGINT);
  CHECK(runs.summary().complete);  // all that was asked for is there
  CHECK(runs.stopped());
  CHECK_FALSE(runs.summary().complete);
}

}  // namespace incontext::testing
