#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "incontext/apply/attention.hpp"
#include "incontext/apply/attention_gradient.hpp"
#include "incontext/apply/derivative.hpp"
#include "incontext/apply/rows.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/parameter.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "scoring/rows.hpp"

// Rows and fused attention on a GPU, beside the serial system; 77, the tests' word for skipped, where there is no GPU.
namespace {

using namespace incontext;
using apply::Options;

constexpr std::ptrdiff_t queries = 70, keys = 200, dimension = 37, components = 70;
// A batch of these does not fit into the memory that a block's threads share.
constexpr std::ptrdiff_t wide_components = 2000;

/// How far apart the two may be, in roundings of the largest number. 0, the same bits, where all functions are this
/// library's own. Rows of fewer than 16 scores under softmax, and SSA's logarithm of the other side, take the C
/// library's functions, of which a GPU has its own. NormSoftmax divides by a standard deviation, whose rounding its
/// derivatives magnify.
struct Allowed {
  double rows, attention;
};

/// Matrices, of which each function reads some, and views of them in either memory.
template <class T>
struct Layer {
  std::vector<T> queries, keys, values, cotangent, scores, direction;
};
template <class T>
struct LayerViews {
  scoring::MatrixView<const T> queries, keys, values, cotangent, scores, direction;

  template <class Numbers>
  explicit LayerViews(const Numbers& of)
      : queries(of.queries.data(), ::queries, dimension),
        keys(of.keys.data(), ::keys, dimension),
        values(of.values.data(), ::keys, components),
        cotangent(of.cotangent.data(), ::queries, components),
        scores(of.scores.data(), ::queries, ::keys),
        direction(of.direction.data(), ::queries, ::keys) {}
};

/// A layer in the GPU's memory, and a stream, which work elsewhere does not wait for.
template <class T>
struct LayerOnGpu {
  template <class Number>
  using Memory = simulate::detail::GpuMemory<Number>;
  Memory<T> queries, keys, values, cotangent, scores, direction;
  cudaStream_t stream = nullptr;

