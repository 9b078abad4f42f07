// What a GPU does per second: the bare sampler, cuRAND's with the same sum, whole runs of each kind of trial from the
// call to its estimates, and maps of matrices. A line per measurement: name, size, seconds (the least of five), per
// second, of what. Exits 1 if an answer is wrong, 77 without a GPU. With the argument N all is run once, with an N-th of
// the trials: a rehearsal.

#include <incontext/apply/attention.hpp>
#include <incontext/apply/attention_gradient.hpp>
#include <incontext/apply/rows.hpp>
#include <incontext/scoring/normsoftmax.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/scoring/ssa.hpp>
#include <incontext/scoring/ssmax.hpp>
#include <incontext/simulate/classification/classification_grid.hpp>
#include <incontext/simulate/regression/reduced_softmax_error.hpp>
#include <incontext/simulate/regression/regression_error.hpp>
#include <incontext/simulate/rows/score_rows.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#if __has_include(<curand_kernel.h>)
#define mulhilo32 curand_mulhilo32  // Random123 has a function of this name, too
#include <curand_kernel.h>
#undef mulhilo32
#endif

using namespace incontext;

namespace {

/// Sums and squares of the normals of one trial's stream.
template <class T>
struct Sampler {
  static constexpr int per_block = random::normals_per_block<T>;
  std::uint64_t seed;
  std::uint32_t blocks;
  double* squares;

  INCONTEXT_HD void operator()(std::int64_t trial) const {
    const random::LaneStream<1> stream({seed, static_cast<std::uint64_t>(trial)}, random::StreamTag(0));
    T sum = 0;
    for (std::uint32_t block = 0; block < blocks; ++block) {
      Lanes<T, 1> normal[per_block];
      random::normals(stream, block, normal);
      for (int i = 0; i < per_block; ++i) sum += normal[i][0] * normal[i][0];
    }
    squares[trial] = static_cast<double>(sum);
  }
};

#if __has_include(<curand_kernel.h>)
struct CurandSampler {
  std::uint64_t seed;
  std::uint32_t blocks;
  double* squares;

  INCONTEXT_HD void operator()([[maybe_unused]] std::int64_t trial) const {
#if defined(__CUDA_ARCH__)
    curandStatePhilox4_32_10_t state;
    curand_init(seed, static_cast<unsigned long long>(trial), 0, &state);
    float sum = 0;
    for (std::uint32_t block = 0; block < blocks; ++block) {
      const float4 normal = curand_normal4(&state);
      sum += normal.x * normal.x + normal.y * normal.y + normal.z * normal.z + normal.w * normal.w;
    }
    squares[trial] = static_cast<double>(sum);
#endif
  }
};
#endif

int wrong = 0;
std::int64_t share = 1;  // what is run is one of so many trials
std::int64_t part_of(std::int64_t trials) { return (trials + share - 1) / share; }

/// Runs `call` once and then five times, and prints the least time; in a rehearsal once.
template <class Call>
void measure(const std::string& name, std::int64_t size, double amount, const char* unit, const Call& call) {
  if (share == 1) call();
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < (share == 1 ? 5 : 1); ++i) {
    const auto start = std::chrono::steady_clock::now();
    call();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::printf("%s,%lld,%.6g,%.6g,%s\n", name.c_str(), static_cast<long long>(size), least, amount / least, unit);
  std::fflush(stdout);
}

void require(bool is_right, const char* name) {
  if (is_right) return;
  std::printf("wrong answer: %s\n", name);
  wrong = 1;
}

/// The mean of the squares of normals is 1, with a standard error of sqrt(2 / n).
template <class MakeSampler>
void measure_sampler(const char* name, int per_block, const MakeSampler& make) {
  const std::int64_t threads = part_of(1 << 20);
  constexpr std::uint32_t blocks = 256;
  simulate::detail::GpuMemory<double> squares;
  squares.resize(threads);
  const double normals = static_cast<double>(threads) * blocks * per_block;
  const auto sampler = make(blocks, squares.data());
  measure(name, threads, normals, "normals", [&] { simulate::detail::for_each_on_gpu(threads, sampler); });
  double sum = 0;
  for (const double square : simulate::detail::copy_to_host(squares, 0, threads)) sum += square;
  require(std::abs(sum / normals - 1) <= 5 * std::sqrt(2 / normals) + 1e-6, name);
}

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A layer of attention, and what is computed from it.
struct Layer {
  Matrix queries, keys, values, scores, weights, out, to_queries, to_keys, to_values;

