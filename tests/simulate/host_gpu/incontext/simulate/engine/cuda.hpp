#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

#include "incontext/statistics/moments.hpp"

/// A GPU that is the host, in the place of the library's header of this name: with INCONTEXT_SIMULATE_CUDA defined, the
/// device `cuda` runs the GPU's path (one trial per call, all slots side by side, blocks of a grid's rows) by serial
/// loops.
namespace incontext::simulate::detail {

/// The size of working memory that HOST_GPU_NUMBERS names: with few numbers a slot runs several trials, and a run has
/// several waves.
inline std::int64_t numbers_of_environment() {
  const char* text = std::getenv("HOST_GPU_NUMBERS");
  return text == nullptr ? 1 << 24 : std::atoll(text);
}

/// What a test may change of the GPU.
struct HostGpu {
  int count = 1;
  int used = 0;
  std::string failure = {};  // of every kernel
  std::int64_t working_numbers = numbers_of_environment();
  std::size_t most_bytes = std::size_t{1} << 32;
};
inline HostGpu host_gpu;

inline int gpu_count() { return host_gpu.count; }
inline void use_gpu(int gpu) { host_gpu.used = gpu; }
inline std::string why_gpu_fails(int) { return host_gpu.failure; }
inline std::int64_t gpu_working_numbers() { return host_gpu.working_numbers; }

/// As on a GPU, elements are reached through an address or copy_home alone, a resized buffer does not keep what it held,
/// and fresh memory holds anything: here NaN, so that a number read before it was written changes every result.
template <class T>
class GpuMemory {
 public:
  using value_type = T;

  GpuMemory() = default;
  template <class Iterator>
  GpuMemory(Iterator first, Iterator last) : numbers_(first, last) {}
  GpuMemory(GpuMemory&&) = default;
  GpuMemory& operator=(GpuMemory&&) = default;

  void resize(std::size_t size) {
    numbers_ = {};
    if (size > host_gpu.most_bytes / sizeof(T)) throw std::bad_alloc();
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

/// Sixteen threads in lockstep, which exchange their sums as a half warp does.
struct HalfWarpWays {
  template <class T, class Term>
  double sum(const T* values, std::int64_t count, const Term& term) const {
    constexpr int ways = statistics::moment_ways;
    double own[ways], shuffled[ways];
    for (int way = 0; way < ways; ++way) own[way] = statistics::sum_of_way(values, count, way, term);
    statistics::fold_ways([&](int half) {
      for (int way = 0; way < ways; ++way) shuffled[way] = own[way + half < ways ? way + half : way];
      for (int way = 0; way < ways; ++way) own[way] += shuffled[way];
    });
    return own[0];
  }
};

template <class Function>
void for_each_by_ways_on_gpu(std::int64_t count, const Function& function) {
  for (std::int64_t i = 0; i < count; ++i) function(i, HalfWarpWays{});
}

}  // namespace incontext::simulate::detail
