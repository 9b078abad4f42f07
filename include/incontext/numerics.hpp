#pragma once

/// Numerical methods that several rooms share: integrals and roots that say when they did not converge, and matrices.

#include "incontext/numerics/decompositions.hpp"
#include "incontext/numerics/diagonal_plus_low_rank.hpp"
#include "incontext/numerics/eigen_solver.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/numerics/minimum.hpp"
#include "incontext/numerics/quadrature.hpp"
#include "incontext/numerics/solve.hpp"