  Layer(Eigen::Index length, Eigen::Index width)
      : queries(Matrix::Random(length, width)),
        keys(Matrix::Random(length, width)),
        values(Matrix::Random(length, width)),
        scores(Matrix::Random(length, length)),
        weights(length, length),
        out(length, width),
        to_queries(length, width),
        to_keys(length, width),
        to_values(length, width) {}

  static scoring::Softmax<float> map() { return {8}; }
  void weigh(const apply::Options& options) { apply::weights(map(), scores, weights, options); }
  void attend(const apply::Options& options) { apply::attend(map(), queries, keys, values, out, options); }
  /// The cotangent is the values.
  void differentiate(const apply::Options& options) {
    apply::attention_gradient(map(), queries, keys, values, values, {to_queries, to_keys, to_values}, options);
  }
};

/// A matrix in the GPU's memory.
struct OnGpu {
  simulate::detail::GpuMemory<float> numbers;
  Eigen::Index rows, columns;

  explicit OnGpu(const Matrix& host)
      : numbers(host.data(), host.data() + host.size()), rows(host.rows()), columns(host.cols()) {}
  operator scoring::MatrixView<const float>() const { return {numbers.data(), rows, columns}; }
  operator scoring::MatrixView<float>() { return {numbers.data(), rows, columns}; }
  [[nodiscard]] Matrix host() const {
    const std::vector<float> all = simulate::detail::copy_to_host(numbers, 0, rows * columns);
    return Eigen::Map<const Matrix>(all.data(), rows, columns);
  }
};

/// The same of a layer in the GPU's memory, where nothing is copied and, but for the gradient, a call does not wait.
struct LayerOnGpu {
  OnGpu queries, keys, values, scores, weights, out, to_queries, to_keys, to_values;
  apply::Options options{.undefined = apply::Undefined::leave, .device = simulate::Device::cuda};

  explicit LayerOnGpu(const Layer& layer)
      : queries(layer.queries),
        keys(layer.keys),
        values(layer.values),
        scores(layer.scores),
        weights(layer.weights),
        out(layer.out),
        to_queries(layer.to_queries),
        to_keys(layer.to_keys),
        to_values(layer.to_values) {}

  template <class Map>
  void weigh(const Map& map) {
    apply::weights<Map>(map, scores, weights, options);
  }
  void attend() { apply::attend(Layer::map(), queries, keys, values, out, options); }
  void differentiate() {
    apply::attention_gradient(Layer::map(), queries, keys, values, values, {to_queries, to_keys, to_values}, options);
  }
  static void wait() { simulate::detail::require_done(cudaDeviceSynchronize(), "waiting"); }
};

/// Maps of matrices in the host's memory, with the copies to the GPU and back, and in the GPU's. Their answers on a
/// smaller layer are those of one thread of the CPU: bit by bit for attention, to rounding for rows.
void measure_maps() {
  const apply::Options gpu{.device = simulate::Device::cuda}, serial{.device = simulate::Device::serial};
  Layer there(200, 64), here = there;
  for (const auto& [layer, options] : {std::pair(&there, gpu), std::pair(&here, serial)}) {
    layer->weigh(options);
    layer->attend(options);
    layer->differentiate(options);
  }
  require((there.weights - here.weights).cwiseAbs().maxCoeff() < 1e-8f, "softmax of rows");
  require(there.out == here.out, "attention");
  require(there.to_queries == here.to_queries && there.to_keys == here.to_keys && there.to_values == here.to_values,
          "attention backward");
  LayerOnGpu in_place(here);
  in_place.weigh(Layer::map());
  in_place.attend();
  in_place.differentiate();
  require(in_place.weights.host() == there.weights && in_place.out.host() == there.out &&
              in_place.to_keys.host() == there.to_keys,
          "matrices in the GPU's memory");

  const Eigen::Index length = share == 1 ? 4096 : 64;
  Layer layer(length, 64);
  const double scores = static_cast<double>(length) * static_cast<double>(length);
  measure("softmax of rows", length, scores, "scores", [&] { layer.weigh(gpu); });
  measure("attention of 64 components", length, scores, "scores", [&] { layer.attend(gpu); });
  measure("attention backward", length, scores, "scores", [&] { layer.differentiate(gpu); });

  LayerOnGpu on_gpu(layer);
  const auto measure_there = [&](const char* name, const auto& call) {
    measure(std::string(name) + " without copies", length, scores, "scores", [&] {
      call();
      LayerOnGpu::wait();
    });
  };
  measure_there("softmax of rows", [&] { on_gpu.weigh(Layer::map()); });
  measure_there("SSMax of rows", [&] { on_gpu.weigh(scoring::SSMax<float>{0.4f, 0.1f}); });
  measure_there("SSA of rows", [&] { on_gpu.weigh(scoring::SSA<float>{1, 2, 0.5f}); });
  measure_there("NormSoftmax of rows", [&] { on_gpu.weigh(scoring::NormSoftmax<float>{0.8f}); });
  measure_there("attention of 64 components", [&] { on_gpu.attend(); });
  measure_there("attention backward", [&] { on_gpu.differentiate(); });
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) share = std::max<std::int64_t>(1, std::atoll(arguments[1]));
  if (!simulate::is_available(simulate::Device::cuda)) {
    std::puts("skipped: no GPU that runs this program");
    return 77;
  }
  std::puts("name,trials,seconds,per second,of");
  measure_sampler("sampler float", 4, [](std::uint32_t blocks, double* out) { return Sampler<float>{1, blocks, out}; });
  measure_sampler("sampler double", 2, [](std::uint32_t blocks, double* out) {
    return Sampler<double>{1, blocks, out};
  });
#if __has_include(<curand_kernel.h>)
  measure_sampler("cuRAND float", 4, [](std::uint32_t blocks, double* out) { return CurandSampler{1, blocks, out}; });
#endif

