// Ctrl-C reaches the kernels of every source file of a program, each of which has a gpu_stop of its own on every GPU.
// What kernels read is tried on a GPU or on the emulator of tests/gpu/ptx; elsewhere only that the setters of both
// files are known. With the argument `wrong-gpu`, a kernel on the second GPU writes to the memory of the first, which
// the emulator must refuse.
#include <cstdio>
#include <incontext/simulate/engine/cuda.hpp>

#include "gpu/two_files/read_stop.hpp"

int incontext::testing::read_in_first_file() { return read_stop<1>(); }

int main(int count, char**) {
  namespace detail = incontext::simulate::detail;
  using incontext::testing::read_in_first_file;
  using incontext::testing::read_in_second_file;
  const auto& setters = detail::gpu_stop_setters();
  if (setters.size() != 2 || setters[0] == setters[1]) {
    std::printf("FAILED: %zu setters, 2 different ones expected\n", setters.size());
    return 1;
  }
  if (detail::gpu_count() == 0) {
    std::printf("two setters; skipped: no GPU to read by\n");
    return 0;
  }
  for (const int value : {1, 0, 1}) {
    detail::set_gpu_stop(value);
    const int first = read_in_first_file(), second = read_in_second_file();
    std::printf("stop %d: first file %d, second file %d\n", value, first, second);
    if (first != value || second != value) return 1;
  }
  if (detail::gpu_count() == 1) return 0;
  int* on_first_gpu = nullptr;
  detail::require_done(cudaMalloc(&on_first_gpu, sizeof(int)), "allocating");
  detail::use_gpu(1);
  const int other = read_in_first_file();
  std::printf("stop 1 on the first GPU, on the second: %d\n", other);
  if (other != 0) return 1;
  if (count > 1) detail::for_each_on_gpu(1, incontext::testing::ReadStop<1>{on_first_gpu});
  detail::require_done(cudaFree(on_first_gpu), "freeing");
  return 0;
}
