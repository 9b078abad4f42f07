#include "examples/support/version.hpp"

namespace incontext::examples {

const char* version() { return INCONTEXT_VERSION; }

}  // namespace incontext::examples