  constexpr int d = 20;
  constexpr std::int64_t l = 40;
  regression::LinearTask<double>::Parameters law;
  law.input_covariance = regression::Matrix<double>::Identity(d, d);
  law.task_covariance = law.input_covariance / d;
  law.input_mean = law.task_mean = regression::Vector<double>::Zero(d);
  law.noise_variance = 0.1;
  const regression::LinearTask<double> task(law);
  const regression::Attention<double> attention{law.input_covariance, law.input_mean, 1.0};
  const std::vector<double> one{1.5}, eight{0.5, 0.75, 1, 1.25, 1.5, 2, 3, 4};
  const double normals = d * (l + 2) + l + 2;
  using Approximate = scoring::ApproximateSoftmax<double>;
  for (const std::int64_t size : {1 << 16, 1 << 18, 1 << 20, 1 << 22}) {
    const std::int64_t trials = part_of(size), grids = std::max<std::int64_t>(2, trials / 64);
    const simulate::Options options{.seed = 1, .trials = trials, .device = simulate::Device::cuda};
    const double n = static_cast<double>(trials);
    const auto run = [&](const char* name, const auto& maps, simulate::Estimator estimator, double amount,
                         const char* unit) {
      measure(name, trials, amount, unit, [&] {
        const auto found = simulate::regression_error<float>(attention, task, l, maps, options, {}, estimator);
        require(found.trials == trials && found.estimates[0].mean > 0, name);
      });
    };
    run("literal approximate", simulate::at_temperatures<Approximate>(one), simulate::Estimator::literal, n * normals,
        "normals");
    run("literal softmax x 8", simulate::at_temperatures<scoring::Softmax<double>>(eight), simulate::Estimator::literal,
        n * normals, "normals");
    run("sufficient statistics", simulate::at_temperatures<Approximate>(one),
        simulate::Estimator::sufficient_statistics, n, "trials");
    measure("classification grid 100 x 100", grids, static_cast<double>(grids), "trials", [&] {
      std::vector<double> kappas, gains;
      for (int i = 0; i < 100; ++i) {
        kappas.push_back(0.5 + 0.3 * i);
        gains.push_back(1 + 0.5 * i);
      }
      simulate::Options fewer = options;
      fewer.trials = grids;
      const auto found =
          simulate::classification_grid<float>({.dimension = 3, .classes = 3, .context_length = 30},
                                               {simulate::ClassificationRule::adaptive, kappas, gains}, fewer);
      require(found.run.trials == fewer.trials, "classification grid");
    });
  }
  for (const std::int64_t whole : {1000, 1000000, 100000000}) {
    const std::int64_t length = part_of(whole);
    const std::int64_t trials = std::max<std::int64_t>(16, part_of(1000000000 / whole) / 16 * 16);
    const double scores = static_cast<double>(trials) * static_cast<double>(length);
    measure("score rows of " + std::to_string(whole), trials, scores, "scores", [&] {
      const auto found = simulate::score_rows<float>(simulate::normal_scores(length, 1), {1.0, 4.0},
                                                     {.seed = 1, .trials = trials, .device = simulate::Device::cuda});
      require(found.run.trials == trials, "score rows");
    });
  }
  measure_maps();
  return wrong;
}
