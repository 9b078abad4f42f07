#pragma once

#include "arguments.hpp"
#include "core.hpp"
#include "scoring_maps.hpp"

/// Maps in single precision as Python's classes, for layers in training.
namespace incontext::python {

inline bool is(nb::handle map, const char* path) { return nb::isinstance(map, python_class(path)); }
inline float number_of(nb::handle map, const char* name) { return static_cast<float>(real_field(map, name)); }

}  // namespace incontext::python
