// Returns 0 if a GPU can be used, and 77 (the tests' code for skipped) if not.
#include <cuda_runtime_api.h>

#include <cstdio>

int main() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return 0;
  std::printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
  return 77;
}
