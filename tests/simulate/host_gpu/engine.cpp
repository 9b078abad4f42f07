// The GPU's path on the host in its place: the header incontext/simulate/engine/cuda.hpp beside this file.

#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

#include "incontext/simulate/engine/devices.hpp"
#include "incontext/simulate/engine/interrupt.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/simulate/rows/score_rows_trial.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace {

using namespace incontext;
using simulate::Device;
using simulate::Options;
using simulate::detail::CudaSystem;
using simulate::detail::host_gpu;
using simulate::detail::HostGpu;
using simulate::detail::HostSystem;

/// Restores the GPU of the other tests.
struct OwnGpu {
  OwnGpu() = default;
  OwnGpu(const OwnGpu&) = delete;
  OwnGpu& operator=(const OwnGpu&) = delete;
  ~OwnGpu() { host_gpu = HostGpu(); }
};

/// A squared normal by way of `rows` numbers of scratch, and the trial's own number.
struct SquareTrial {
  using Scalar = double;
  static constexpr std::string_view grows_with = "its rows";
  std::int64_t rows = 1;
  bool reads_fresh_memory = false;

  INCONTEXT_HD int outputs() const { return 2; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return rows; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> scratch,
                        simulate::LaneArray<double, W> values) const {
    Lanes<double, W> normal[2];
    random::normals(random::LaneStream(trials, random::StreamTag(0)), 0u, normal);
    if (!reads_fresh_memory) scratch[rows - 1] = normal[0];
    for (int lane = 0; lane < W; ++lane) {
      values[0][lane] = scratch[rows - 1][lane] * scratch[rows - 1][lane];
      values[1][lane] = static_cast<double>(static_cast<std::int64_t>(trials.first) + lane);
    }
  }
};
static_assert(simulate::Trial<SquareTrial>);

/// Its trial 3500 is interrupted by Ctrl-C.
struct InterruptedTrial {
  using Scalar = double;
  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 1; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W>,
                        simulate::LaneArray<double, W> values) const {
    values[0] = 1.0;
    if (trials.first == 3500) std::raise(SIGINT);
  }
};

simulate::Simulation on_gpu(const SquareTrial& trial, const Options& options) {
  return simulate::run_on<CudaSystem>(Device::cuda, trial, options);
}

bool have_same_bits(const simulate::Simulation& a, const simulate::Simulation& b) {
  bool are_same = a.trials == b.trials;
  for (std::size_t i = 0; i < 2; ++i) {
    are_same = are_same && a.estimates[i].mean == b.estimates[i].mean &&
               a.estimates[i].standard_error == b.estimates[i].standard_error &&
               a.estimates[i].count == b.estimates[i].count;
  }
  return are_same;
}

/// The ways added up one after the other, which is not the order of moments_of.
struct RowOfWays {
  template <class T, class Term>
  double sum(const T* values, std::int64_t count, const Term& term) const {
    double all = 0;
    for (int way = 0; way < statistics::moment_ways; ++way) all += statistics::sum_of_way(values, count, way, term);
    return all;
  }
};

}  // namespace

TEST_CASE("sixteen threads that exchange their sums give the moments of one thread, bit by bit") {
  const OwnGpu own;
  int others = 0;
  for (const std::int64_t count : {1, 2, 15, 16, 17, 100, 1023, 1024}) {
    std::vector<float> values;
    for (std::int64_t i = 0; i < count; ++i) values.push_back(std::exp(static_cast<float>((i * 37) % 101) / 9));
    for (const bool spoiled : {false, true}) {
      if (spoiled) values[static_cast<std::size_t>(count / 2)] = std::numeric_limits<float>::infinity();
      const auto one = statistics::moments_of(values.data(), count);
      std::vector<statistics::Moments> by_thread(16);
      simulate::detail::host_gpu.is_backward = spoiled;
      simulate::detail::for_each_by_half_warps_on_gpu(1, [&](std::int64_t, const simulate::detail::HalfWarp& threads) {
        by_thread[static_cast<std::size_t>(threads.lane())] = statistics::moments_of(values.data(), count, threads);
      });
      const statistics::Moments many = by_thread[9];
      const auto other = statistics::moments_of(values.data(), count, RowOfWays{});
      CAPTURE(count, spoiled);
      CHECK(one.count == many.count);
      CHECK(one.non_finite == many.non_finite);
      CHECK(one.mean == many.mean);
      CHECK(one.sum_of_squares == many.sum_of_squares);
      others += one.mean != other.mean || one.sum_of_squares != other.sum_of_squares ? 1 : 0;
    }
  }
  CHECK(others >= 4);
}

