#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(INCONTEXT_PACKS_OF_ONE)
#if defined(__x86_64__)
#include <immintrin.h>
#if defined(__FMA__) || defined(__AVX512F__)
#define INCONTEXT_FUSED
#else
#define INCONTEXT_FUSED __attribute__((target("fma")))
#endif
#elif defined(__aarch64__)
#include <arm_neon.h>
#define INCONTEXT_FUSED
#endif
#endif

/// The sums of products that attention is made of. A product is added before it is rounded, as one instruction of most
/// processors does, so that the bits are the same on all. A processor without it calls the C library's fma, which is
/// exact and slow; so does what nvcc compiles for a CPU. Where the compiler may not use the instruction, as for plain
/// x86-64, the processor is asked at run time.
namespace incontext::apply::detail {

/// a b + c with one rounding for float, double and long double, with two for other numbers.
template <class T>
INCONTEXT_HD inline T fused(const T& a, const T& b, const T& c) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, c);
  } else {
    return a * b + c;
  }
}

inline namespace INCONTEXT_PACKS {

/// Calls take(k, p, sum) with the sum of pack_at(i, p) number_at(i, k) over i = 0, ..., terms - 1, number by number.
template <int count, int packs, class T, class PackAt, class NumberAt, class Take>
INCONTEXT_HD void sum_by_numbers(std::int64_t terms, const PackAt& pack_at, const NumberAt& number_at,
                                 const Take& take) {
  constexpr int width = pack_width<T>;
  T sum[count][packs][width] = {};
  for (std::int64_t i = 0; i < terms; ++i) {
    for (int p = 0; p < packs; ++p) {
      T factor[width];
      store_pack(factor, pack_at(i, p));
      for (int k = 0; k < count; ++k) {
        for (int l = 0; l < width; ++l) sum[k][p][l] = fused(factor[l], number_at(i, k), sum[k][p][l]);
      }
    }
  }
  for (int k = 0; k < count; ++k) {
    for (int p = 0; p < packs; ++p) take(k, p, load_pack(sum[k][p]));
  }
}

#if defined(INCONTEXT_FUSED)
#if defined(__AVX512F__)
inline Pack<float> fused(const Pack<float>& a, const Pack<float>& b, const Pack<float>& c) {
  return _mm512_fmadd_ps(a, b, c);
}
inline Pack<double> fused(const Pack<double>& a, const Pack<double>& b, const Pack<double>& c) {
  return _mm512_fmadd_pd(a, b, c);
}
#elif defined(__AVX__)
INCONTEXT_FUSED inline Pack<float> fused(const Pack<float>& a, const Pack<float>& b, const Pack<float>& c) {
  return _mm256_fmadd_ps(a, b, c);
}
INCONTEXT_FUSED inline Pack<double> fused(const Pack<double>& a, const Pack<double>& b, const Pack<double>& c) {
  return _mm256_fmadd_pd(a, b, c);
}
#elif defined(__x86_64__)
INCONTEXT_FUSED inline Pack<float> fused(const Pack<float>& a, const Pack<float>& b, const Pack<float>& c) {
  return _mm_fmadd_ps(a, b, c);
}
INCONTEXT_FUSED inline Pack<double> fused(const Pack<double>& a, const Pack<double>& b, const Pack<double>& c) {
  return _mm_fmadd_pd(a, b, c);
}
#else
inline Pack<float> fused(const Pack<float>& a, const Pack<float>& b, const Pack<float>& c) {
  return vfmaq_f32(c, a, b);
}
inline Pack<double> fused(const Pack<double>& a, const Pack<double>& b, const Pack<double>& c) {
  return vfmaq_f64(c, a, b);
}
#endif

/// The same by the processor's instruction.
template <int count, int packs, class T, class PackAt, class NumberAt, class Take>
INCONTEXT_FUSED inline void sum_by_packs(std::int64_t terms, const PackAt& pack_at, const NumberAt& number_at,
                                         const Take& take) {
  Pack<T> sum[count][packs] = {};
#pragma GCC unroll 8  // blocks have 64 terms: fewer ends of loops are mispredicted
  for (std::int64_t i = 0; i < terms; ++i) {
    Pack<T> factor[packs];
    for (int p = 0; p < packs; ++p) factor[p] = pack_at(i, p);
    for (int k = 0; k < count; ++k) {
      const Pack<T> number = pack_of(number_at(i, k));
      for (int p = 0; p < packs; ++p) sum[k][p] = fused(factor[p], number, sum[k][p]);
    }
  }
#pragma GCC unroll 8  // so that the sums stay in registers
  for (int k = 0; k < count; ++k) {
#pragma GCC unroll 8
    for (int p = 0; p < packs; ++p) take(k, p, sum[k][p]);
  }
}

/// Whether this processor has the instruction.
inline bool has_fused() {
#if defined(__x86_64__) && !defined(__FMA__) && !defined(__AVX512F__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}
#endif

/// The same by whichever is there.
template <int count, int packs, class T, class PackAt, class NumberAt, class Take>
INCONTEXT_HD inline void sum_products(std::int64_t terms, const PackAt& pack_at, const NumberAt& number_at,
                                      const Take& take) {
#if defined(INCONTEXT_FUSED)
  if constexpr (pack_width<T> > 1) {
    if (has_fused()) return sum_by_packs<count, packs, T>(terms, pack_at, number_at, take);
  }
#endif
  sum_by_numbers<count, packs, T>(terms, pack_at, number_at, take);
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail

#undef INCONTEXT_FUSED
