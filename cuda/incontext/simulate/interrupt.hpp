#pragma once

#include <csignal>

#include "incontext/core/host_device.hpp"

namespace incontext::simulate {

/// While one of these lives, Ctrl-C asks the runs to stop instead of ending the program; a second Ctrl-C ends it. A run
/// throws away the wave it is in and keeps the waves before it. Without a guard nothing changes.
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

  /// Whether a stop was asked for while this guard lived; false where there is none.
  [[nodiscard]] static bool requested() { return requested_ != 0; }

 private:
  static void on_signal(int) {
    requested_ = 1;
    std::signal(SIGINT, SIG_DFL);
  }
  // Not atomic: g++ takes an atomic load for a change of all memory, which costs loops over tokens two per cent.
  static inline volatile std::sig_atomic_t requested_ = 0;
  void (*previous_)(int) = SIG_DFL;
};

/// Whether the trials that are being run will be thrown away: then a trial may end at once, whatever it has written.
/// Every loop of a trial that can take more than a tenth of a second asks. On a GPU, which cannot know, always false.
///
///     for (std::int64_t j = 0; j < tokens && !simulate::stop_requested(); ++j) ...
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
