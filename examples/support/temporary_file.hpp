#pragma once

#include <string>
#include <string_view>

/// A file that is written beside its target and then takes the target's place, so that a reader sees the old content or
/// the new, never a part.
namespace incontext::examples {

/// What a name leads to by symbolic links, which stay; the last one may lead to a file that is not there yet. Links
/// that lead in a circle are refused in the name of `option`.
std::string followed(const std::string& file, const std::string& option);

/// Refuses to write a file, for a reason of the system's.
[[noreturn]] void throw_unwritable(const std::string& file, int error, const std::string& option);

/// Writes to a descriptor until all is written; answers 0, or the error that stopped it.
int write_all(int descriptor, std::string_view text);

/// Has a random name in the target's folder, so that what a killed run left is never in its way. It is gone with this
/// object, and when SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the program, unless it took the target's place. A handler
/// those signals had before, such as the one that stops a simulation, hears the first of each.
class TemporaryFile {
 public:
  /// With the access rights of the target or, where there is none, those of any new file. Refused: a target that is a
  /// folder or read-only, and a folder that takes no new file.
  TemporaryFile(const std::string& file, const std::string& option);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// The whole content, on the disk when this returns.
  void write(std::string_view content);

  /// Answers 0, or the error for which the target stays as it was and the content under its temporary name, for good.
  int take_place();

  const std::string& name() const { return name_; }

 private:
  std::string file_, option_;  // as the user calls them
  std::string target_;
  std::string name_;
  int descriptor_ = -1;
  bool released_ = false;  // took its place, or is kept
};

}  // namespace incontext::examples
