#pragma once

#include "incontext/core/floating_point.hpp"

/// Marks a function callable from host and device code: `__host__ __device__` under nvcc, nothing elsewhere.
#if defined(__CUDACC__)
#define INCONTEXT_HD __host__ __device__
#else
#define INCONTEXT_HD
#endif
