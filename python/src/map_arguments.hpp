#pragma once

#include "arguments.hpp"
#include "core.hpp"
#include "incontext/scoring/linear_attention.hpp"

/// Maps in single precision as Python's classes, for layers in training.
namespace incontext::python {

inline bool is(nb::handle map, const char* path) { return nb::isinstance(map, python_class(path)); }
inline float number_of(nb::handle map, const char* name) { return static_cast<float>(real_field(map, name)); }
inline float temperature_of(nb::handle map) { return number_of(map, "temperature"); }
inline scoring::LinearAttention<float> linear_map(nb::handle map) {
  return {temperature_of(map), chosen_field<scoring::LinearNormalization>(map, "normalization")};
}

}  // namespace incontext::python
