#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

#include "incontext/apply/attention.hpp"
#include "incontext/apply/rows.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "scoring/rows.hpp"

// Rows and fused attention on a GPU, beside the serial system; 77, the tests' word for skipped, where there is no GPU.
namespace {

using namespace incontext;
using apply::Options;
using Numbers = std::vector<float>;

constexpr std::ptrdiff_t queries = 70, keys = 200, dimension = 17, components = 11;
constexpr double allowed_roundings = 256;

struct Layer {
  Numbers queries, keys, values;
};

/// Compares what `work(options, out)` writes on both systems, relative to the largest number.
template <class Work>
bool agrees(const char* name, std::ptrdiff_t columns, Options options, Work work) {
  Numbers host(static_cast<std::size_t>(queries * columns)), device = host;
  options.device = simulate::Device::serial;
  work(options, scoring::MatrixView<float>(host.data(), queries, columns));
  options.device = simulate::Device::cuda;
  work(options, scoring::MatrixView<float>(device.data(), queries, columns));
  double largest = 0, apart = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    testing::raise(largest, std::abs(static_cast<double>(host[i])));
    testing::raise(apart, std::abs(static_cast<double>(device[i]) - static_cast<double>(host[i])));
  }
  const double roundings = apart / largest / static_cast<double>(std::numeric_limits<float>::epsilon());
  const bool agree = roundings <= allowed_roundings;
  std::printf("%-28s %s: %.3g roundings from the host\n", name, agree ? "ok" : "FAILED", roundings);
  return agree;
}

bool all_agree(const Layer& layer, const Options& options) {
  const scoring::MatrixView<const float> q(layer.queries.data(), queries, dimension);
  const scoring::MatrixView<const float> k(layer.keys.data(), keys, dimension);
  const scoring::MatrixView<const float> v(layer.values.data(), keys, components);
  const scoring::Softmax<float> softmax{3.0f};
  bool all = agrees("weights of rows", dimension, options, [&](const Options& here, scoring::MatrixView<float> out) {
    apply::weights(softmax, q, out, here);
  });
  all &= agrees("attention, softmax", components, options, [&](const Options& here, scoring::MatrixView<float> out) {
    apply::attend(softmax, q, k, v, out, here);
  });
  all &= agrees("attention, linear", components, options, [&](const Options& here, scoring::MatrixView<float> out) {
    apply::attend(scoring::LinearAttention<float>{3.0f}, q, k, v, out, here);
  });
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
  testing::Random random(31);
  const auto normals = [&](std::ptrdiff_t rows, std::ptrdiff_t columns) {
    return testing::converted<float>(random.normals(static_cast<std::size_t>(rows * columns)));
  };
  const Layer layer{normals(queries, dimension), normals(keys, dimension), normals(keys, components)};
  std::vector<std::int64_t> given;
  for (std::int64_t i = 0; i < queries; ++i) given.push_back(1 + (i * 5) % dimension);
  bool all = all_agree(layer, {});
  all &= all_agree(layer, {.visibility = scoring::Visibility::causal});
  all &= all_agree(layer, {.visible_counts = given});
  return all ? 0 : 1;
}
