#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "incontext/training/output_bound.hpp"
#include "incontext/training/reasoning_measurement.hpp"
#include "incontext/training/reasoning_task.hpp"
#include "incontext/training/sequence_examples.hpp"
#include "incontext/training/transformer_parts.hpp"
#include "sampled_training.hpp"
#include "scoring_maps.hpp"

/// What every transformer in training gives to Python.
namespace incontext::python {

using Examples = training::SequenceExamples<float>;

/// A transformer in training, with what can be asked of it; what its kind does not have is empty.
struct Transformer : Sampled {
  std::function<nb::list(Parameters)> parts = {};
  std::function<std::vector<float>(Parameters, const Examples&, std::int64_t sequences)> outputs = {};
  std::function<std::vector<std::vector<std::vector<double>>>(Parameters)> trained_numbers = {};
  std::function<training::OutputBound<double>(Parameters, int)> output_bound = {};
  std::function<training::ReasoningMeasurement(Parameters, std::int64_t)> measure = {};
  std::vector<training::ReasoningExample> trained = {}, held_out = {};
  int features = 0;
};

/// Every part of a layout as (name, layer, matrix).
inline nb::list parts_of(const training::TransformerLayout& layout, Parameters at) {
  require_same_size("training::parts", "parameters", std::ssize(at), layout.size());
  nb::list parts;
  for (const auto& place : layout.places()) {
    const Eigen::MatrixXd matrix = layout.part(at.data(), place.part, place.layer);
    parts.append(
        nb::make_tuple(training::transformer_part_names[static_cast<std::size_t>(place.part)], place.layer, matrix));
  }
  return parts;
}

}  // namespace incontext::python
