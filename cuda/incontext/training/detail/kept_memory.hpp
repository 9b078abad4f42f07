#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "incontext/core/floating_point.hpp"

namespace incontext::training::detail {

/// Objects of working memory that threads borrow. There are as many as threads ever worked at the same time, and they
/// are freed with this object. Several threads may call it at once.
template <class Memory>
class KeptMemory {
 public:
  /// Calls work(memory) with an object that no other thread uses, as an earlier call left it. If work throws, the
  /// object is freed.
  template <class Work>
  void lend_to(const Work& work) {
    std::unique_ptr<Memory> memory = take();
    work(*memory);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(memory));
  }

 private:
  std::unique_ptr<Memory> take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Memory>();
    std::unique_ptr<Memory> memory = std::move(idle_.back());
    idle_.pop_back();
    return memory;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Memory>> idle_;
};

}  // namespace incontext::training::detail
