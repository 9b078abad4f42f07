#pragma once

#include "arguments.hpp"
#include "core.hpp"
#include "scoring_maps.hpp"

/// What the bindings of training read of Python's objects: their class, and their fields as float.
namespace incontext::python {

inline bool is(nb::handle map, const char* path) { return nb::isinstance(map, python_class(path)); }
inline float number_of(nb::handle map, const char* name) { return static_cast<float>(real_field(map, name)); }

}  // namespace incontext::python
