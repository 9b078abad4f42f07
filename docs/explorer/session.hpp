#pragma once

#include <cstdint>
#include <string>

/// What the page calls, with JSON in and out. An error comes back as {"error": its message}.
namespace incontext::explorer {

/// The panels: names, texts and sliders.
std::string describe();

/// The curves of a panel at these settings of its sliders.
std::string theory(const std::string& panel, const std::string& settings);

/// Begins a simulation of a panel at these settings of its sliders, and drops the one before.
std::string start(const std::string& panel, const std::string& settings, std::uint64_t seed);

/// Draws further trials, each from a stream of its own, and returns the means of all since the start with their
/// standard errors, and z: the deviation beyond the theory's own error, in standard errors.
std::string step(std::int64_t trials);

/// Whether all points that are within their curve's range agree: how many were judged and how many disagree, the
/// largest |z|, and the bound on it. The page looks after every step. Look k has the level 0.001 times 6/(pi k)^2, so
/// that right curves are called wrong in one of 1000 runs, however long one watches (docs/theory/statistics.md#comparisons).
std::string verdict();

}  // namespace incontext::explorer
