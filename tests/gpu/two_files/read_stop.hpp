#pragma once

#include <cstdint>
#include <incontext/simulate/engine/cuda.hpp>
#include <incontext/simulate/engine/interrupt.hpp>

namespace incontext::testing {

/// Writes what stop_requested() is on the GPU.
template <int File>
struct ReadStop {
  static constexpr const char* task = "reading the request to stop";
  int* out;
  INCONTEXT_HD void operator()(std::int64_t) const { *out = simulate::stop_requested() ? 1 : 0; }
};

/// What a kernel of each of the two files reads as the request to stop.
int read_in_first_file();
int read_in_second_file();

template <int File>
int read_stop() {
  int* on_gpu = nullptr;
  simulate::detail::require_done(cudaMalloc(&on_gpu, sizeof(int)), "allocating");
  simulate::detail::for_each_on_gpu(1, ReadStop<File>{on_gpu});
  int value = -1;
  simulate::detail::require_done(cudaMemcpy(&value, on_gpu, sizeof value, cudaMemcpyDeviceToHost), "copying");
  simulate::detail::require_done(cudaFree(on_gpu), "freeing");
  return value;
}

}  // namespace incontext::testing
