#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/hybrid_heads.hpp"
#include "incontext/scoring/jacobian_spectral_norm.hpp"
#include "incontext/scoring/kernel_attention.hpp"
#include "incontext/scoring/normsoftmax_divisor.hpp"
#include "incontext/scoring/ssa_limits.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"

/// Every map in a kernel, one small kernel a map: weights, jvp and vjp of a few rows, one thread a row, beside the
/// host's.
namespace incontext::testing {

inline constexpr std::ptrdiff_t device_rows = 64;
inline constexpr std::ptrdiff_t device_columns = 24;

/// A row map under the signature of the kernel below.
template <class Map>
struct RowWork {
  using T = typename Map::value_type;
  Map map;
  INCONTEXT_HD void operator()(const T* in, T* out) const {
    const scoring::Row<const T> scores(in, device_columns), direction(in + device_columns, device_columns);
    weights(map, scores, scoring::Row<T>(out, device_columns));
    jvp(map, scores, direction, scoring::Row<T>(out + device_columns, device_columns));
    vjp(map, scores, direction, scoring::Row<T>(out + 2 * device_columns, device_columns));
  }
};

/// A map of matrices: 4 rows of 6 scores.
template <class Map>
struct MatrixWork {
  using T = typename Map::value_type;
  Map map;
  INCONTEXT_HD void operator()(const T* in, T* out) const {
    const scoring::MatrixView<const T> scores(in, 4, 6), direction(in + device_columns, 4, 6);
    weights(map, scores, scoring::MatrixView<T>(out, 4, 6));
    jvp(map, scores, direction, scoring::MatrixView<T>(out + device_columns, 4, 6));
    vjp(map, scores, direction, scoring::MatrixView<T>(out + 2 * device_columns, 4, 6));
  }
};

/// Kernel attention of a query over 5 keys, 4 components each.
template <class K>
struct KernelWork {
  using T = typename K::value_type;
  scoring::KernelAttention<K> map;
  INCONTEXT_HD void operator()(const T* in, T* out) const {
    const scoring::Row<const T> query(in, 4), query_direction(in + device_columns, 4);
    const scoring::MatrixView<const T> keys(in + 4, 5, 4), key_direction(in + device_columns + 4, 5, 4);
    weights(map, query, keys, scoring::Row<T>(out, 5));
    jvp(map, query, keys, query_direction, key_direction, scoring::Row<T>(out + device_columns, 5));
    vjp(map, query, keys, scoring::Row<const T>(in + device_columns, 5), scoring::Row<T>(out + 2 * device_columns, 4),
        scoring::MatrixView<T>(out + 2 * device_columns + 4, 5, 4));
  }
};

/// What the room says of 4 scores besides: limits, logarithms, a parameter's derivative, norm, support, divisor.
template <class Scalar>
struct FactsWork {
  using T = Scalar;
  INCONTEXT_HD void operator()(const T* in, T* out) const {
    using namespace scoring;
    constexpr std::ptrdiff_t n = 4;
    const Row<const T> scores(in, n);
    T scratch[n * n];
    ssa_scale_limit(SSA<T>{T(1), T(2)}, scores, Row<T>(out, n));
    ssa_softmax_correction(T(8), scores, Row<T>(out + n, n));
    log_weights(Softmax<T>{}, scores, Row<T>(out + 2 * n, n));
    derivative(SSMax<T>{}, parameter::Scale{}, scores, Row<T>(out + 3 * n, n));
    out[4 * n] = jacobian_spectral_norm(Softmax<T>{}, scores, MatrixView<T>(scratch, n, n));
    out[4 * n + 1] = entmax_support(Entmax<T>{T(1.5)}, scores).threshold;
    out[4 * n + 2] = normsoftmax_divisor(NormSoftmax<T>{T(64)}, scores).divisor;
    out[4 * n + 3] = normsoftmax_largest_weight<T>(n);
  }
};

template <class Work, class T>
__global__ void run(Work work, const T* in, T* out) {
  const std::ptrdiff_t row = threadIdx.x;
  if (row < device_rows) work(in + row * 2 * device_columns, out + row * 3 * device_columns);
}

inline int& device_failures() {
  static int failures = 0;
  return failures;
}

inline bool succeeded(cudaError_t status) {
  if (status == cudaSuccess) return true;
  std::printf("%s\n", cudaGetErrorString(status));
  ++device_failures();
  return false;
}

template <class T>
std::vector<T> device_input() {
  Random random(21);
  return converted<T>(random.normals(static_cast<std::size_t>(device_rows * 2 * device_columns)));
}

/// What the device writes, or nothing if it refuses.
template <class Work, class T = typename Work::T>
std::vector<T> on_device(const Work& work, const std::vector<T>& in, std::size_t outputs) {
  T *input = nullptr, *output = nullptr;
  std::vector<T> out(outputs, T(0));
  const auto bytes = [](const std::vector<T>& numbers) { return numbers.size() * sizeof(T); };
  bool done = succeeded(cudaMalloc(&input, bytes(in))) && succeeded(cudaMalloc(&output, bytes(out))) &&
              succeeded(cudaMemcpy(input, in.data(), bytes(in), cudaMemcpyHostToDevice)) &&
              succeeded(cudaMemset(output, 0, bytes(out)));
  if (done) {
    run<<<1, device_rows>>>(work, static_cast<const T*>(input), output);
    done =
        succeeded(cudaGetLastError()) && succeeded(cudaMemcpy(out.data(), output, bytes(out), cudaMemcpyDeviceToHost));
  }
  cudaFree(input);
  cudaFree(output);
  return done ? out : std::vector<T>{};
}

/// Host and device agree to rounding, relative to the largest number of the row.
template <class Work, class T = typename Work::T>
void compare(const char* name, const Work& work) {
  const auto in = device_input<T>();
  std::vector<T> expected(static_cast<std::size_t>(device_rows * 3 * device_columns), T(0));
  for (std::ptrdiff_t row = 0; row < device_rows; ++row) {
    work(in.data() + row * 2 * device_columns, expected.data() + row * 3 * device_columns);
  }
  const auto out = on_device(work, in, expected.size());
  double worst = out.empty() ? std::numeric_limits<double>::infinity() : 0;
  for (std::size_t first = 0; first + device_columns <= out.size(); first += device_columns) {
    double largest = 1;
    for (std::size_t i = first; i < first + device_columns; ++i) {
      largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
    }
    for (std::size_t i = first; i < first + device_columns; ++i) {
      const bool both_nan = std::isnan(expected[i]) && std::isnan(out[i]);
      if (!both_nan) raise(worst, std::abs(static_cast<double>(out[i]) - static_cast<double>(expected[i])) / largest);
    }
  }
  const double roundings = worst / static_cast<double>(std::numeric_limits<T>::epsilon());
  const bool agrees = roundings <= 256;
  std::printf("%-28s %s: %.3g roundings from the host\n", name, agrees ? "ok" : "FAILED", roundings);
  if (!agrees) ++device_failures();
}

template <class T>
void compare_softmax_like() {
  using namespace scoring;
  compare("softmax", RowWork<Softmax<T>>{{T(0.75)}});
  compare("SSMax", RowWork<SSMax<T>>{{T(0.5), T(0.25)}});
  compare("SSA", RowWork<SSA<T>>{{T(0.5), T(2), T(4)}});
  compare("NormSoftmax", RowWork<NormSoftmax<T>>{{T(64), ScoreScale::population_stddev}});
  compare("NormSoftmax of a matrix", MatrixWork<MatrixNormSoftmax<T>>{{T(64), ScoreScale::sample_stddev}});
  compare("SA-softmax", RowWork<SaSoftmax<T>>{});
  compare("SA-softmax, normalized", RowWork<NormalizedSaSoftmax<T>>{});
}

template <class T>
void compare_other_maps() {
  using namespace scoring;
  compare("approximate softmax", RowWork<ApproximateSoftmax<T>>{{T(2)}});
  compare("linear attention", RowWork<LinearAttention<T>>{{T(2)}});
  compare("entmax", RowWork<Entmax<T>>{{T(1.5)}});
  compare("sparsemax", RowWork<Sparsemax<T>>{});
  compare("hardmax", RowWork<Hardmax<T>>{});
  compare("average", RowWork<RatioScore<Average, T>>{});
  compare("tanh", RowWork<RatioScore<Tanh, T>>{});
  compare("relu", RowWork<RatioScore<Relu, T>>{});
  compare("square", RowWork<RatioScore<Square, T>>{});
}

/// Four heads of six scores, as arXiv 2508.14685 mixes them.
template <class T>
void compare_hybrid_heads() {
  using namespace scoring;
  const auto heads = hybrid_heads(Softmax<T>{}, RatioScore<Average, T>{}, RatioScore<Tanh, T>{}, SSA<T>{});
  compare("hybrid heads", MatrixWork<std::decay_t<decltype(heads)>>{heads});
}

template <class T>
void compare_kernels() {
  using namespace scoring;
  constexpr auto sum = KernelNormalization::sum;
  compare("dot kernel", KernelWork<DotKernel<T>>{{{T(2)}, KernelNormalization::context_length}});
  compare("exponential kernel", KernelWork<ExponentialKernel<T>>{{{T(2)}, sum}});
  compare("Gaussian kernel", KernelWork<GaussianKernel<T>>{{{T(2)}, sum}});
  compare("polynomial kernel", KernelWork<PolynomialKernel<T>>{{{2, T(0.5), T(1)}, sum}});
  compare("elu kernel", KernelWork<EluKernel<T>>{{{}, sum}});
  compare("cosFormer", KernelWork<CosformerKernel<T>>{cosformer(T(8))});
}

template <class T>
void compare_all() {
  compare_softmax_like<T>();
  compare_other_maps<T>();
  compare_hybrid_heads<T>();
  compare_kernels<T>();
  compare("facts of a row", FactsWork<T>{});
}

}  // namespace incontext::testing
