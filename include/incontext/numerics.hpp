#pragma once

/// Numerical methods that several rooms share.

#include "incontext/numerics/solve.hpp"
