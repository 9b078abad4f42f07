#pragma once

/// The floating-point arithmetic that the library needs: every operation is rounded once and in the order written, and
/// NaN and infinity are kept. This header refuses compiler options that change this, because the results would be wrong
/// without any warning. Every other header includes this one.
///
/// Three things depend on it. Exponentials split x into k + r by `(x + bias) - bias`, which rounds x to the nearest
/// integer; a compiler that may reorder sums simplifies it to x, and the weights become powers of two. Compensated sums
/// (Neumaier's, Kahan's) recover from `(total + term) - total` the digits that the sum lost, and differences such as
/// `(z - mean) - offset` keep their digits in that order only. A mask is a score of -infinity, and the weights of a row
/// where a map is undefined are NaN.
///
/// These options are accepted and tested in tests/flags: -ffp-contract=fast, -freciprocal-math, -fno-signed-zeros,
/// -fno-math-errno, -fno-trapping-math, -frounding-math, -march=native. A header cannot detect two others: clang's
/// -fno-honor-nans or -fno-honor-infinities alone, with which a row that holds NaN may get weights that are not NaN;
/// and nvcc's --use_fast_math, which loses digits of float results on a GPU but does not reorder sums.
// clang-format off: it breaks the continued strings of #error.
#if defined(__FAST_MATH__)
#error \
    "incontext gives wrong numbers under -ffast-math, -Ofast or -ffp-model=fast, which reorder sums and ignore NaN. \
Compile with -O3 -fno-math-errno -fno-trapping-math, or give the flag to other source files only."
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0
#error \
    "incontext gives wrong numbers under -ffinite-math-only: masks are -infinity and undefined rows are NaN. \
Compile with -fno-finite-math-only, or give the flag to other source files only."
#elif defined(__ASSOCIATIVE_MATH__)
#error \
    "incontext gives wrong numbers under -fassociative-math or -funsafe-math-optimizations, which reorder sums. \
Compile with -fno-associative-math, or give the flag to other source files only."
#endif

// The value 16 means that _Float16, float and double are each computed in their own precision.
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error \
    "incontext gives wrong numbers under -mfpmath=387 (or -mfpmath=both), which computes in more digits than the \
type has and rounds twice. Compile with -msse2 -mfpmath=sse."
#endif
// clang-format on

static_assert(sizeof(0.1) == sizeof(double),
              "incontext gives wrong numbers under -fsingle-precision-constant: its coefficients are doubles. "
              "Compile with -fno-single-precision-constant, or give the flag to other source files only.");

// clang defines no macro for -fassociative-math and -funsafe-math-optimizations, nor for -ffast-math followed by
// -fno-finite-math-only. This pragma forbids reordering instead, from here to the end of the source file.
#if defined(__clang__)
#pragma clang fp reassociate(off)
#endif
