#pragma once

#include "incontext/core/floating_point.hpp"

#if defined(INCONTEXT_SIMULATE_CUDA)
#include <cuda_runtime_api.h>
#include <thrust/copy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system/cuda/vector.h>

#include <cstddef>
#include <cstdint>
#include <vector>

/// What the engine needs of a GPU, for nvcc alone. A test puts a header of its own in the place of this one, whose GPU
/// is the host (tests/simulate/host_gpu), so that the GPU's path runs where there is none.
namespace incontext::simulate::detail {

inline int gpu_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

template <class T>
using GpuMemory = thrust::cuda::vector<T>;

/// Elements first ... first + count - 1 in the host's memory, by one copy. A vector constructed from iterators copies
/// them one at a time, and each takes ten microseconds.
template <class T>
std::vector<T> copy_home(const GpuMemory<T>& memory, std::int64_t first, std::int64_t count) {
  std::vector<T> home(static_cast<std::size_t>(count));
  thrust::copy_n(memory.begin() + first, count, home.begin());
  return home;
}

/// Calls function(index) for every index below count.
template <class Function>
void for_each_on_gpu(std::int64_t count, const Function& function) {
  thrust::for_each_n(thrust::cuda::par, thrust::counting_iterator<std::int64_t>(0), count, function);
}

}  // namespace incontext::simulate::detail
#endif
