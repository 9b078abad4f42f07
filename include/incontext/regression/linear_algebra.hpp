#pragma once

#include "incontext/numerics/diagonal_plus_low_rank.hpp"
#include "incontext/numerics/linear_algebra.hpp"

/// The matrices of this room, and their products.
namespace incontext::regression {

using numerics::DiagonalPlusLowRank;
using numerics::entry_bound;
using numerics::Matrix;
using numerics::plus_outer;
using numerics::product;
using numerics::trace_of_product;
using numerics::Vector;

}  // namespace incontext::regression
