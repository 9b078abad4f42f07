#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "incontext/core/contracts.hpp"

/// Reports threads that cannot be started, and exceptions in threads, to the caller. OpenMP and TBB end the process.
namespace incontext::simulate::detail {

/// More bytes than OpenMP and TBB allocate themselves when they start threads.
inline constexpr std::size_t spare_bytes = std::size_t{1} << 25;

/// The number of threads, up to `wanted`, that can run at the same time: they are started, wait for each other and end.
/// Each allocates before the next is started, as the threads of TBB do, because the memory that a first allocation
/// reserves outlives its thread.
inline int startable_threads(int wanted) {
  std::mutex gate;
  std::atomic<int> ready = 0;
  std::vector<std::string> allocated(static_cast<std::size_t>(wanted));
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(wanted));
  {
    const std::lock_guard closed(gate);
    try {
      const std::unique_ptr<char[]> spare(new char[spare_bytes]);
      for (int started = 0; started < wanted; ++started) {
        threads.emplace_back([&gate, &ready, &own = allocated[static_cast<std::size_t>(started)]] {
          own.assign(64, ' ');
          ++ready;
          ready.notify_one();
          const std::lock_guard pass(gate);
        });
        ready.wait(started);
      }
    } catch (const std::system_error&) {  // no more threads can be started
    } catch (const std::bad_alloc&) {
    }
  }
  for (std::thread& thread : threads) thread.join();
  return static_cast<int>(threads.size());
}

/// Refuses more threads than can be started; `started` is the number that a system is known to have.
inline void require_startable(int workers, int& started) {
  if (workers <= started) return;
  const int most = started + startable_threads(workers - started);
  if (most < workers) {
    throw_invalid_argument("simulate", "threads cannot be started", workers,
                           "at most " + std::to_string(most) + " here, or higher limits on memory and processes");
  }
  started = workers;
}

/// Calls a function and keeps its first exception, because an exception that leaves an OpenMP worker ends the process.
template <class Function>
class FirstException {
 public:
  explicit FirstException(const Function& function) : function_(function) {}

  template <class Index>
  void operator()(Index index) noexcept {
    try {
      function_(index);
    } catch (...) {
      const std::lock_guard one(mutex_);
      if (!first_) first_ = std::current_exception();
    }
  }

  [[nodiscard]] bool has_caught() {
    const std::lock_guard one(mutex_);
    return first_ != nullptr;
  }

  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  const Function& function_;
  std::mutex mutex_;
  std::exception_ptr first_;
};

}  // namespace incontext::simulate::detail
