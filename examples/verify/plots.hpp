#pragma once

#include <cstddef>
#include <optional>

#include "examples/support/svg_plot.hpp"
#include "examples/verify/edition.hpp"

/// What a claim's evidence looks like.
namespace incontext::examples::verify {

/// The plot of a claim of the ledger: theory as lines, simulated points with error bars, the Bayes ridge where it was
/// simulated, and hollow points for other formulas. Evidence without a number to draw over is drawn as ratios to
/// theory, row by row; relations between computed numbers as the curves that the claim names, and other questions as the
/// values that are asked about. Nothing if nothing ran.
std::optional<Panel> plot_of(const Ledger& ledger, std::size_t claim);

}  // namespace incontext::examples::verify
