#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "incontext/statistics/moments.hpp"

/// A GPU that is the host, in the place of the library's header of this name: with INCONTEXT_SIMULATE_CUDA defined, the
/// device `cuda` runs the GPU's path (one trial per call, all slots side by side, blocks of a grid's rows) by serial
/// loops.
namespace incontext::simulate::detail {

/// The size of working memory that HOST_GPU_NUMBERS names: with few numbers a slot runs several trials, and a run has
/// several waves.
inline std::int64_t numbers_of_environment() {
  const char* text = std::getenv("HOST_GPU_NUMBERS");
  return text == nullptr ? 1 << 24 : std::atoll(text);
}

/// What a test may change of the GPU.
struct HostGpu {
  int count = 1;
  std::string failure = {};  // of every kernel
  // how often the questions for these two are answered with no GPU and with the failure
  int missing_counts = 0, failing_kernels = std::numeric_limits<int>::max();
  std::int64_t working_numbers = numbers_of_environment();
  std::size_t most_bytes = std::size_t{1} << 32;
  std::size_t shared_bytes = 227 << 10;
  bool is_backward = false;  // the order in which threads run
};
inline HostGpu host_gpu;
inline thread_local int host_gpu_used = 0;  // every thread selects its own

inline int gpu_count() { return host_gpu.missing_counts-- > 0 ? 0 : host_gpu.count; }
inline void use_gpu(int gpu) { host_gpu_used = gpu; }
inline std::string why_gpu_fails(int) { return host_gpu.failing_kernels-- > 0 ? host_gpu.failure : ""; }
inline std::int64_t gpu_working_numbers() { return host_gpu.working_numbers; }

inline thread_local void* host_gpu_stream = nullptr;
struct OwnStream {
  explicit OwnStream(void* stream) { host_gpu_stream = stream; }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { host_gpu_stream = nullptr; }
};

/// The bytes that the calling thread has had copied between the two memories, and the streams of its kernels.
struct HostGpuRecord {
  std::size_t copied = 0;
  std::set<void*> streams = {};
};
inline thread_local HostGpuRecord host_gpu_record;

/// The pieces of GPUs' memory: the first address, the one past the last, and the GPU.
class HostGpuPieces {
 public:
  void add(const void* begin, std::size_t bytes) {
    const std::lock_guard one(mutex_);
    if (bytes > 0) ends_[begin] = {static_cast<const char*>(begin) + bytes, host_gpu_used};
  }
  void remove(const void* begin) {
    const std::lock_guard one(mutex_);
    ends_.erase(begin);
  }
  int gpu_of(const void* address) {
    const std::lock_guard one(mutex_);
    auto piece = ends_.upper_bound(address);
    if (piece == ends_.begin()) return -1;
    --piece;
    return address < piece->second.first ? piece->second.second : -1;
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::pair<const void*, int>> ends_;
};
inline HostGpuPieces host_gpu_pieces;
inline int gpu_of_memory(const void* address) { return host_gpu_pieces.gpu_of(address); }

/// As on a GPU, elements are reached through an address or copy_to_host alone, a resized buffer does not keep what it held,
/// and fresh memory holds anything: here NaN, so that a number read before it was written changes every result.
template <class T>
class GpuMemory {
 public:
  using value_type = T;

  GpuMemory() = default;
  template <class Iterator>
  GpuMemory(Iterator first, Iterator last) : numbers_(first, last) {
    host_gpu_record.copied += numbers_.size() * sizeof(T);
    host_gpu_pieces.add(numbers_.data(), numbers_.size() * sizeof(T));
  }
  GpuMemory(GpuMemory&& other) noexcept { numbers_.swap(other.numbers_); }
  GpuMemory& operator=(GpuMemory&& other) noexcept {
    numbers_.swap(other.numbers_);
    return *this;
  }
  ~GpuMemory() { host_gpu_pieces.remove(numbers_.data()); }

  void resize(std::size_t size) {
    host_gpu_pieces.remove(numbers_.data());
    numbers_ = {};
    if (size > host_gpu.most_bytes / sizeof(T)) throw std::bad_alloc();
    numbers_.assign(size, T());
    std::memset(static_cast<void*>(numbers_.data()), 0xff, size * sizeof(T));
    host_gpu_pieces.add(numbers_.data(), size * sizeof(T));
  }
  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] T* data() { return numbers_.data(); }
  [[nodiscard]] const T* data() const { return numbers_.data(); }

