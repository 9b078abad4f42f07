#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "incontext/core/host_device.hpp"
#include "incontext/core/pack.hpp"

// INCONTEXT_FUSED stands before a function that the compiler may let use the processor's fused multiply-add. It is
// undefined where there is none.
#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#if defined(__x86_64__) && !defined(__FMA__) && !defined(__AVX512F__)
#define INCONTEXT_FUSED __attribute__((target("fma")))
#elif defined(__x86_64__) || defined(__aarch64__)
#define INCONTEXT_FUSED
#endif
#endif

#if defined(INCONTEXT_FUSED) && !defined(__CUDACC__) && !defined(INCONTEXT_PACKS_OF_ONE)
#define INCONTEXT_FUSED_PACKS
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#endif

// An index known to the compiler; nvcc does not know the pragma. 8 is the most that is used.
#if defined(__GNUC__) && !defined(__CUDACC__)
#define INCONTEXT_UNROLL_8 _Pragma("GCC unroll 8")
#else
#define INCONTEXT_UNROLL_8
#endif

/// The sums of products that attention is made of. Each product is added before it is rounded (fused multiply-add), so
/// that the bits are the same on every processor. Most processors have an instruction for this; code compiled for plain
/// x86-64 asks the processor at run time. Where there is no instruction, std::fma of the C library does it: exact, but
/// slow.
namespace incontext::apply::detail {

inline namespace INCONTEXT_PACKS {

/// a b + c with one rounding for float, double and long double, with two for other numbers.
template <class T>
INCONTEXT_HD inline T fused(const T& a, const T& b, const T& c) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, c);
  } else {
    return a * b + c;
  }
}

#if defined(INCONTEXT_FUSED_PACKS)
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
#else  // compilers make one instruction of it
inline Pack<float> fused(const Pack<float>& a, const Pack<float>& b, const Pack<float>& c) {
  Pack<float> result;
  for (int l = 0; l < pack_width<float>; ++l) result[l] = std::fma(a[l], b[l], c[l]);
  return result;
}
inline Pack<double> fused(const Pack<double>& a, const Pack<double>& b, const Pack<double>& c) {
  Pack<double> result;
  for (int l = 0; l < pack_width<double>; ++l) result[l] = std::fma(a[l], b[l], c[l]);
  return result;
}
#endif
#endif

/// to[k][p] = the sum of pack_at(i, p) number_at(i, k) over i = 0, ..., terms - 1, number by number.
template <int count, int packs, class T, class PackAt, class NumberAt>
INCONTEXT_HD void sum_by_numbers(std::int64_t terms, const PackAt& pack_at, const NumberAt& number_at,
                                 Pack<T> (&to)[count][packs]) {
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
    for (int p = 0; p < packs; ++p) to[k][p] = load_pack(sum[k][p]);
  }
}

#if defined(INCONTEXT_FUSED)
/// sum_by_numbers with the processor's fused multiply-add: only where has_fused(). It calls nothing but pack_at and
/// number_at, which do no arithmetic: the compiler may contract a * b + c here and not in sum_by_numbers.
template <int count, int packs, class T, class PackAt, class NumberAt>
INCONTEXT_HD INCONTEXT_FUSED inline void sum_by_packs(std::int64_t terms, const PackAt& pack_at,
                                                      const NumberAt& number_at, Pack<T> (&to)[count][packs]) {
  Pack<T> sum[count][packs] = {};
  INCONTEXT_UNROLL_8  // one branch for eight terms: the processor does not foresee the end of a block of 64
      for (std::int64_t i = 0; i < terms; ++i) {
    Pack<T> factor[packs];
    for (int p = 0; p < packs; ++p) factor[p] = pack_at(i, p);
    for (int k = 0; k < count; ++k) {
      const Pack<T> number = pack_of(number_at(i, k));
      for (int p = 0; p < packs; ++p) sum[k][p] = fused(factor[p], number, sum[k][p]);
    }
  }
  INCONTEXT_UNROLL_8  // the sums stay in registers
      for (int k = 0; k < count; ++k) {
    INCONTEXT_UNROLL_8
    for (int p = 0; p < packs; ++p) to[k][p] = sum[k][p];
  }
}

/// Whether this processor has the fused multiply-add.
INCONTEXT_HD inline bool has_fused() {
#if defined(__x86_64__) && !defined(__FMA__) && !defined(__AVX512F__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}
#endif

/// Calls take(k, p, sum) with the sum of pack_at(i, p) number_at(i, k) over i = 0, ..., terms - 1, each product fused.
template <int count, int packs, class T, class PackAt, class NumberAt, class Take>
INCONTEXT_HD inline void sum_products(std::int64_t terms, const PackAt& pack_at, const NumberAt& number_at,
                                      const Take& take) {
  Pack<T> sum[count][packs];
#if defined(INCONTEXT_FUSED)
  constexpr bool has_instruction = std::is_same_v<T, float> || std::is_same_v<T, double>;
  if (has_instruction && has_fused()) {
    sum_by_packs<count, packs, T>(terms, pack_at, number_at, sum);
  } else {
    sum_by_numbers<count, packs, T>(terms, pack_at, number_at, sum);
  }
#else
  sum_by_numbers<count, packs, T>(terms, pack_at, number_at, sum);
#endif
  INCONTEXT_UNROLL_8
  for (int k = 0; k < count; ++k) {
    INCONTEXT_UNROLL_8
    for (int p = 0; p < packs; ++p) take(k, p, sum[k][p]);
  }
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail

#undef INCONTEXT_FUSED
#undef INCONTEXT_FUSED_PACKS
#undef INCONTEXT_UNROLL_8
