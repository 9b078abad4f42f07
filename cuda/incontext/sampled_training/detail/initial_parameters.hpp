#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/random/streams.hpp"
#include "incontext/simulate/engine/lanes.hpp"
#include "incontext/simulate/engine/slots.hpp"
#include "incontext/training/transformer_parts.hpp"

namespace incontext::training::detail {

/// The parameters with which a transformer's training begins: gains are 1, and stddev_of(place) is the standard deviation
/// of a part's independent normal numbers, or 0.
///
/// Random    stream initial_weights.
template <class StandardDeviation>
std::vector<double> initial_parameters(const TransformerLayout& layout, std::uint64_t seed,
                                       const StandardDeviation& stddev_of) {
  std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
  const random::LaneStream<1> stream({seed, 0}, random::TrainingStream::initial_weights);
  simulate::draw_normals(simulate::LaneArray<double, 1>{parameters.data(), 1}, stream, 0, layout.size());
  for (const TransformerLayout::Place& place : layout.places()) {
    auto part = layout.part(parameters.data(), place.part, place.layer);
    const double stddev = place.kind == PartKind::gain ? 0 : stddev_of(place);
    if (stddev > 0) {
      part *= stddev;
    } else {
      part.setConstant(place.kind == PartKind::gain ? 1 : 0);
    }
  }
  return parameters;
}

}  // namespace incontext::training::detail