TEST_CASE("on a GPU neither waves nor slots change the bits, which are those of the host") {
  const OwnGpu own;
  for (const std::int64_t trials : {2, 31, 33, 1023, 1024, 1025, 20001}) {
    for (const std::int64_t numbers : {1, 1 << 12, 1 << 24}) {
      host_gpu.working_numbers = numbers;
      const Options options{.seed = 3, .trials = trials};
      CAPTURE(trials, numbers);
      const auto expected = simulate::run_on<HostSystem>(Device::serial, SquareTrial{}, options);
      CHECK(have_same_bits(expected, on_gpu(SquareTrial{}, options)));
      CHECK(have_same_bits(expected, on_gpu(SquareTrial{.rows = 300}, options)));
      const Options there{.seed = 3, .trials = trials, .device = Device::cuda};
      const Options here{.seed = 3, .trials = trials, .device = Device::serial};
      CHECK(simulate::sample_on<CudaSystem>(SquareTrial{.rows = 300}, there).values ==
            simulate::sample_on<HostSystem>(SquareTrial{}, here).values);
    }
  }
}

TEST_CASE("a number that is read before it was written spoils the result on the GPU of the tests") {
  const OwnGpu own;
  const auto spoiled = on_gpu(SquareTrial{.reads_fresh_memory = true}, {.trials = 2000});
  CHECK(spoiled.estimates[0].non_finite == 2000);
  CHECK(spoiled.estimates[1].non_finite == 0);
}

TEST_CASE("automatic takes a GPU that runs this program, and falls back to OpenMP") {
  const OwnGpu own;
  CHECK(simulate::resolve(Device::automatic) == Device::cuda);
  host_gpu.failure = "no kernel image is available";
  CHECK(simulate::resolve(Device::automatic) == Device::openmp);
  CHECK(testing::refuses<std::invalid_argument>(
      [] { simulate::resolve(Device::cuda); },
      {"this program does not run on the GPU: no kernel image is available", "value = cuda;"}));
  host_gpu = HostGpu();
  host_gpu.count = 0;
  CHECK(simulate::resolve(Device::automatic) == Device::openmp);
  CHECK(testing::refuses<std::invalid_argument>([] { simulate::resolve(Device::cuda); },
                                                {"device is not available in this program or on this machine"}));
}

TEST_CASE("a GPU that fails for a moment is refused with its failure, not with an empty one") {
  const OwnGpu own;
  host_gpu.failure = "out of memory";
  host_gpu.failing_kernels = 1;
  CHECK(testing::refuses<std::invalid_argument>([] { simulate::resolve(Device::cuda); },
                                                {"this program does not run on the GPU: out of memory"}));
  CHECK(simulate::resolve(Device::cuda) == Device::cuda);
  host_gpu.missing_counts = 1;
  CHECK(testing::refuses<std::invalid_argument>([] { simulate::resolve(Device::cuda); },
                                                {"device is not available in this program or on this machine"}));
  CHECK(simulate::resolve(Device::cuda) == Device::cuda);
}

TEST_CASE("several GPUs of one process share a run: a thread and a GPU each, and the bits of one") {
  const OwnGpu own;
  host_gpu.count = 3;
  REQUIRE(simulate::all_gpus().size() == 3);
  for (const std::int64_t numbers : {1 << 12, 1 << 24}) {
    host_gpu.working_numbers = numbers;
    for (const Options& options : {Options{.seed = 3, .trials = 100001}, Options{.seed = 3, .relative_error = 0.01}}) {
      std::mutex mutex;
      std::set<int> used;
      const auto simulation = [&](const Options& here) {
        const auto result = simulate::run(SquareTrial{}, here);
        const std::lock_guard lock(mutex);
        used.insert(simulate::detail::host_gpu_used);
        return result;
      };
      Options alone = options;
      alone.device = Device::serial;
      CHECK(have_same_bits(simulate::run_on_devices(simulate::all_gpus(), options, simulation),
                           simulate::run(SquareTrial{}, alone)));
      CHECK(used == std::set<int>{0, 1, 2});
    }
  }
  const auto with_host =
      simulate::run_on_devices({{Device::cuda, 1}, {Device::openmp}}, {.trials = 50000},
                               [](const Options& here) { return simulate::run(SquareTrial{}, here); });
  CHECK(have_same_bits(with_host, simulate::run(SquareTrial{}, {.trials = 50000, .device = Device::serial})));
}

TEST_CASE("one of several GPUs is chosen by number, and one that is not there is refused with how many there are") {
  const OwnGpu own;
  host_gpu.count = 3;
  CHECK(simulate::run(SquareTrial{}, {.trials = 100, .device = Device::cuda, .gpu = 2}).device == Device::cuda);
  CHECK(simulate::detail::host_gpu_used == 2);
  CHECK(simulate::resolve(Device::cuda, 1) == Device::cuda);
  CHECK(simulate::detail::host_gpu_used == 1);
  for (const int gpu : {-1, 3}) {
    const auto run = [&] { simulate::run(SquareTrial{}, {.trials = 100, .device = Device::cuda, .gpu = gpu}); };
    CHECK(testing::refuses<std::invalid_argument>(
        run, {"there is no such GPU", gpu == 3 ? "cuda:3" : "cuda", "a number below 3, the number of GPUs here"}));
  }
}

