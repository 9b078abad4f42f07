#include <cuda_runtime_api.h>

#include <cstdio>

// Every map of the room in a kernel, beside the host; 77, the tests' word for skipped, where there is no GPU.
namespace incontext::testing {
void compare_float();
#if defined(INCONTEXT_DEVICE_DOUBLE)
void compare_double();
#endif
int failures_on_device();
}  // namespace incontext::testing

int main() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    std::printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
    return 77;
  }
  incontext::testing::compare_float();
#if defined(INCONTEXT_DEVICE_DOUBLE)
  incontext::testing::compare_double();
#endif
  return incontext::testing::failures_on_device() == 0 ? 0 : 1;
}
