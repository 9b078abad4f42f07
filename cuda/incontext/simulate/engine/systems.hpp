#pragma once

#include <thrust/execution_policy.h>
#include <thrust/for_each.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/system/cpp/execution_policy.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "incontext/simulate/engine/cuda.hpp"
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

/// One struct per kind of memory, the host's and a GPU's: how many trials run side by side in one call of a trial, how
/// many numbers working memory has (several tens of megabytes on a CPU, several hundred on a GPU), and how a functor is
/// called for every index of a range. Serial loops, OpenMP and TBB share one struct and choose at run
/// time, so that a trial is compiled once for all three.
namespace incontext::simulate::detail {

/// Trials side by side in one CPU thread: enough to fill the vector units, few enough to stay in the nearest cache.
inline constexpr int host_lanes = 64;

/// A resolved device and the number of its threads; 0 means all.
struct Workers {
  Device device = Device::serial;
  int threads = 0;
};

template <class Options>
Workers workers_of(const Options& options) {
  return {resolve(options.device, options.gpu), options.threads};
}

/// A function of an index, whatever its type; it must outlive the reference.
class IndexFunction {
 public:
  template <class Function>
  explicit IndexFunction(const Function& function)
      : function_(&function),
        call_([](const void* erased, std::int64_t index) { (*static_cast<const Function*>(erased))(index); }) {}

  void operator()(std::int64_t index) const { call_(function_, index); }

 private:
  const void* function_;
  void (*call_)(const void*, std::int64_t);
};

inline void for_each_serially(std::int64_t count, const IndexFunction& function) {
  thrust::for_each_n(thrust::cpp::par, thrust::counting_iterator<std::int64_t>(0), count, function);
}

#if defined(INCONTEXT_SIMULATE_OMP)
inline int openmp_workers(int threads) { return threads > 0 ? threads : omp_get_num_procs(); }

inline void for_each_by_openmp(std::int64_t count, int threads, const IndexFunction& function) {
  thread_local int started = 1;  // OpenMP keeps the threads of the last loop, for each thread that starts loops
  const int wanted = openmp_workers(threads);
  started = (std::min)(started, wanted);
  require_startable(wanted, started);
  FirstException guarded(function);
  const int before = omp_get_max_threads();
  omp_set_num_threads(wanted);
  thrust::for_each_n(thrust::omp::par, thrust::counting_iterator<std::int64_t>(0), count,
                     [&guarded](std::int64_t index) { guarded(index); });
  omp_set_num_threads(before);
  guarded.rethrow();
}
#endif

#if defined(INCONTEXT_SIMULATE_TBB)
inline int tbb_workers(int threads) {
  return threads > 0 ? threads : static_cast<int>(std::thread::hardware_concurrency());
}

inline void for_each_by_tbb(std::int64_t count, int threads, const IndexFunction& function) {
  const int wanted = tbb_workers(threads);
  {
    static std::mutex mutex;
    static int started = 1;  // TBB keeps the largest number of threads that it ever had, for the whole program
    const std::lock_guard one(mutex);
    require_startable(wanted, started);
  }
  // Without the control TBB refuses, with a warning, more threads than cores.
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(wanted));
  tbb::task_arena arena(wanted);
  arena.execute(
      [&] { thrust::for_each_n(thrust::tbb::par, thrust::counting_iterator<std::int64_t>(0), count, function); });
}
#endif

struct HostSystem {
  static constexpr int lanes = host_lanes;
  /// A CPU has no streams.
  struct OwnStream {
    explicit OwnStream(void*) {}
  };
  static std::int64_t working_numbers() { return std::int64_t{1} << 23; }
  template <class T>
  using Memory = std::vector<T>;

  static int workers(const Workers& workers) {
    switch (workers.device) {
#if defined(INCONTEXT_SIMULATE_OMP)
      case Device::openmp:
        return openmp_workers(workers.threads);
#endif
#if defined(INCONTEXT_SIMULATE_TBB)
      case Device::tbb:
        return tbb_workers(workers.threads);
#endif
      default:
        return 1;
    }
  }

  template <class Function>
  static void for_each_index(std::int64_t count, const Workers& workers, const Function& function) {
    const IndexFunction erased(function);
    switch (workers.device) {
#if defined(INCONTEXT_SIMULATE_OMP)
      case Device::openmp:
        return for_each_by_openmp(count, workers.threads, erased);
#endif
#if defined(INCONTEXT_SIMULATE_TBB)
      case Device::tbb:
        return for_each_by_tbb(count, workers.threads, erased);
#endif
      default:
        return for_each_serially(count, erased);
    }
  }
  /// The same for a function that adds ways up (statistics::moment_ways): one thread per index, which adds all.
  template <class Function>
  static void for_each_by_ways(std::int64_t count, const Workers& workers, const Function& function) {
    for_each_index(count, workers, [&function](std::int64_t index) { function(index); });
  }
};

#if defined(INCONTEXT_SIMULATE_CUDA)
struct CudaSystem {
  static constexpr int lanes = 1;
  using OwnStream = detail::OwnStream;
  static int gpu_of_memory(const void* address) { return detail::gpu_of_memory(address); }
  template <class T>
  using Memory = GpuMemory<T>;
  static std::int64_t working_numbers() { return gpu_working_numbers(); }
  static int workers(const Workers&) { return 1 << 17; }
  template <class Function>
  static void for_each_index(std::int64_t count, const Workers&, const Function& function) {
    for_each_on_gpu(count, function);
  }
  /// One thread per index and way.
  template <class Function>
  static void for_each_by_ways(std::int64_t count, const Workers&, const Function& function) {
    for_each_by_half_warps_on_gpu(count, function);
  }
  /// Calls function(index, HalfWarp) by sixteen threads per index.
  template <class Function>
  static void for_each_by_half_warps(std::int64_t count, const Workers&, const Function& function) {
    for_each_by_half_warps_on_gpu(count, function);
  }
  using Block = GpuBlock;
  static std::size_t shared_bytes() { return gpu_shared_bytes(); }
  /// Calls function(index, Block) by the threads of a block per index, which share so many bytes.
  template <class Function>
  static void for_each_by_blocks(std::int64_t count, std::size_t shared, const Workers&, const Function& function) {
    for_each_by_blocks_on_gpu(count, shared, function);
  }
};
#endif

/// The address of a buffer's first element, on the host or on the GPU.
template <class Memory>
auto* address(Memory& memory) {
  return memory.data();
}

/// Elements first ... first + count - 1 of a host's buffer; of a GPU's, by one copy: engine/cuda.hpp.
template <class T>
std::vector<T> copy_to_host(const std::vector<T>& memory, std::int64_t first, std::int64_t count) {
  return std::vector<T>(memory.begin() + first, memory.begin() + first + count);
}

/// Calls visit(System{}) for the system of a resolved device.
template <class Visit>
auto with_system([[maybe_unused]] Device device, Visit visit) {
#if defined(INCONTEXT_SIMULATE_CUDA)
  if (device == Device::cuda) return visit(CudaSystem{});
#endif
  return visit(HostSystem{});
}

}  // namespace incontext::simulate::detail
