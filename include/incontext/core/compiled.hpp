#pragma once

#include "incontext/core/floating_point.hpp"

/// The compiled edition, `incontext::compiled`: each closed form of `double`, the maps by name in `float` and `double`,
/// and a transformer's passes in training, compiled once, in a library.
///
/// The last lines of a header name what the library holds of it, in its unit, which is the header's path with _ for /:
///
///   INCONTEXT_COMPILED(regression_centered_ridge_risk, centered_ridge_risk_isotropic_limit<double>);
///
/// That line is nothing with `incontext::incontext`, which is headers alone. Whoever links `incontext::compiled` has
/// INCONTEXT_WITH_COMPILED, and the line is an explicit instantiation declaration: the compiler takes the function from
/// the library. In the library's own source of that unit, which defines INCONTEXT_UNIT_<unit> as `0,`, it is the
/// definition. Other scalars and maps of a user's own are instantiated from the headers, as without the library.
///
/// tests/rules/compiled.py says which functions of which headers have a line.
#if defined(INCONTEXT_WITH_COMPILED)
// the second argument, which is `extern` unless the first, the unit, is defined and brings a comma
#define INCONTEXT_SECOND_ARGUMENT(first, second, ...) second
#define INCONTEXT_EXTERN(unit, ...) INCONTEXT_SECOND_ARGUMENT(unit, __VA_ARGS__)
#define INCONTEXT_COMPILED(unit, ...) \
  INCONTEXT_EXTERN(INCONTEXT_UNIT_##unit, extern, ) template decltype(__VA_ARGS__) __VA_ARGS__
#define INCONTEXT_COMPILED_DECLARATION(unit, ...) INCONTEXT_EXTERN(INCONTEXT_UNIT_##unit, extern, ) template __VA_ARGS__
#else
#define INCONTEXT_COMPILED(unit, ...) static_assert(true)
#define INCONTEXT_COMPILED_DECLARATION(unit, ...) static_assert(true)
#endif
