#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"

#if !defined(__CUDACC__) && defined(__SSE2__)
#include <immintrin.h>
#endif

/// Products 32 x 32 -> 64 bits over lanes. This is the one operation of Philox that compilers do not vectorize well by
/// themselves: without this header g++ 12 and clang 14 take 2.5 times as long for random bits. Every form gives the
/// same integers.
namespace incontext::random::detail {

/// A product of two 32-bit words, in words. On a GPU by PTX's instruction for it: of anything else nvcc makes a product
/// of two 64-bit words, which adds upper halves that are zero.
struct WideProduct {
  std::uint32_t low, high;
};
INCONTEXT_HD inline WideProduct wide_product(std::uint32_t a, std::uint32_t b) {
  WideProduct words;
#if defined(__CUDA_ARCH__)
  asm("{ .reg .u64 product; mul.wide.u32 product, %2, %3; mov.b64 {%0, %1}, product; }"
      : "=r"(words.low), "=r"(words.high)
      : "r"(a), "r"(b));
#else
  const std::uint64_t product = std::uint64_t{a} * b;
  words.low = static_cast<std::uint32_t>(product);
  words.high = static_cast<std::uint32_t>(product >> 32);
#endif
  return words;
}

/// One lane, in plain C++, for GPU threads and for machines without the instructions below.
struct OneProduct {
  static constexpr int stride = 1;
  INCONTEXT_HD static WideProduct load(const std::uint64_t* from) { return broadcast(*from); }
  INCONTEXT_HD static WideProduct broadcast(std::uint64_t value) { return {static_cast<std::uint32_t>(value), 0}; }
  INCONTEXT_HD static WideProduct exclusive_or(WideProduct a, std::uint64_t b) {
    return {a.low ^ static_cast<std::uint32_t>(b), 0};
  }
  INCONTEXT_HD static WideProduct multiply(WideProduct a, std::uint32_t b) { return wide_product(a.low, b); }
  INCONTEXT_HD static WideProduct mix(WideProduct product, WideProduct other, std::uint32_t key) {
    return {product.high ^ other.low ^ key, 0};
  }
  INCONTEXT_HD static void store(std::uint32_t* to, WideProduct value) { *to = value.low; }
};

#if !defined(__CUDACC__) && defined(__SSE2__)

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

/// `count` vectors of 64-bit lanes side by side: the lower halves of two fill one vector of 32-bit words. The vector
/// size is a template argument, so that the sizes are types of their own.
template <int count, int = vector_bytes>
struct VectorProducts {
  static constexpr int width = vector_bytes / 8;
  static constexpr int stride = count * width;
  typedef std::uint64_t Wide __attribute__((vector_size(vector_bytes)));
  typedef std::uint32_t Narrow __attribute__((vector_size(vector_bytes)));
  struct Words {
    Wide v[count];
  };

  static Wide product(Wide a, std::uint32_t b) {
#if defined(__AVX512F__)
    // The unmasked intrinsic makes g++ 12 warn of an uninitialized variable of its own.
    return (Wide)_mm512_maskz_mul_epu32(0xff, (__m512i)a, _mm512_set1_epi64(b));
#elif defined(__AVX2__)
    return (Wide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
#else
    return (Wide)_mm_mul_epu32((__m128i)a, _mm_set1_epi64x(b));
#endif
  }
  // Each vector is copied by itself: g++ copies all of them through the stack in halves and stalls (3 x with AVX2).
  static Words load(const std::uint64_t* from) {
    Words p;
    for (int i = 0; i < count; ++i) __builtin_memcpy(&p.v[i], from + i * width, sizeof p.v[i]);
    return p;
  }
  static Words broadcast(std::uint64_t value) {
    Words p;
    for (int i = 0; i < count; ++i) p.v[i] = Wide{} + value;
    return p;
  }
  static Words exclusive_or(Words p, std::uint64_t b) {
    for (int i = 0; i < count; ++i) p.v[i] ^= b;
    return p;
  }
  static Words multiply(Words p, std::uint32_t b) {
    for (int i = 0; i < count; ++i) p.v[i] = product(p.v[i], b);
    return p;
  }
  static Words mix(Words p, Words other, std::uint64_t key) {
    for (int i = 0; i < count; ++i) p.v[i] = (p.v[i] >> 32) ^ other.v[i] ^ key;
    return p;
  }
  static void store(std::uint32_t* to, Words p) {
    for (int i = 0; i < count; i += 2) {
      const auto a = (Narrow)p.v[i];
      const auto b = (Narrow)p.v[i + 1];
#if defined(__AVX512F__)
      const Narrow low = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
#elif defined(__AVX2__)
      const Narrow low = __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
#else
      const Narrow low = __builtin_shufflevector(a, b, 0, 2, 4, 6);
#endif
      __builtin_memcpy(to + i * width, &low, sizeof low);
    }
  }
};

/// Vectors that are multiplied side by side: enough to hide the latency of the products, few enough for the registers.
constexpr int vectors_at_a_time = vector_bytes == 64 ? 4 : 2;

template <int W, int count = vectors_at_a_time>
constexpr auto products_for() {
  if constexpr (W % VectorProducts<count>::stride == 0) {
    return VectorProducts<count>{};
  } else if constexpr (count > 2) {
    return products_for<W, count / 2>();
  } else {
    return OneProduct{};
  }
}
template <int W>
using Products = decltype(products_for<W>());

#else

template <int W>
using Products = OneProduct;

#endif

}  // namespace incontext::random::detail
