#pragma once

namespace incontext::examples {

/// The project's version, as the build system knows it.
const char* version();

/// The commit that this program was built from, as `git describe --dirty` names it; "unknown" outside a git repository.
const char* commit();

}  // namespace incontext::examples
