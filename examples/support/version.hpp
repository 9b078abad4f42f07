#pragma once

namespace incontext::examples {

/// The project's version, as the build system knows it.
const char* version();

/// The commit this program was built from, as git describes it, -dirty where files had changed; unknown outside git.
const char* commit();

}  // namespace incontext::examples
