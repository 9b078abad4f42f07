#pragma once

#include "incontext/numerics/linear_algebra.hpp"

/// The matrices of this room, and their products.
namespace incontext::regression {

using numerics::Matrix;
using numerics::product;
using numerics::trace_of_product;
using numerics::Vector;

}  // namespace incontext::regression
