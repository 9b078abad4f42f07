#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "incontext/core/host_device.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/memory.hpp"
#include "incontext/simulate/engine/systems.hpp"

/// Runs any number of trials in a bounded amount of working memory.
namespace incontext::simulate::detail {

/// Runs every `slot_count`-th batch of lanes, one after the other in the same memory. It is a named functor, because nvcc
/// needs an option for lambdas here.
template <class TrialType, int W>
struct RunSlot {
  using T = typename TrialType::Scalar;
  static constexpr std::string_view task = "running trials";
  TrialType trial;
  std::uint64_t seed;
  std::int64_t first_trial, batches, slot_count;
  T* values;  // output k of trial i of the wave at values[k * value_stride + i]
  std::int64_t value_stride;
  T* scratch;  // a slot's rows one after the other on a CPU, all slots side by side on a GPU

  INCONTEXT_HD void operator()(std::int64_t slot) const {
    const LaneArray<T, W> own{scratch + (W == 1 ? slot : slot * W * trial.scratch_rows()), W == 1 ? slot_count : W};
    for (std::int64_t batch = slot; batch < batches; batch += slot_count) {
      if (stop_requested()) [[unlikely]]
        return;
      const std::int64_t at = batch * W;
      trial.template run<W>(random::Trials<W>{seed, static_cast<std::uint64_t>(first_trial + at)}, own,
                            LaneArray<T, W>{values + at, value_stride});
    }
  }
};

/// The number of batches with working memory of their own. On a GPU all of them where they are small, and at least one
/// per thread of a warp. On a CPU four per thread, so that TBB can share them out evenly while a thread's memory stays
/// in its cache, or fewer, but one per thread, where they are large.
template <class System, class TrialType>
std::int64_t slots_of(const TrialType& trial, std::int64_t batches, const Workers& workers) {
  const std::int64_t size = (std::max<std::int64_t>)(trial.scratch_rows(), 1) * System::lanes;
  const std::int64_t fitting = System::working_numbers() / size;
  if (System::lanes == 1) return (std::min)(batches, (std::max<std::int64_t>)(fitting, 32));
  const std::int64_t threads = System::workers(workers);
  return (std::min)(batches, std::clamp(fitting, threads, 4 * threads));
}

/// The chunks whose trials, one per thread, about fill a GPU: one of 132 multiprocessors with 512 threads each.
inline constexpr std::int64_t chunks_that_fill_a_gpu = 64;

/// The number of chunks in the next wave. The first wave is small, so that a run of any cost reports how far it is and
/// can be stopped; on a GPU it fills the GPU, because fewer take no less
/// time. Each is then up to twice as large as the last on a CPU and eight times on a GPU, as long as it should take at
/// most a fifth of a second.
template <class System>
class WaveSize {
 public:
  explicit WaveSize(std::int64_t most)
      : most_(most), chunks_((std::min<std::int64_t>)(most, is_gpu ? chunks_that_fill_a_gpu : 8)) {}

  [[nodiscard]] std::int64_t chunks() const { return chunks_; }
  void grow(double seconds) {
    int factor = is_gpu ? 8 : 2;
    while (factor > 1 && factor * seconds >= 0.2) factor /= 2;
    chunks_ = (std::min)(most_, factor * chunks_);
  }

 private:
  static constexpr bool is_gpu = System::lanes == 1;
  std::int64_t most_;
  std::int64_t chunks_;
};

/// Seconds since it was made.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// The parameters on which a trial's working memory depends, for a message.
template <class TrialType>
constexpr std::string_view growth_of() {
  if constexpr (requires { TrialType::grows_with; }) return TrialType::grows_with;
  return "scratch_rows()";
}

/// Allocates the values of `kept` trials and the scratch memory of those that run side by side.
template <class System, class TrialType, class Memory>
void make_room_for_trials(std::string_view where, const TrialType& trial, std::int64_t kept, Memory& values,
                          std::int64_t slot_count, Memory& scratch) {
  make_room(where, values, {kept, trial.outputs(), "trials", "the number of points"});
  make_room(where, scratch, {slot_count * System::lanes, trial.scratch_rows(), "trials", growth_of<TrialType>()});
}

}  // namespace incontext::simulate::detail
