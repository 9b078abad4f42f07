#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/memory.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/slots.hpp"
#include "incontext/simulate/engine/systems.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/statistics/moments_tree.hpp"

namespace incontext::training::detail {

/// The means of a trial's values over consecutive trials. The memory is kept from call to call, as training needs the
/// mean of one batch after another. Bits depend on the trials alone.
template <class System, class Scalar>
class BatchMean {
 public:
  explicit BatchMean(const simulate::detail::Workers& workers) : workers_(workers) {}

  /// Moments of every output over trials first ... first + count - 1; empty if a stop request cut the batch short.
  template <simulate::Trial TrialType>
  std::vector<statistics::Moments> operator()(const TrialType& trial, std::uint64_t seed, std::int64_t first,
                                              std::int64_t count) {
    using namespace simulate::detail;
    constexpr int lanes = System::lanes;
    constexpr std::string_view where = "training::BatchMean";
    const std::int64_t batches = (count + lanes - 1) / lanes, stride = batches * lanes;
    const std::int64_t chunks = (count + simulate::chunk_trials - 1) / simulate::chunk_trials;
    const std::int64_t slot_count = scratch_slots<System>(trial, batches, workers_);
    const int outputs = trial.outputs();
    make_room_for_trials<System>(where, trial, stride, values_, slot_count, scratch_);
    make_room(where, moments_, {chunks, outputs, "chunks of contexts", "the parameters"});
    run_trials<System, TrialType>(
        {trial, seed, first, batches, slot_count, address(values_), stride, address(scratch_)}, workers_);
    if (simulate::InterruptGuard::requested()) return {};
    System::for_each_by_ways(chunks * outputs, workers_,
                             SumChunk<Scalar>{address(values_), stride, count, outputs, address(moments_)});
    const std::vector<statistics::Moments> home = copy_to_host(moments_, 0, chunks * outputs);
    std::vector<statistics::Moments> total;
    for (std::size_t k = 0; k < static_cast<std::size_t>(outputs); ++k) {
      statistics::MomentsTree tree;
      for (std::size_t at = k; at < home.size(); at += static_cast<std::size_t>(outputs)) tree.push(home[at]);
      total.push_back(tree.total());
    }
    return total;
  }

 private:
  simulate::detail::Workers workers_;
  typename System::template Memory<Scalar> values_, scratch_;
  typename System::template Memory<statistics::Moments> moments_;
};

}  // namespace incontext::training::detail
