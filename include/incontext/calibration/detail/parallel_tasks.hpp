#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "incontext/core/floating_point.hpp"

namespace incontext::calibration::detail {

/// Runs task(0), task(1), ... on threads that take the next one when they are free. Tasks are begun in order. If tasks
/// throw, those that were begun are finished, and the exception of the first in order is thrown.
inline void run_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task,
                      const std::function<void(std::int64_t, std::int64_t)>& progress) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::int64_t done = 0, first_failure = count;
  std::exception_ptr error;
  const auto work = [&] {
    for (std::int64_t i = next++; i < count && !failed; i = next++) {
      try {
        task(i);
        const std::lock_guard lock(mutex);
        ++done;
        if (progress) progress(done, count);
      } catch (...) {
        const std::lock_guard lock(mutex);
        failed = true;
        if (i < first_failure) {
          first_failure = i;
          error = std::current_exception();
        }
      }
    }
  };
  const int available = (std::max)(1, static_cast<int>(std::thread::hardware_concurrency()));
  const auto wanted = (std::min<std::int64_t>)(threads > 0 ? threads : available, count);
  std::vector<std::thread> others;
  for (std::int64_t i = 1; i < wanted; ++i) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace incontext::calibration::detail
