// Until the simulators are there: each policy the simulate targets promise compiles, links and runs.
#include <thrust/system/cpp/execution_policy.h>
#include <thrust/system/cpp/vector.h>
#include <thrust/system/omp/execution_policy.h>
#include <thrust/system/tbb/execution_policy.h>
#include <thrust/transform.h>

#include <cstdio>
#include <incontext/core/host_device.hpp>

#if !INCONTEXT_SIMULATE_OMP || !INCONTEXT_SIMULATE_TBB
#error the simulate targets define what they link
#endif

struct Twice {
  INCONTEXT_HD double operator()(double x) const { return 2 * x; }
};

int main() {
  double values[3] = {1, 2, 3};
  thrust::transform(thrust::cpp::par, values, values + 3, values, Twice{});
  thrust::transform(thrust::omp::par, values, values + 3, values, Twice{});
  thrust::transform(thrust::tbb::par, values, values + 3, values, Twice{});
  std::printf("%g %g %g\n", values[0], values[1], values[2]);
  return values[2] == 24.0 ? 0 : 1;
}
