#pragma once

#include <csignal>
#include <cstdint>

#include "incontext/core/host_device.hpp"

namespace incontext::simulate {

#if defined(__CUDACC__)
namespace detail {
/// Not 0 if the GPU's trials are to end. engine/cuda_loops.hpp sets it. Every source file has its own.
static __device__ volatile int gpu_stop = 0;
}  // namespace detail
#endif

/// While an InterruptGuard exists, Ctrl-C requests that runs stop instead of ending the program; a second Ctrl-C ends
/// it. A run discards its current wave and keeps the waves before it. Without a guard Ctrl-C ends the program as usual.
///
/// It is one for all shared libraries of a process, even if they hide their symbols.
class __attribute__((visibility("default"))) InterruptGuard {
 public:
  InterruptGuard() {
    requested_ = 0;
    previous_ = std::signal(SIGINT, on_signal);
  }
  ~InterruptGuard() {
    std::signal(SIGINT, previous_);
    requested_ = 0;
  }
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether a stop was requested while this guard existed; false without a guard.
  [[nodiscard]] static bool requested() { return requested_ != 0; }

 private:
  static void on_signal(int) {
    requested_ = 1;
    std::signal(SIGINT, SIG_DFL);
  }
  // Not atomic: g++ treats an atomic load as a change of all memory, which slows loops over tokens by two percent.
  static inline volatile std::sig_atomic_t requested_ = 0;
  void (*previous_)(int) = SIG_DFL;
};

/// Whether the trials of the current wave will be discarded, so that a trial may end at once in any state. Every loop
/// of a trial that can take more than a tenth of a second calls it, at most once per few thousand operations: on a GPU
/// it reads the memory that all multiprocessors share.
///
/// Runs on   host and device
INCONTEXT_HD inline bool stop_requested() {
#if defined(__CUDA_ARCH__)
  return detail::gpu_stop != 0;
#else
  return InterruptGuard::requested();
#endif
}

/// stop_requested() for a loop whose steps are short, of less than a thousand operations: a GPU asks before step 0 and
/// every 64th after it, because the answer takes as long as a few hundred operations. `step` is 0 or a multiple of 64 at
/// the loop's start, and what is added to it divides 64.
///
///     for (std::int64_t j = 0; j < tokens && !simulate::stop_requested_at(j); ++j) sum += row[j];
///
/// Runs on   host and device
INCONTEXT_HD inline bool stop_requested_at([[maybe_unused]] std::int64_t step) {
#if defined(__CUDA_ARCH__)
  return (step & 63) == 0 && stop_requested();
#else
  return stop_requested();
#endif
}

/// stop_requested() for inner loops that are long at large dimensions only; on a GPU always false.
///
/// Runs on   host and device
INCONTEXT_HD inline bool stop_requested_on_host() {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return InterruptGuard::requested();
#endif
}

}  // namespace incontext::simulate
