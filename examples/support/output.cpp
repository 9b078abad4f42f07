#include "examples/support/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <list>
#include <system_error>
#include <utility>

#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

[[noreturn]] void throw_unwritable(const std::string& file, int error, const std::string& option) {
  throw_input_error(option, "cannot be written: " + std::string(std::strerror(error)), file, "a writable file");
}

/// Closes its file when it goes, and removes it by name unless the name was released.
class OpenFile {
 public:
  OpenFile(int descriptor, std::string remove_name, std::string shown_name, std::string option)
      : descriptor_(descriptor),
        remove_name_(std::move(remove_name)),
        shown_name_(std::move(shown_name)),
        option_(std::move(option)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!remove_name_.empty()) ::unlink(remove_name_.c_str());
  }
  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw_unwritable(shown_name_, errno, option_);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void close() {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) throw_unwritable(shown_name_, errno, option_);
  }
  void keep() { remove_name_.clear(); }

 private:
  int descriptor_;
  std::string remove_name_;
  std::string shown_name_;
  std::string option_;  // that named the file
};

/// The file to replace: the target itself, not a symbolic link that names it.
std::string replaced_file(const std::string& file) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  return error ? file : target.string();
}

std::string temporary_name(const std::string& file) { return file + ".incontext-" + std::to_string(::getpid()); }

OpenFile open_temporary(const std::string& file, const std::string& shown_name, const std::string& option) {
  const std::string name = temporary_name(file);
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_unwritable(shown_name, errno, option);
  return {descriptor, name, shown_name, option};
}

/// A device, pipe or socket takes bytes as they come: it can be neither replaced nor renamed.
bool takes_bytes_directly(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

void write_directly(const std::string& file, std::string_view content, const std::string& option) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) throw_unwritable(file, errno, option);
  OpenFile device(descriptor, "", file, option);
  device.write(content);
  device.close();
}

/// Content beside its target, complete, and gone with this unless it took the target's place.
class Replacement {
 public:
  Replacement(const std::string& file, std::string_view content, const std::string& option)
      : file_(file), option_(option), target_(replaced_file(file)), temporary_(open_temporary(target_, file, option)) {
    temporary_.write(content);
    temporary_.close();
  }
  void take_place() {
    if (std::rename(temporary_name(target_).c_str(), target_.c_str()) != 0) throw_unwritable(file_, errno, option_);
    temporary_.keep();
  }

 private:
  std::string file_, option_, target_;
  OpenFile temporary_;
};

}  // namespace

void require_writable(const std::string& file, const std::string& option) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw_unwritable(file, EISDIR, option);
  if (takes_bytes_directly(file)) {
    if (::access(file.c_str(), W_OK) != 0) throw_unwritable(file, errno, option);
    return;
  }
  open_temporary(replaced_file(file), file, option);  // gone at the end of this statement
}

void write_file(const std::string& file, std::string_view content, const std::string& option) {
  write_files({{file, content}}, option);
}

void write_files(const std::vector<std::pair<std::string, std::string_view>>& files, const std::string& option) {
  std::list<Replacement> replacements;
  for (const auto& [file, content] : files) {
    if (!takes_bytes_directly(file)) replacements.emplace_back(file, content, option);
  }
  for (Replacement& replacement : replacements) replacement.take_place();
  for (const auto& [file, content] : files) {
    if (takes_bytes_directly(file)) write_directly(file, content, option);
  }
}

void write_standard_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw_input_error("standard output", "cannot be written: " + std::string(std::strerror(errno)), "-",
                      "an open output");
  }
}

}  // namespace incontext::examples
