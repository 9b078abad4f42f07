#pragma once

#if __has_include(<incontext/version.hpp>)
#include <incontext/version.hpp>
#endif

namespace incontext::examples {
inline const char* version() {
#ifdef INCONTEXT_VERSION
  return INCONTEXT_VERSION;
#else
  return "unversioned";
#endif
}
}  // namespace incontext::examples
