#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "incontext/core/floating_point.hpp"

namespace incontext::train::detail {

/// Memory that threads take turns to work in: as many pieces as there were threads at the same time. It is freed with
/// this object.
template <class Memory>
class KeptMemory {
 public:
  /// Calls work(memory), with whatever an earlier call left in it.
  template <class Work>
  void lend_to(const Work& work) {
    std::unique_ptr<Memory> memory = take();
    work(*memory);
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(memory));
  }

 private:
  std::unique_ptr<Memory> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<Memory>();
    std::unique_ptr<Memory> memory = std::move(free_.back());
    free_.pop_back();
    return memory;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> free_;
};

}  // namespace incontext::train::detail
