#pragma once

#include "incontext/core/compiled.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// A function that takes a map that is softmax after an elementwise one, compiled for those that the library has. `...`
/// is the list of template arguments before the map.
#define INCONTEXT_COMPILED_OF_MAPS(unit, function, ...)                                                \
  INCONTEXT_COMPILED(unit, function<__VA_ARGS__ __VA_OPT__(, )::incontext::scoring::Softmax<double>>); \
  INCONTEXT_COMPILED(unit, function<__VA_ARGS__ __VA_OPT__(, )::incontext::scoring::SSMax<double>>);   \
  INCONTEXT_COMPILED(unit, function<__VA_ARGS__ __VA_OPT__(, )::incontext::scoring::SSA<double>>)
