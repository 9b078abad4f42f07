#pragma once

#include "incontext/core/floating_point.hpp"

#if defined(INCONTEXT_SIMULATE_CUDA)
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

/// Memory of a GPU, and errors of CUDA as exceptions. Only engine/cuda.hpp includes it.
namespace incontext::simulate::detail {

/// Throws if a call of CUDA failed, with what it did and CUDA's own text. An error that does not end the use of the GPU
/// is cleared, so that the next call does not report it again.
///
/// Errors    std::bad_alloc if memory is what was missing, otherwise std::runtime_error.
inline void require_done(cudaError_t status, std::string_view what) {
  if (status == cudaSuccess) return;
  (void)cudaGetLastError();
  if (status == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw std::runtime_error("incontext::simulate: " + std::string(what) +
                           " failed on the GPU: " + cudaGetErrorString(status) + " (" + cudaGetErrorName(status) + ")");
}

/// The stream of the calling thread's kernels, copies and memory. Null, the default stream, unless an OwnStream lives.
inline cudaStream_t& gpu_stream() {
  static thread_local cudaStream_t stream = nullptr;
  return stream;
}

/// Whether the calling thread waits for every kernel that it launches; not while an OwnStream lives.
inline bool& own_waits() {
  static thread_local bool waits = true;
  return waits;
}

/// While it lives, the calling thread's work is in the caller's stream, and kernels, which must not ask for stop
/// requests, are not waited for. The next copy that waits reports their errors, and does not know which kernel failed.
class OwnStream {
 public:
  explicit OwnStream(void* stream) : stream_(gpu_stream()), waits_(own_waits()) {
    gpu_stream() = static_cast<cudaStream_t>(stream);
    own_waits() = false;
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() {
    gpu_stream() = stream_;
    own_waits() = waits_;
  }

 private:
  cudaStream_t stream_;
  bool waits_;
};

/// The GPU in whose memory an address is, -1 for the host's. Memory that both reach is the host's.
inline int gpu_of_memory(const void* address) {
  cudaPointerAttributes found = {};
  require_done(cudaPointerGetAttributes(&found, address), "asking where memory is");
  return found.type == cudaMemoryTypeDevice ? found.device : -1;
}

/// Copies and waits: the host may change or read its side when this returns.
inline void copy_and_wait(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, std::string_view what) {
  require_done(cudaMemcpyAsync(to, from, bytes, kind, gpu_stream()), what);
  require_done(cudaStreamSynchronize(gpu_stream()), what);
}

/// The most numbers in working memory at a time: 2^28, or as many doubles as an eighth of the GPU's memory holds if
/// that is less.
inline std::int64_t gpu_working_numbers() {
  std::size_t left = 0, all = 0;
  require_done(cudaMemGetInfo(&left, &all), "asking for the size of the memory");
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(all / 64), 1, std::int64_t{1} << 28);
}

/// The pool of the current GPU's memory, told to keep what is freed for the next run; null where the GPU has no pools.
inline cudaMemPool_t gpu_pool() {
  int gpu = 0, has_pools = 0;
  cudaMemPool_t pool = nullptr;
  std::uint64_t keep_all = (std::numeric_limits<std::uint64_t>::max)();
  const bool found = cudaGetDevice(&gpu) == cudaSuccess &&
                     cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, gpu) == cudaSuccess &&
                     has_pools != 0 && cudaDeviceGetDefaultMemPool(&pool, gpu) == cudaSuccess &&
                     cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep_all) == cudaSuccess;
  (void)cudaGetLastError();
  return found ? pool : nullptr;
}

/// An array in the GPU's memory. Only kernels and copy_to_host reach its elements; the values of new elements are
/// undefined.
///
/// Errors    std::bad_alloc if there is not enough memory.
template <class T>
class GpuMemory {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using value_type = T;

  GpuMemory() = default;
  // by way of the constructor above, so that a failed copy frees the memory
  template <std::contiguous_iterator Iterator>
  GpuMemory(Iterator first, Iterator last) : GpuMemory() {
    resize(static_cast<std::size_t>(last - first));
    if (size_ > 0) {
      copy_and_wait(numbers_, std::to_address(first), size_ * sizeof(T), cudaMemcpyHostToDevice, "copying parameters");
    }
  }
  GpuMemory(GpuMemory&& other) noexcept { *this = std::move(other); }
  GpuMemory& operator=(GpuMemory&& other) noexcept {
    std::swap(numbers_, other.numbers_);
    std::swap(size_, other.size_);
    std::swap(stream_, other.stream_);
    std::swap(is_pooled_, other.is_pooled_);
    return *this;
  }
  ~GpuMemory() { release(); }

  /// Makes room for other elements: the old ones are not kept, and their memory is free for the new ones.
  void resize(std::size_t size) {
    release();
    if (size == 0) return;
    if (size > (std::numeric_limits<std::size_t>::max)() / 2 / sizeof(T)) throw std::bad_alloc();
    cudaMemPool_t pool = gpu_pool();
    is_pooled_ = pool != nullptr;
    stream_ = gpu_stream();
    void* numbers = nullptr;
    cudaError_t status = allocate(&numbers, size);
    if (status == cudaErrorMemoryAllocation && is_pooled_) {  // what the pool keeps may be in pieces
      (void)cudaGetLastError();
      if (cudaDeviceSynchronize() == cudaSuccess) (void)cudaMemPoolTrimTo(pool, 0);
      status = allocate(&numbers, size);
    }
    require_done(status, "allocating memory");
    numbers_ = static_cast<T*>(numbers);
    size_ = size;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] T* data() { return numbers_; }
  [[nodiscard]] const T* data() const { return numbers_; }

 private:
  cudaError_t allocate(void** numbers, std::size_t size) const {
    return is_pooled_ ? cudaMallocAsync(numbers, size * sizeof(T), stream_) : cudaMalloc(numbers, size * sizeof(T));
  }
  /// Never throws: after an error that ends the use of the GPU, freeing fails as every call does, and the exception
  /// that reports the error is on its way.
  void release() noexcept {
    if (numbers_ != nullptr && (is_pooled_ ? cudaFreeAsync(numbers_, stream_) : cudaFree(numbers_)) != cudaSuccess) {
      (void)cudaGetLastError();
    }
    numbers_ = nullptr;
    size_ = 0;
  }

  T* numbers_ = nullptr;
  std::size_t size_ = 0;
  cudaStream_t stream_ = nullptr;  // in whose order the memory is made and freed
  bool is_pooled_ = false;
};

/// Elements first ... first + count - 1 in the host's memory, by one copy.
template <class T>
std::vector<T> copy_to_host(const GpuMemory<T>& memory, std::int64_t first, std::int64_t count) {
  std::vector<T> home(static_cast<std::size_t>(count));
  if (count > 0) {
    copy_and_wait(home.data(), memory.data() + first, home.size() * sizeof(T), cudaMemcpyDeviceToHost,
                  "copying results");
  }
  return home;
}

}  // namespace incontext::simulate::detail
#endif
