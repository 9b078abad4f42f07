#pragma once

#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "incontext/simulate/engine/device.hpp"
#include "incontext/simulate/engine/threads.hpp"

#if defined(INCONTEXT_SIMULATE_OMP)
#include <omp.h>
#include <thrust/system/omp/execution_policy.h>
#endif
#if defined(INCONTEXT_SIMULATE_TBB)
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#include <thrust/system/tbb/execution_policy.h>
#endif
#if defined(INCONTEXT_SIMULATE_CUDA)
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/system/cuda/vector.h>
#endif

/// One struct per Thrust system: how many trials run side by side in one call of a trial, where memory is, and how a
/// functor is called for every index of a range.
namespace incontext::simulate::detail {

/// Trials side by side in one CPU thread: enough to fill the vector units, few enough to stay in the nearest cache.
inline constexpr int host_lanes = 64;

struct SerialSystem {
  static constexpr int lanes = host_lanes;
  template <class T>
  using Memory = std::vector<T>;
  static int workers(int) { return 1; }
  template <class Function>
  static void for_each_index(std::int64_t count, int, Function function) {
    thrust::for_each_n(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(0), count, function);
  }
};

#if defined(INCONTEXT_SIMULATE_OMP)
struct OpenMpSystem {
  static constexpr int lanes = host_lanes;
  template <class T>
  using Memory = std::vector<T>;
  static int workers(int threads) { return threads > 0 ? threads : omp_get_num_procs(); }
  template <class Function>
  static void for_each_index(std::int64_t count, int threads, Function function) {
    require_workers(workers(threads));
    FirstException<Function> guarded(function);
    const int before = omp_get_max_threads();
    omp_set_num_threads(workers(threads));
    thrust::for_each_n(thrust::omp::par, thrust::counting_iterator<std::int64_t>(0), count,
                       [&guarded](std::int64_t index) { guarded(index); });
    omp_set_num_threads(before);
    guarded.rethrow();
  }

 private:
  /// OpenMP keeps the threads of the last loop, separately for each thread that starts loops.
  static void require_workers(int wanted) {
    thread_local int started = 1;
    started = std::min(started, wanted);
    require_startable(wanted, started);
  }
};
#endif

#if defined(INCONTEXT_SIMULATE_TBB)
struct TbbSystem {
  static constexpr int lanes = host_lanes;
  template <class T>
  using Memory = std::vector<T>;
  static int workers(int threads) {
    return threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
  }
  template <class Function>
  static void for_each_index(std::int64_t count, int threads, Function function) {
    require_workers(workers(threads));
    // Without the control TBB refuses, with a warning, more threads than cores.
    const auto allowed = static_cast<std::size_t>(workers(threads));
    const tbb::global_control control(tbb::global_control::max_allowed_parallelism, allowed);
    tbb::task_arena arena(workers(threads));
    arena.execute(
        [&] { thrust::for_each_n(thrust::tbb::par, thrust::counting_iterator<std::int64_t>(0), count, function); });
  }

 private:
  /// TBB keeps the largest number of threads that it ever had, for the whole program.
  static void require_workers(int wanted) {
    static std::mutex mutex;
    static int started = 1;
    const std::lock_guard one(mutex);
    require_startable(wanted, started);
  }
};
#endif

#if defined(INCONTEXT_SIMULATE_CUDA)
struct CudaSystem {
  static constexpr int lanes = 1;
  template <class T>
  using Memory = thrust::cuda::vector<T>;
  static int workers(int) { return 1 << 17; }
  template <class Function>
  static void for_each_index(std::int64_t count, int, Function function) {
    thrust::for_each_n(thrust::cuda::par, thrust::counting_iterator<std::int64_t>(0), count, function);
  }
};
#endif

/// The address of a buffer's first element, on the host or on the GPU.
template <class Memory>
auto* address(Memory& memory) {
  return thrust::raw_pointer_cast(memory.data());
}

/// Calls visit(System{}) for the system of a resolved device.
template <class Visit>
auto with_system(Device device, Visit visit) {
  switch (device) {
#if defined(INCONTEXT_SIMULATE_OMP)
    case Device::openmp:
      return visit(OpenMpSystem{});
#endif
#if defined(INCONTEXT_SIMULATE_TBB)
    case Device::tbb:
      return visit(TbbSystem{});
#endif
#if defined(INCONTEXT_SIMULATE_CUDA)
    case Device::cuda:
      return visit(CudaSystem{});
#endif
    default:
      return visit(SerialSystem{});
  }
}

}  // namespace incontext::simulate::detail
