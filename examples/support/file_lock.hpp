#pragma once

#include <string>

/// A lock that says that a run keeps a file up to date.
namespace incontext::examples {

/// Holds the lock of a file while it exists: of the file's content, not of its name, so that the next content is locked
/// before it takes the name over. The end of the process releases it, however the process ends.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();

  /// Locks the file. A file that another run has locked is refused with the name of `option`. A file that does not exist
  /// or cannot be read, and one of a file system without locks, is not locked.
  static FileLock of(const std::string& file, const std::string& option);

 private:
  int descriptor_ = -1;
};

}  // namespace incontext::examples
