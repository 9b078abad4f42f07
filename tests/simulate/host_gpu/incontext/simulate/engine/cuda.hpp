#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "incontext/core/floating_point.hpp"

/// A GPU that is the host, in the place of the library's header of this name: with INCONTEXT_SIMULATE_CUDA defined, the
/// device `cuda` runs the GPU's path (one trial per call, all slots side by side, blocks of a grid's rows) by serial
/// loops.
namespace incontext::simulate::detail {

inline int gpu_count() { return 1; }

/// As on a GPU, elements are reached through an address or copy_home alone, a resized buffer does not keep what it held,
/// and fresh memory holds anything: here NaN, so that a number read before it was written changes every result.
template <class T>
class GpuMemory {
 public:
  using value_type = T;

  GpuMemory() = default;
  template <class Iterator>
  GpuMemory(Iterator first, Iterator last) : numbers_(first, last) {}

  void resize(std::size_t size) {
    numbers_.assign(size, T());
    std::memset(static_cast<void*>(numbers_.data()), 0xff, size * sizeof(T));
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] T* data() { return numbers_.data(); }
  [[nodiscard]] const T* data() const { return numbers_.data(); }

 private:
  std::vector<T> numbers_;
};

template <class T>
std::vector<T> copy_home(const GpuMemory<T>& memory, std::int64_t first, std::int64_t count) {
  return std::vector<T>(memory.data() + first, memory.data() + first + count);
}

template <class Function>
void for_each_on_gpu(std::int64_t count, const Function& function) {
  for (std::int64_t i = 0; i < count; ++i) function(i);
}

}  // namespace incontext::simulate::detail
