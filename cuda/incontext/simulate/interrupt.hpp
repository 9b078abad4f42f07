#pragma once

#include <csignal>

#include "incontext/core/floating_point.hpp"

namespace incontext::simulate {

/// While one of these lives, Ctrl-C asks the run to stop after the wave it is in instead of ending the program; a
/// second Ctrl-C ends it. Runs look at the flag between waves; without a guard nothing changes.
///
/// Runs on   host
class InterruptGuard {
 public:
  InterruptGuard() : previous_(std::signal(SIGINT, on_signal)) { requested_ = 0; }
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
  static inline volatile std::sig_atomic_t requested_ = 0;
  void (*previous_)(int);
};

}  // namespace incontext::simulate
