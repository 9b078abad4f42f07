#include "scoring/device.cuh"

namespace incontext::testing {

void compare_double() { compare_all<double>(); }

}  // namespace incontext::testing