 private:
  std::vector<T> numbers_;
};

template <class T>
std::vector<T> copy_to_host(const GpuMemory<T>& memory, std::int64_t first, std::int64_t count) {
  host_gpu_record.copied += static_cast<std::size_t>(count) * sizeof(T);
  return std::vector<T>(memory.data() + first, memory.data() + first + count);
}

template <class Function>
void for_each_on_gpu(std::int64_t count, const Function& function) {
  host_gpu_record.streams.insert(host_gpu_stream);
  for (std::int64_t i = 0; i < count; ++i) function(i);
}

/// The threads of a group that meet again and again: each is a coroutine, and runs until it waits for the others. Between
/// two meetings they run one after the other, the last first if host_gpu.is_backward, which must not matter.
class Group {
 public:
  explicit Group(int threads) : threads_(static_cast<std::size_t>(threads)) {
    for (Thread& thread : threads_) thread.stack.resize(stack_bytes);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// Calls function(thread) by all threads. All must meet equally often.
  template <class Function>
  void run(const Function& function) {
    const int count = static_cast<int>(threads_.size());
    work_ = [](Group& group, const void* erased) {
      (*static_cast<const Function*>(erased))(group.current_);
      group.threads_[static_cast<std::size_t>(group.current_)].is_done = true;
    };
    function_ = &function;
    for (Thread& thread : threads_) {
      getcontext(&thread.context);
      thread.context.uc_stack.ss_sp = thread.stack.data();
      thread.context.uc_stack.ss_size = thread.stack.size();
      thread.context.uc_link = &home_;
      thread.is_done = false;
      running_ = this;
      makecontext(&thread.context, &Group::enter, 0);
    }
    for (int done = 0; done < count;) {
      done = 0;
      for (int i = 0; i < count; ++i) {
        current_ = host_gpu.is_backward ? count - 1 - i : i;
        Thread& thread = threads_[static_cast<std::size_t>(current_)];
        running_ = this;
        swapcontext(&home_, &thread.context);
        done += thread.is_done ? 1 : 0;
      }
      if (done != 0 && done != count) std::abort();  // on a GPU this program would not end
    }
  }

  void meet() { swapcontext(&threads_[static_cast<std::size_t>(current_)].context, &home_); }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 16;
  struct Thread {
    ucontext_t context = {};
    std::vector<char> stack = {};
    bool is_done = false;
  };
  static void enter() { running_->work_(*running_, running_->function_); }

  static inline thread_local Group* running_ = nullptr;
  std::vector<Thread> threads_;
  ucontext_t home_ = {};
  int current_ = 0;
  void (*work_)(Group&, const void*) = nullptr;
  const void* function_ = nullptr;
};

/// One of sixteen threads, which exchange their numbers as half a warp does.
class HalfWarp {
 public:
  static constexpr int lanes = statistics::moment_ways;
  HalfWarp(Group& group, int lane, double* exchange) : group_(&group), exchange_(exchange), lane_(lane) {}

  [[nodiscard]] int lane() const { return lane_; }
  template <class T>
  T from(int lane, const T& own) const {
    static_assert(sizeof(T) <= sizeof(double));
    sync();
    std::memcpy(exchange_ + lane_, &own, sizeof(T));
    sync();
    T other;
    std::memcpy(&other, exchange_ + lane, sizeof(T));
    return other;
  }
  template <class T>
  T from_after(int distance, const T& own) const {
    return from(lane_ + distance < lanes ? lane_ + distance : lane_, own);
  }
  template <class T, class Term>
  double sum(const T* values, std::int64_t count, const Term& term) const {
    double own = statistics::sum_of_way(values, count, lane_, term);
    statistics::fold_ways([&](int half) { own += from_after(half, own); });
    return from(0, own);
  }
  void sync() const { group_->meet(); }

 private:
  Group* group_;
  double* exchange_;
  int lane_;
};

template <class Function>
void for_each_by_half_warps_on_gpu(std::int64_t count, const Function& function) {
  if (count <= 0) return;
  host_gpu_record.streams.insert(host_gpu_stream);
  Group group(HalfWarp::lanes);
  double exchange[HalfWarp::lanes];
  group.run([&](int lane) {
    for (std::int64_t i = 0; i < count; ++i) function(i, HalfWarp(group, lane, exchange));
  });
}

/// One of the threads of a block.
struct GpuBlock {
  static constexpr int threads = 128;
  std::byte* shared;
  Group* group;
  int number;

  [[nodiscard]] int thread() const { return number; }
  void sync() const { group->meet(); }
};

inline std::size_t gpu_shared_bytes() { return host_gpu.shared_bytes; }

/// Shared memory holds anything at first, here NaN.
template <class Function>
void for_each_by_blocks_on_gpu(std::int64_t count, std::size_t shared_bytes, const Function& function) {
  if (count <= 0) return;
  host_gpu_record.streams.insert(host_gpu_stream);
  Group group(GpuBlock::threads);
  std::vector<double> shared(shared_bytes / sizeof(double) + 1, std::numeric_limits<double>::quiet_NaN());
  group.run([&](int thread) {
    for (std::int64_t i = 0; i < count; ++i) {
      function(i, GpuBlock{reinterpret_cast<std::byte*>(shared.data()), &group, thread});
      group.meet();
    }
  });
}

}  // namespace incontext::simulate::detail
