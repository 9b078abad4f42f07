#include "scoring/device.cuh"

namespace incontext::testing {

void compare_float() { compare_all<float>(); }

int failures_on_device() { return device_failures(); }

}  // namespace incontext::testing
