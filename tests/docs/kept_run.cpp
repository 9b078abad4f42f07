// A program of docs/extending.md, word for word: a run that is stopped and resumed, and a run in parts.
#include <csignal>
#include <cstdio>
#include <incontext/random/normal.hpp>
#include <incontext/simulate/engine/interrupt.hpp>
#include <incontext/simulate/engine/records/simulation_record.hpp>
#include <incontext/simulate/engine/records/united_records.hpp>
#include <incontext/simulate/engine/run.hpp>
#include <string>

namespace rng = incontext::random;
namespace simulate = incontext::simulate;

struct FourthPowerTrial {
  using Scalar = double;
  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }
  template <int W>
  INCONTEXT_HD void run(rng::Trials<W> trials, simulate::LaneArray<double, W>,
                        simulate::LaneArray<double, W> values) const {
    incontext::Lanes<double, W> normal[rng::normals_per_block<double>];
    rng::normals(rng::LaneStream(trials, rng::StreamTag(4096)), 0u, normal);
    values[0] = normal[0] * normal[0] * normal[0] * normal[0];
  }
};

simulate::Simulation simulated(simulate::Record* record) {
  return simulate::run(FourthPowerTrial{}, {.seed = 1, .trials = 1 << 22, .record = record});
}

int main() {
  const double once = simulated(nullptr).estimates[0].mean;

  simulate::SimulationRecord record;
  record.on_change([] { std::raise(SIGINT); });  // after each wave you may save record.simulations(); here: Ctrl-C
  const auto stopped = [&] {
    const simulate::InterruptGuard guard;
    return simulated(&record);
  }();
  simulate::SimulationRecord resumed(record.simulations());
  const bool goes_on = simulated(&resumed).estimates[0].mean == once;
  std::printf("stopped early: %s; resumed: %s\n", stopped.interrupted ? "yes" : "no", goes_on ? "same bits" : "no");

  std::vector<simulate::RecordedPart> parts;
  for (int number = 1; number <= 3; ++number) {  // in processes or on machines of their own, if you like
    simulate::SimulationRecord share({}, {number, 3});
    simulated(&share);
    parts.push_back({"part " + std::to_string(number), share.part(), share.simulations()});
  }
  simulate::SimulationRecord whole(simulate::united_records(parts));
  const bool is_same = simulated(&whole).estimates[0].mean == once;
  std::printf("three parts: %s\n", is_same ? "same bits" : "other bits");
  return goes_on && is_same && stopped.interrupted ? 0 : 1;
}
