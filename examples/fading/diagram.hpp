#pragma once

#include <vector>

#include "examples/fading/figures.hpp"

/// The plane of needle and noise, with the part in which the needle is found among normal competitors and the part in
/// which it is not.
namespace incontext::examples::fading {

/// For each length: the exact boundary with simulations on it, and the exact weight over the plane.
std::vector<Table> diagram_figure(FadingRun& run);

}  // namespace incontext::examples::fading
