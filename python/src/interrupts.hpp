#pragma once

#include <mutex>
#include <optional>

#include "incontext/simulate/engine/interrupt.hpp"

namespace incontext::python {

/// The engine's InterruptGuard for as long as any thread simulates or measures. One replaces the handler of SIGINT,
/// which the interpreter gets back when the last call has ended. Like the engine's, it is one for all extensions, and
/// therefore visible.
class __attribute__((visibility("default"))) SharedInterruptGuard {
 public:
  SharedInterruptGuard() {
    const std::lock_guard one(mutex());
    if (users()++ == 0) guard().emplace();
  }
  ~SharedInterruptGuard() {
    const std::lock_guard one(mutex());
    if (--users() == 0) guard().reset();
  }
  SharedInterruptGuard(const SharedInterruptGuard&) = delete;
  SharedInterruptGuard& operator=(const SharedInterruptGuard&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static int& users() {
    static int count = 0;
    return count;
  }
  static std::optional<simulate::InterruptGuard>& guard() {
    static std::optional<simulate::InterruptGuard> one;
    return one;
  }
};

}  // namespace incontext::python