TEST_CASE("the first wave on a GPU is one that fills it, and the next ones grow while they are fast and fit") {
  const OwnGpu own;
  const auto waves = [](const SquareTrial& trial) {
    std::vector<std::int64_t> done;
    const auto see = [&](const simulate::Progress& progress) { done.push_back(progress.done / 1024); };
    on_gpu(trial, {.trials = 1000 * 1024, .progress = see});
    return done;
  };
  host_gpu.working_numbers = std::int64_t{1} << 28;
  // 64, 512 and 424 chunks; more waves if the machine is busy, which takes them for slow
  const std::vector<std::int64_t> many = waves({});
  CHECK(many[1] == 64);
  CHECK(many[2] <= 64 + 512);
  CHECK(many.size() < 50);
  host_gpu.working_numbers = 3 * 1024 * 100;  // 64, then at most 100 at a time
  const std::vector<std::int64_t> few = waves({});
  CHECK(few[1] == 64);
  CHECK(few.size() >= 1 + 1 + 10);
  CHECK(few.size() < 50);
}

TEST_CASE("on a GPU the segments of long rows run side by side, in parts of any size, with the bits of the host") {
  const OwnGpu own;
  using Trial = simulate::ScoreRowTrial<double>;
  const double beta = 2;
  for (const std::int64_t count : {4096, 4097, 7 * 4096 + 5, 32 * 4096}) {
    const Trial trial{simulate::ScoreLaw::normal, count, 0, 1, simulate::NeedleToken::present, 2, 0.5, &beta, 1};
    const Options options{.seed = 3, .trials = 5};
    const auto expected = simulate::run_on<HostSystem>(Device::serial, trial, options);
    bool are_parted = false, are_whole = false;
    for (const std::int64_t numbers : {1, 200, 700, 2000, 100000}) {
      host_gpu.working_numbers = numbers;
      CAPTURE(count, numbers);
      const auto found = simulate::run_on<CudaSystem>(Device::cuda, trial, options);
      for (std::size_t i = 0; i < expected.estimates.size(); ++i) {
        CHECK(found.estimates[i].mean == expected.estimates[i].mean);
        CHECK(found.estimates[i].standard_error == expected.estimates[i].standard_error);
      }
      const auto slots = simulate::detail::scratch_slots<CudaSystem>(trial, 5, {Device::cuda, 0});
      are_parted = are_parted || slots > 5;
      are_whole = are_whole || slots <= 5;
    }
    CHECK(are_parted == (count > 4096));
    CHECK(are_whole);
  }
}

TEST_CASE("a stop request while a GPU runs a wave discards the wave and keeps those before it") {
  const OwnGpu own;
  host_gpu.working_numbers = 3 * 1024;  // waves of one chunk
  const simulate::InterruptGuard guard;
  const auto run = simulate::run_on<CudaSystem>(Device::cuda, InterruptedTrial{}, {.trials = 10 * 1024});
  CHECK(run.interrupted);
  CHECK(run.trials == 3 * 1024);
}

TEST_CASE("a trial whose scratch fills the GPU runs a warp at a time") {
  const OwnGpu own;
  host_gpu.working_numbers = 1 << 16;
  const SquareTrial large{.rows = 1 << 14};
  CHECK(simulate::detail::slots_of<CudaSystem>(large, 4096, {Device::cuda, 0}) == 32);
  CHECK(simulate::detail::slots_of<CudaSystem>(SquareTrial{}, 4096, {Device::cuda, 0}) == 4096);
  CHECK(have_same_bits(on_gpu(large, {.trials = 3000}),
                       simulate::run_on<HostSystem>(Device::serial, SquareTrial{}, {.trials = 3000})));
}

TEST_CASE("too little memory of a GPU is refused by size and cause, and the next run finds its memory") {
  const OwnGpu own;
  host_gpu.most_bytes = 1 << 20;
  const auto run_large = [] { on_gpu(SquareTrial{.rows = 1 << 20}, {.trials = 100}); };
  CHECK(testing::refuses<std::invalid_argument>(
      run_large, {"there is not enough memory", "268 MB", "1048576 numbers each, which grow with its rows"}));
  CHECK(on_gpu(SquareTrial{}, {.trials = 100}).trials == 100);
  // What the host has does not limit a GPU.
  host_gpu.most_bytes = std::numeric_limits<std::size_t>::max();
  CHECK_FALSE(simulate::detail::is_host_memory<simulate::detail::GpuMemory<double>>);
  CHECK(simulate::detail::is_host_memory<std::vector<double>>);
}
