#pragma once

/// The floating-point arithmetic that the library needs: every operation rounded once and in the order written, NaN and
/// infinity kept. Compiler options that take this away are refused here, because the numbers would be wrong without
/// any sign of it; every other header includes this one.
///
/// Three things lean on it. Exponentials split x into k + r by `(x + bias) - bias`, the nearest integer because the sum
/// is rounded; a compiler that may reorder takes it for x, and the weights become powers of two. Compensated sums
/// (Neumaier's, Kahan's) read from `(total + term) - total` the digits that the sum lost, and differences such as
/// `(z - mean) - offset` keep their digits in that order alone. A mask is a score of -infinity, and a row where a map
/// is undefined is answered with NaN.
///
/// Accepted, and tried in tests/flags: -ffp-contract=fast, -freciprocal-math, -fno-signed-zeros, -fno-math-errno,
/// -fno-trapping-math, -frounding-math, -march=native. A header cannot see two options: clang's -fno-honor-nans or
/// -fno-honor-infinities, one without the other, after which a row that holds NaN may be answered with numbers; and
/// nvcc's --use_fast_math, which on a GPU costs digits of float results but does not reorder sums.
#if defined(__FAST_MATH__)
#error \
    "incontext gives wrong numbers under -ffast-math, -Ofast or -ffp-model=fast, which reorder sums and deny NaN. \
Compile with -O3 -fno-math-errno -fno-trapping-math, or give the flag to other source files only."
#elif defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ != 0
#error \
    "incontext gives wrong numbers under -ffinite-math-only: a mask is -infinity, an undefined row is NaN. \
Compile with -fno-finite-math-only, or give the flag to other source files only."
#elif defined(__ASSOCIATIVE_MATH__)
#error \
    "incontext gives wrong numbers under -fassociative-math or -funsafe-math-optimizations, which reorder sums. \
Compile with -fno-associative-math, or give the flag to other source files only."
#endif

// 16: _Float16 is computed in its own precision, float and double in theirs.
#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error \
    "incontext gives wrong numbers under -mfpmath=387 (or -mfpmath=both), which computes in more digits than the \
type has and rounds twice. Compile with -msse2 -mfpmath=sse."
#endif

static_assert(sizeof(0.1) == sizeof(double),
              "incontext gives wrong numbers under -fsingle-precision-constant: its coefficients are doubles. "
              "Compile with -fno-single-precision-constant, or give the flag to other source files only.");

// clang names neither -fassociative-math nor -funsafe-math-optimizations by a macro, and -ffast-math no longer once
// -fno-finite-math-only follows. It takes the permission back instead, from here to the end of the source file.
#if defined(__clang__)
#pragma clang fp reassociate(off)
#endif
