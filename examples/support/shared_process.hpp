#pragma once

#include <incontext/simulate/engine/records/shared_record.hpp>
#include <incontext/simulate/engine/records/simulation_record.hpp>

#include <functional>

namespace incontext::examples {

/// This process of a run that several share, for whatever simulates: its rank, what it may use of its machine, and the
/// record that all share.
struct SharedProcess {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  ///< its number among those of its machine
  int threads = 0;     ///< its share of the processors
  simulate::SharedRecord* record = nullptr;
  /// Rank 0: keeps the chunks of all in a record; the function is called when a rank was stopped.
  std::function<void(simulate::SimulationRecord&, std::function<void()>)> keep = {};
};

}  // namespace incontext::examples
