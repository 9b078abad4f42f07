#pragma once

namespace incontext::examples {

/// The project's version, as the build system knows it.
const char* version();

}  // namespace incontext::examples
