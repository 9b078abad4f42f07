#pragma once

#include "incontext/core/floating_point.hpp"

/// Marks a function callable from host and device code: `__host__ __device__` under nvcc, nothing elsewhere.
#if defined(__CUDACC__)
#define INCONTEXT_HD __host__ __device__
#else
#define INCONTEXT_HD
#endif

/// Before a loop: a GPU thread takes four steps at a time. By itself nvcc takes sixteen, for which a trial needs more
/// registers than keep a GPU busy, and more instructions than its nearest cache has.
#if defined(__CUDA_ARCH__)
#define INCONTEXT_UNROLL_4_ON_GPU _Pragma("unroll 4")
#else
#define INCONTEXT_UNROLL_4_ON_GPU
#endif
