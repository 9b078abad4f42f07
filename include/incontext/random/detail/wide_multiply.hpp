#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"

#if !defined(__CUDACC__) && defined(__SSE2__)
#include <immintrin.h>
#endif

/// 32 x 32 -> 64 bit products over lanes, the one operation of Philox that compilers do not vectorise well by
/// themselves (2.5 x slower bits with g++ 12 and clang 14). Every form gives the same integers.
namespace incontext::random::detail {

/// One lane, plain C++: the GPU thread's form and every other machine's.
struct ScalarPack {
  static constexpr int stride = 1;
  INCONTEXT_HD static std::uint64_t load(const std::uint64_t* from) { return *from; }
  INCONTEXT_HD static std::uint64_t broadcast(std::uint64_t value) { return value; }
  INCONTEXT_HD static std::uint64_t exclusive_or(std::uint64_t a, std::uint64_t b) { return a ^ b; }
  INCONTEXT_HD static std::uint64_t multiply(std::uint64_t a, std::uint32_t b) {
    return std::uint64_t{static_cast<std::uint32_t>(a)} * b;
  }
  INCONTEXT_HD static std::uint64_t mix(std::uint64_t product, std::uint64_t other, std::uint32_t key) {
    return (product >> 32) ^ other ^ key;
  }
  INCONTEXT_HD static void store(std::uint32_t* to, std::uint64_t value) { *to = static_cast<std::uint32_t>(value); }
};

#if !defined(__CUDACC__) && defined(__SSE2__)

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

/// Two vectors of 64-bit lanes at a time: their lower halves fill one vector of 32-bit words.
struct VectorPack {
  static constexpr int width = vector_bytes / 8;
  static constexpr int stride = 2 * width;
  typedef std::uint64_t Wide __attribute__((vector_size(vector_bytes)));
  typedef std::uint32_t Narrow __attribute__((vector_size(vector_bytes)));
  struct Pair {
    Wide a, b;
  };

  static Wide product(Wide a, std::uint32_t b) {
#if defined(__AVX512F__)
    // The unmasked intrinsic makes g++ 12 warn of an uninitialised variable of its own.
    return (Wide)_mm512_maskz_mul_epu32(0xff, (__m512i)a, _mm512_set1_epi64(b));
#elif defined(__AVX2__)
    return (Wide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#else
    return (Wide)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(b));
#endif
  }
  static Pair load(const std::uint64_t* from) {
    Pair pair;
    __builtin_memcpy(&pair, from, sizeof pair);
    return pair;
  }
  static Pair broadcast(std::uint64_t value) { return {Wide{} + value, Wide{} + value}; }
  static Pair exclusive_or(Pair p, std::uint64_t b) { return {p.a ^ b, p.b ^ b}; }
  static Pair multiply(Pair p, std::uint32_t b) { return {product(p.a, b), product(p.b, b)}; }
  static Pair mix(Pair p, Pair other, std::uint64_t key) {
    return {(p.a >> 32) ^ other.a ^ key, (p.b >> 32) ^ other.b ^ key};
  }
  static void store(std::uint32_t* to, Pair p) {
    const auto a = (Narrow)p.a;
    const auto b = (Narrow)p.b;
#if defined(__AVX512F__)
    const Narrow low = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(__AVX2__)
    const Narrow low = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
    const Narrow low = __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
    __builtin_memcpy(to, &low, sizeof low);
  }
};

template <bool fits>
struct PackOf {
  using type = ScalarPack;
};
template <>
struct PackOf<true> {
  using type = VectorPack;
};
template <int W>
using Pack = typename PackOf<(W % VectorPack::stride == 0)>::type;

#else

template <int W>
using Pack = ScalarPack;

#endif

}  // namespace incontext::random::detail