  explicit LayerOnGpu(const Layer<T>& layer)
      : queries(copy_of(layer.queries)),
        keys(copy_of(layer.keys)),
        values(copy_of(layer.values)),
        cotangent(copy_of(layer.cotangent)),
        scores(copy_of(layer.scores)),
        direction(copy_of(layer.direction)) {
    simulate::detail::require_done(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  }
  LayerOnGpu(const LayerOnGpu&) = delete;
  LayerOnGpu& operator=(const LayerOnGpu&) = delete;
  ~LayerOnGpu() { (void)cudaStreamDestroy(stream); }

 private:
  static Memory<T> copy_of(const std::vector<T>& numbers) { return Memory<T>(numbers.begin(), numbers.end()); }
};

/// Compares two results, relative to the largest number.
template <class T>
bool compare(const std::string& name, double allowed, const std::vector<T>& host, const std::vector<T>& device) {
  double largest = 0, apart = 0;
  std::size_t different = 0, first = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    testing::raise(largest, std::abs(static_cast<double>(host[i])));
    testing::raise(apart, std::abs(static_cast<double>(device[i]) - static_cast<double>(host[i])));
    if (host[i] != device[i] && different++ == 0) first = i;
  }
  const double roundings = apart / largest / static_cast<double>(std::numeric_limits<T>::epsilon());
  const bool agree = allowed == 0 ? different == 0 : roundings <= allowed;
  std::printf("%-6s %-28s %s: %zu of %zu differ, %.3g roundings", sizeof(T) == 4 ? "float" : "double", name.c_str(),
              agree ? "ok" : "FAILED", different, host.size(), roundings);
  if (!agree)
    std::printf("; number %zu is %a, not %a", first, static_cast<double>(device[first]),
                static_cast<double>(host[first]));
  std::printf("\n");
  return agree;
}

/// Compares what `work(options, out)` writes on both systems.
template <class T, class Work>
bool agrees(const char* name, double allowed, std::ptrdiff_t rows, std::ptrdiff_t columns, Options options, Work work) {
  std::vector<T> host(static_cast<std::size_t>(rows * columns)), device = host;
  options.device = simulate::Device::serial;
  work(options, scoring::MatrixView<T>(host.data(), rows, columns));
  options.device = simulate::Device::cuda;
  work(options, scoring::MatrixView<T>(device.data(), rows, columns));
  return compare(name, allowed, host, device);
}

template <class T, class Map>
bool map_agrees(const char* name, const Allowed& allowed, const Map& map, const Layer<T>& layer,
                const Options& options) {
  using Out = scoring::MatrixView<T>;
  using In = LayerViews<T>;
  const LayerOnGpu<T> on_gpu(layer);
  // work(options, in, out) with all matrices in the host's memory on either system, and with all in the GPU's, which
  // must give the GPU's bits.
  const auto check = [&](const char* what, double most, std::ptrdiff_t rows, std::ptrdiff_t columns, const auto& work) {
    const std::string both = std::string(what) + ", " + name;
    std::vector<T> copied(static_cast<std::size_t>(rows * columns)), host = copied;
    Options here = options;
    here.device = simulate::Device::serial;
    work(here, In(layer), Out(host.data(), rows, columns));
    here.device = simulate::Device::cuda;
    work(here, In(layer), Out(copied.data(), rows, columns));
    const bool agree = compare(both, most, host, copied);
    here.stream = on_gpu.stream;
    const simulate::detail::OwnStream own(on_gpu.stream);  // where the result's memory is
    const std::vector<T> zeros(copied.size());
    simulate::detail::GpuMemory<T> result(zeros.begin(), zeros.end());
    work(here, In(on_gpu), Out(result.data(), rows, columns));
    return compare(both + ", in place", 0, copied, simulate::detail::copy_to_host(result, 0, rows * columns)) && agree;
  };
  const auto check_rows = [&](const char* what, const auto& work) {
    return check(what, allowed.rows, queries, keys, work);
  };
  bool all = true;
  if constexpr (requires { map.temperature; }) {
    const auto derivative_of = [&](const In& in, simulate::Device device, void* stream) {
      Options here = options;
      here.device = device;
      here.stream = stream;
      return std::vector{apply::derivative(map, scoring::parameter::Temperature{}, in.scores, in.direction, here)};
    };
    const auto host = derivative_of(In(layer), simulate::Device::serial, nullptr);
    const auto copied = derivative_of(In(layer), simulate::Device::cuda, nullptr);
    all &= compare(std::string("derivative, ") + name,
                   allowed.rows / static_cast<double>(std::numeric_limits<double>::epsilon()) *
                       static_cast<double>(std::numeric_limits<T>::epsilon()),
                   host, copied);
    all &= compare(std::string("derivative, ") + name + ", in place", 0, copied,
                   derivative_of(In(on_gpu), simulate::Device::cuda, on_gpu.stream));
  }
  all &= check_rows("weights",
                    [&](const Options& here, const In& in, Out out) { apply::weights(map, in.scores, out, here); });
  all &= check_rows(
      "jvp", [&](const Options& here, const In& in, Out out) { apply::jvp(map, in.scores, in.direction, out, here); });
  all &= check_rows(
      "vjp", [&](const Options& here, const In& in, Out out) { apply::vjp(map, in.scores, in.direction, out, here); });
  all &= check_rows("vjp from weights, which is vjp on a GPU", [&](const Options& here, const In& in, Out out) {
    if (here.device == simulate::Device::cuda) {
      return apply::vjp_from_weights(map, in.scores, in.scores, in.direction, out, here);
    }
    apply::vjp(map, in.scores, in.direction, out, here);
  });
  all &= check("attention", allowed.attention, queries, components, [&](const Options& here, const In& in, Out out) {
    apply::attend(map, in.queries, in.keys, in.values, out, here);
  });
  if constexpr (apply::FusedGradient<Map>) {
    const double most = allowed.attention;
    all &= check("gradient", most, queries + keys, dimension + components,
                 [&](const Options& here, const In& in, Out out) {
                   const scoring::Strides strides{out.columns, 1};
                   T* const below = out.data + queries * out.columns;
                   (void)apply::attention_gradient(
                       map, in.queries, in.keys, in.values, in.cotangent,
                       {Out(out.data, queries, dimension, strides), Out(below, keys, dimension, strides),
                        Out(below + dimension, keys, components, strides)},
                       here);
                 });
  }
  return all;
}

template <class T>
bool all_agree(const Layer<T>& layer, const Options& options) {
  bool all = map_agrees("softmax", {.rows = 0, .attention = 0}, scoring::Softmax<T>{T(3)}, layer, options);
  all &= map_agrees("SSA", {.rows = 4, .attention = 0}, scoring::SSA<T>{T(1), T(2), T(0.5)}, layer, options);
  all &= map_agrees("linear", {.rows = 0, .attention = 0}, scoring::LinearAttention<T>{T(3)}, layer, options);
  all &= map_agrees("NormSoftmax", {.rows = 256, .attention = 256}, scoring::NormSoftmax<T>{T(0.8)}, layer, options);
  return all;
}

template <class T>
std::vector<T> normals(testing::Random& random, std::ptrdiff_t rows, std::ptrdiff_t columns) {
  return testing::converted<T>(random.normals(static_cast<std::size_t>(rows * columns)));
}

/// With little memory a slot computes several batches, one after the other.
template <class T>
bool wide_values_agree() {
  testing::Random random(32);
  using View = scoring::MatrixView<const T>;
  const std::vector<T> q = normals<T>(random, queries, dimension), k = normals<T>(random, queries, dimension),
                       v = normals<T>(random, queries, wide_components);
  const auto check = [&](const char* name, const auto& map) {
    return agrees<T>(name, 0, queries, wide_components, {}, [&](const Options& here, scoring::MatrixView<T> out) {
      apply::attend(map, View(q.data(), queries, dimension), View(k.data(), queries, dimension),
                    View(v.data(), queries, wide_components), out, here);
    });
  };
  return check("attention, softmax, wide", scoring::Softmax<T>{T(3)}) &
         check("attention, linear, wide", scoring::LinearAttention<T>{T(3)});
}

template <class T>
bool all_masks_agree() {
  testing::Random random(31);
  const auto normals = [&](std::ptrdiff_t rows, std::ptrdiff_t columns) { return ::normals<T>(random, rows, columns); };
  const Layer<T> layer{normals(queries, dimension),  normals(keys, dimension), normals(keys, components),
                       normals(queries, components), normals(queries, keys),   normals(queries, keys)};
  std::vector<std::int64_t> given;
  for (std::int64_t i = 0; i < queries; ++i) given.push_back(20 + (i * 5) % 181);
  bool all = all_agree(layer, {});
  all &= all_agree(layer, {.visibility = scoring::Visibility::causal, .undefined = apply::Undefined::leave});
  all &= all_agree(layer, {.visible_counts = given});
  for (std::int64_t& count : given) count = 1 + count % 15;
  all &= map_agrees("softmax, short rows", {.rows = 4, .attention = 0}, scoring::Softmax<T>{T(3)}, layer,
                    {.visible_counts = given});
  return all;
}

/// What the emulator counts, instructions and bytes: maps of matrices in the GPU's memory, each once.
void run_each_once() {
  using T = float;
  using View = scoring::MatrixView<const T>;
  constexpr std::ptrdiff_t rows = 32, columns = 4096, width = 64;
  testing::Random random(33);
  const auto on_gpu = [&](std::ptrdiff_t i, std::ptrdiff_t j) {
    const std::vector<T> numbers = normals<T>(random, i, j);
    return simulate::detail::GpuMemory<T>(numbers.begin(), numbers.end());
  };
  const auto z = on_gpu(rows, columns), u = on_gpu(rows, columns), layer = on_gpu(columns, width);
  simulate::detail::GpuMemory<T> out, to_keys;
  out.resize(static_cast<std::size_t>(rows * columns));
  to_keys.resize(static_cast<std::size_t>(2 * columns * width));
  const View scores(z.data(), rows, columns), cotangent(u.data(), rows, columns);
  const scoring::MatrixView<T> written(out.data(), rows, columns);
  const Options options{.undefined = apply::Undefined::leave, .device = simulate::Device::cuda};
  const auto weigh = [&](const auto& map) {
    apply::weights(map, scores, written, options);
    apply::vjp(map, scores, cotangent, written, options);
  };
  weigh(scoring::Softmax<T>{T(3)});
  weigh(scoring::SSMax<T>{T(0.4), T(0.1)});
  weigh(scoring::SSA<T>{T(1), T(2), T(0.5)});
  weigh(scoring::NormSoftmax<T>{T(0.8)});
  const View q(u.data(), rows, width), keys(layer.data(), columns, width);
  const scoring::MatrixView<T> of_q(out.data(), rows, width), of_keys(to_keys.data(), columns, width);
  apply::attend(scoring::Softmax<T>{T(8)}, q, keys, keys, of_q, options);
  (void)apply::attention_gradient(scoring::Softmax<T>{T(8)}, q, keys, keys, View(z.data(), rows, width),
                                  {of_q, of_keys, {to_keys.data() + columns * width, columns, width}}, options);
}

}  // namespace

// With an argument, for the emulator's counts, it compares nothing.
int main(int arguments, char**) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    std::printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
    return 77;
  }
  if (arguments > 1) {
    run_each_once();
    return 0;
  }
  bool all = all_masks_agree<float>();
  all &= all_masks_agree<double>();
  all &= wide_values_agree<float>();
  all &= wide_values_agree<double>();
  return all ? 0 : 1;
}
