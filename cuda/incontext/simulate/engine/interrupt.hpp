#pragma once

#include <csignal>

#include "incontext/core/host_device.hpp"

namespace incontext::simulate {

/// While an InterruptGuard exists, Ctrl-C requests that runs stop instead of ending the program; a second Ctrl-C ends
/// it. A run discards its current wave and keeps the waves before it. Without a guard Ctrl-C ends the program as usual.
///
/// Runs on   host
class InterruptGuard {
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
/// of a trial that can take more than a tenth of a second calls it. On a GPU it is always false.
///
///     for (std::int64_t j = 0; j < tokens && !simulate::stop_requested(); ++j) sum += row[j];
///
/// Runs on   host and device
INCONTEXT_HD inline bool stop_requested() {
#if defined(__CUDA_ARCH__)
  return false;
#else
  return InterruptGuard::requested();
#endif
}

}  // namespace incontext::simulate
