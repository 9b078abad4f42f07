#pragma once

#include <cstdint>

#include "incontext/core/host_device.hpp"

/// Source files that are compiled for different instruction sets must not be linked into one program or one shared
/// library: the linker keeps one of the versions of each inline function, of this library and of all others, and a
/// processor may then meet an instruction that it lacks. One shared library per instruction set, of which the loader
/// takes the best that the processor has, does work: docs/extending.md has the lines of CMake. The inline namespace of a
/// pack's width keeps types of two widths apart, and is no more than that.
#if defined(__CUDACC__) || defined(INCONTEXT_PACKS_OF_ONE) || !defined(__GNUC__)
#define INCONTEXT_PACKS packs_of_one
#elif defined(__AVX512F__)
#define INCONTEXT_PACKS packs_of_64_bytes
#elif defined(__AVX__)
#define INCONTEXT_PACKS packs_of_32_bytes
#else
#define INCONTEXT_PACKS packs_of_16_bytes
#endif

/// A pack is a few numbers side by side, as many as fill a vector register of the target; + - * / < and ?: act on each
/// of them. Where there are no vector registers, and in all code that nvcc compiles, it is one number. Code written for
/// packs gives every lane the same bits as it gives the plain number.
namespace incontext {

namespace detail {
inline namespace INCONTEXT_PACKS {

#if defined(__AVX512F__)
inline constexpr int pack_bytes = 64;
#elif defined(__AVX__)
inline constexpr int pack_bytes = 32;
#else
inline constexpr int pack_bytes = 16;
#endif

template <class T>
struct OneLane {
  static constexpr int width = 1;
  using type = T;
};

template <class T>
struct PackOf : OneLane<T> {};

#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(INCONTEXT_PACKS_OF_ONE)
template <class T>
struct VectorLanes {
  static constexpr int width = pack_bytes / static_cast<int>(sizeof(T));
  typedef T type __attribute__((vector_size(pack_bytes)));
};

template <>
struct PackOf<float> : VectorLanes<float> {};
template <>
struct PackOf<double> : VectorLanes<double> {};
template <>
struct PackOf<std::int32_t> : VectorLanes<std::int32_t> {};
template <>
struct PackOf<std::uint64_t> : VectorLanes<std::uint64_t> {};
#endif

}  // namespace INCONTEXT_PACKS
}  // namespace detail

inline namespace INCONTEXT_PACKS {

/// As many T side by side as a vector register holds.
///
/// Runs on   host and device
template <class T>
using Pack = typename detail::PackOf<T>::type;

/// How many T a pack has.
///
/// Runs on   host and device
template <class T>
inline constexpr int pack_width = detail::PackOf<T>::width;

/// The pack that begins at an address, aligned or not.
///
/// Runs on   host and device
template <class T>
INCONTEXT_HD inline Pack<T> load_pack(const T* from) {
  if constexpr (pack_width<T> == 1) {
    return *from;
  } else {
    Pack<T> pack;
    __builtin_memcpy(&pack, from, sizeof(pack));
    return pack;
  }
}

/// Writes a pack where `to` points, aligned or not.
///
/// Runs on   host and device
template <class T>
INCONTEXT_HD inline void store_pack(T* to, const Pack<T>& pack) {
  if constexpr (pack_width<T> == 1) {
    *to = pack;
  } else {
    __builtin_memcpy(to, &pack, sizeof(pack));
  }
}

/// The pack whose lanes all hold x.
///
/// Runs on   host and device
template <class T>
INCONTEXT_HD inline Pack<T> pack_of(T x) {
  return x - Pack<T>{};  // not a sum: 0 + -0 is +0
}

}  // namespace INCONTEXT_PACKS
}  // namespace incontext
