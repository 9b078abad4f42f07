#pragma once

/// Counter-based random numbers: words, uniform, normal, chi-square, directions and Wishart factors, each a pure
/// function of seed, trial and stream.

#include "incontext/random/chi_square.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/random/wishart.hpp"
