#pragma once

#include <string>
#include <string_view>

/// A file that is written beside its target and then takes the target's place, so that a reader sees the old content or
/// the new, never a part.
namespace incontext::examples {

/// The file that a name refers to through symbolic links, which are kept; it need not exist yet. Links that form a
/// cycle are refused with the name of `option`.
std::string followed(const std::string& file, const std::string& option);

/// Refuses to write a file, with the system's error.
[[noreturn]] void throw_unwritable(const std::string& file, int error, const std::string& option);

/// Writes everything to a descriptor; returns 0 or the error.
int write_all(int descriptor, std::string_view text);

/// While one exists, SIGINT, SIGTERM, SIGHUP and SIGQUIT wait: writing a file takes a moment, and then the signal ends the
/// program, or reaches the handler that stops a simulation. A second signal ends the program at once.
class SignalsWait {
 public:
  SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait();
};

/// The file has a random name in the target's folder, so that the remains of a killed run are never in its way. Unless
/// it took the target's place, it is removed with this object, and until then signals wait.
class TemporaryFile {
 public:
  /// Creates the file with the access rights of the target or, where there is none, those of any new file. A target that
  /// is a folder or read-only is refused, and so is a folder in which no file can be created.
  TemporaryFile(const std::string& file, const std::string& option);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();

  /// Writes the whole content, which is on the disk when this returns.
  void write(std::string_view content);

  /// Takes the target's place; returns 0, or the error, and then the target is unchanged.
  int take_place();

  /// The same where no file may be replaced: EEXIST if there is one by now.
  int take_free_place();

  /// Lets the file remain under its temporary name.
  void keep();

  const std::string& name() const { return name_; }

 private:
  /// Lets the new name reach the disk.
  void settle() const;

  SignalsWait signals_;
  std::string file_, option_;  // as the user gave them
  std::string target_;
  std::string name_;
  int descriptor_ = -1;
  bool released_ = false;  // the file took the target's place, or is kept
};

}  // namespace incontext::examples
