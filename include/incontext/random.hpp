#pragma once

/// Counter-based random numbers: words, uniform numbers, normals, chi-squares, directions and Wishart factors. Each is
/// a pure function of seed, trial and stream.

#include "incontext/random/chi_square.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/random/uniform.hpp"
#include "incontext/random/wishart.hpp"
