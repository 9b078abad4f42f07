#pragma once

#include <nanobind/nanobind.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace incontext::python {

/// Lets Ctrl-C end a long loop of the thread that holds it.
class Interrupts {
 public:
  void check() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return;
    next_ = now + std::chrono::milliseconds(50);
    const nanobind::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
  }

 private:
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
};

namespace detail {

/// The first exception of a loop, in the order of its elements, whichever thread meets it first.
class FirstException {
 public:
  void keep(std::int64_t element) {
    const std::lock_guard one(mutex_);
    if (element < element_.load()) {
      element_ = element;
      exception_ = std::current_exception();
    }
  }
  bool is_before(std::int64_t element) const { return element_.load(std::memory_order_relaxed) <= element; }
  void rethrow() const {
    if (exception_ != nullptr) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::atomic<std::int64_t> element_ = INT64_MAX;
  std::exception_ptr exception_;
};

}  // namespace detail

/// Short loops start no threads.
inline constexpr std::chrono::microseconds work_of_one_thread{200};

/// Calls `function` with 0, ..., count - 1, without the interpreter's lock. It begins in this thread, and goes on in one
/// thread for each processor of this process, or as many as OMP_NUM_THREADS says, if there is still work after
/// `work_of_one_thread`. The threads live for one call only: a pool of OpenMP's would hang in a process that
/// multiprocessing has forked. Of several exceptions the caller gets the one that a plain loop would have met. Ctrl-C
/// ends the loop. With `in_threads` false all is done in this thread.
template <class Function>
void for_each_element(std::int64_t count, const Function& function, bool in_threads = true) {
  const nanobind::gil_scoped_release unlocked;
  Interrupts interrupts;
  const auto start = std::chrono::steady_clock::now();
  std::int64_t done = 0;
  for (; done < count && std::chrono::steady_clock::now() - start < work_of_one_thread; ++done) {
    function(done);
  }
  if (done == count) return;
  std::atomic<std::int64_t> next = done;
  std::atomic<bool> stopped = false;
  detail::FirstException first;
  // several elements at a time where one takes less than the exchange of a number between processors
  const std::int64_t chunk = std::clamp<std::int64_t>(std::min(done / 8, (count - done) / 64), 1, 4096);
  const auto work = [&](auto&& between) {
    while (!stopped) {
      const std::int64_t from = next.fetch_add(chunk), to = std::min(from + chunk, count);
      if (from >= count) return;
      for (std::int64_t i = from; i < to && !first.is_before(i); ++i) {
        try {
          function(i);
        } catch (...) {
          first.keep(i);
        }
      }
      between();
    }
  };
  const auto most = in_threads ? std::min<std::int64_t>(omp_get_max_threads(), (count - done + chunk - 1) / chunk) : 1;
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(most));
  try {
    for (std::int64_t k = 1; k < most; ++k) threads.emplace_back([&work] { work([] {}); });
  } catch (const std::system_error&) {  // fewer threads than processors
  } catch (const std::bad_alloc&) {
  }
  std::exception_ptr interrupted;
  try {
    work([&interrupts] { interrupts.check(); });
  } catch (...) {
    interrupted = std::current_exception();
    stopped = true;
  }
  for (std::thread& thread : threads) thread.join();
  if (interrupted != nullptr) std::rethrow_exception(interrupted);
  first.rethrow();
}

}  // namespace incontext::python
