#include "examples/support/file_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

/// Whether the name still is that of the open file.
bool is_named(int descriptor, const std::string& file) {
  struct stat open = {}, named = {};
  return ::fstat(descriptor, &open) == 0 && ::stat(file.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileLock FileLock::of(const std::string& file, const std::string& option) {
  FileLock lock;
  for (int tries = 0; tries < 100; ++tries) {
    FileLock next;
    next.descriptor_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (next.descriptor_ < 0) break;
    const bool is_taken = ::flock(next.descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (!is_named(next.descriptor_, file)) continue;  // its owner has just replaced it
    if (is_taken) {
      throw_input_error(option, "is kept up to date by another run", file, "the end of that run, or another file");
    }
    lock = std::move(next);
    break;
  }
  return lock;
}

}  // namespace incontext::examples
