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
#include "incontext/apply/rows.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
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

template <class T>
struct Layer {
  std::vector<T> queries, keys, values, cotangent, scores, direction;
};

/// Compares what `work(options, out)` writes on both systems, relative to the largest number.
template <class T, class Work>
bool agrees(const char* name, double allowed, std::ptrdiff_t rows, std::ptrdiff_t columns, Options options, Work work) {
  std::vector<T> host(static_cast<std::size_t>(rows * columns)), device = host;
  options.device = simulate::Device::serial;
  work(options, scoring::MatrixView<T>(host.data(), rows, columns));
  options.device = simulate::Device::cuda;
  work(options, scoring::MatrixView<T>(device.data(), rows, columns));
  double largest = 0, apart = 0;
  std::size_t different = 0, first = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    testing::raise(largest, std::abs(static_cast<double>(host[i])));
    testing::raise(apart, std::abs(static_cast<double>(device[i]) - static_cast<double>(host[i])));
    if (host[i] != device[i] && different++ == 0) first = i;
  }
  const double roundings = apart / largest / static_cast<double>(std::numeric_limits<T>::epsilon());
  const bool agree = allowed == 0 ? different == 0 : roundings <= allowed;
  std::printf("%-6s %-28s %s: %zu of %zu differ, %.3g roundings", sizeof(T) == 4 ? "float" : "double", name,
              agree ? "ok" : "FAILED", different, host.size(), roundings);
  if (!agree)
    std::printf("; number %zu is %a, not %a", first, static_cast<double>(device[first]),
                static_cast<double>(host[first]));
  std::printf("\n");
  return agree;
}

template <class T, class Map>
bool map_agrees(const char* name, const Allowed& allowed, const Map& map, const Layer<T>& layer,
                const Options& options) {
  using View = scoring::MatrixView<const T>;
  using Out = scoring::MatrixView<T>;
  const View z(layer.scores.data(), queries, keys), u(layer.direction.data(), queries, keys);
  const View q(layer.queries.data(), queries, dimension), k(layer.keys.data(), keys, dimension);
  const View v(layer.values.data(), keys, components), g(layer.cotangent.data(), queries, components);
  const auto check = [&](const char* what, double most, std::ptrdiff_t rows, std::ptrdiff_t columns, const auto& work) {
    return agrees<T>((std::string(what) + ", " + name).c_str(), most, rows, columns, options, work);
  };
  const auto check_rows = [&](const char* what, const auto& work) {
    return check(what, allowed.rows, queries, keys, work);
  };
  bool all = check_rows("weights", [&](const Options& here, Out out) { apply::weights(map, z, out, here); });
  all &= check_rows("jvp", [&](const Options& here, Out out) { apply::jvp(map, z, u, out, here); });
  all &= check_rows("vjp", [&](const Options& here, Out out) { apply::vjp(map, z, u, out, here); });
  all &= check_rows("vjp from weights, which is vjp on a GPU", [&](const Options& here, Out out) {
    if (here.device == simulate::Device::cuda) return apply::vjp_from_weights(map, z, z, u, out, here);
    apply::vjp(map, z, u, out, here);
  });
  all &= check("attention", allowed.attention, queries, components,
               [&](const Options& here, Out out) { apply::attend(map, q, k, v, out, here); });
  if constexpr (apply::FusedGradient<Map>) {
    const double most = allowed.attention;
    all &= check("gradient", most, queries + keys, dimension + components, [&](const Options& here, Out out) {
      const scoring::Strides strides{out.columns, 1};
      T* const below = out.data + queries * out.columns;
      (void)apply::attention_gradient(map, q, k, v, g,
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

}  // namespace

int main() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    std::printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
    return 77;
  }
  bool all = all_masks_agree<float>();
  all &= all_masks_agree<double>();
  all &= wide_values_agree<float>();
  all &= wide_values_agree<double>();
  return all ? 0 : 1;
}
