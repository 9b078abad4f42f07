#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "examples/support/render.hpp"
#include "examples/support/report.hpp"
#include "examples/support/text.hpp"

/// Where a report goes: standard output, or a file that appears complete or not at all.
namespace incontext::examples {

enum class Format { table, csv, json };

struct OutputOptions {
  Format format = Format::table;
  std::string file = {};  ///< empty or "-": standard output
  bool quiet = false;

  bool to_standard_output() const { return file.empty() || file == "-"; }
};

namespace detail {

[[noreturn]] inline void throw_unwritable(const std::string& file, int error, const std::string& option = "--output") {
  throw_input_error(option, "cannot be written: " + std::string(std::strerror(error)), file, "a writable file");
}

/// Closes its file when it goes, and removes it by name unless the name was released.
class OpenFile {
 public:
  OpenFile(int descriptor, std::string remove_name) : descriptor_(descriptor), remove_name_(std::move(remove_name)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!remove_name_.empty()) ::unlink(remove_name_.c_str());
  }
  void write(std::string_view text, const std::string& shown_name) {
    while (!text.empty()) {
      const ssize_t written = ::write(descriptor_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) throw_unwritable(shown_name, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  void close(const std::string& shown_name) {
    const int descriptor = descriptor_;
    descriptor_ = -1;
    if (::close(descriptor) != 0) throw_unwritable(shown_name, errno);
  }
  void keep() { remove_name_.clear(); }

 private:
  int descriptor_;
  std::string remove_name_;
};

/// The file to replace: the target itself, not a symbolic link that names it.
inline std::string replaced_file(const std::string& file) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(file, error);
  return error ? file : target.string();
}

inline std::string temporary_name(const std::string& file) { return file + ".incontext-" + std::to_string(::getpid()); }

inline OpenFile open_temporary(const std::string& file, const std::string& shown_name,
                               const std::string& option = "--output") {
  const std::string name = temporary_name(file);
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) throw_unwritable(shown_name, errno, option);
  return {descriptor, name};
}

/// A device, pipe or socket takes bytes as they come: it can be neither replaced nor renamed.
inline bool takes_bytes_directly(const std::string& file) {
  std::error_code error;
  const auto status = std::filesystem::status(file, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
         !std::filesystem::is_directory(status);
}

}  // namespace detail

/// Refuses a file that could not be written at the end, before a long run begins. Leaves nothing behind.
inline void require_writable(const std::string& file, const std::string& option = "--output") {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) detail::throw_unwritable(file, EISDIR, option);
  if (detail::takes_bytes_directly(file)) {
    if (::access(file.c_str(), W_OK) != 0) detail::throw_unwritable(file, errno, option);
    return;
  }
  detail::open_temporary(detail::replaced_file(file), file, option);  // gone at the end of this statement
}

/// Writes a file beside the target and renames it, so that a reader sees the old content or the new, never a part.
inline void write_file(const std::string& file, std::string_view content) {
  if (detail::takes_bytes_directly(file)) {
    const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0) detail::throw_unwritable(file, errno);
    detail::OpenFile device(descriptor, "");
    device.write(content, file);
    device.close(file);
    return;
  }
  const std::string target = detail::replaced_file(file);
  detail::OpenFile temporary = detail::open_temporary(target, file);
  temporary.write(content, file);
  temporary.close(file);
  if (std::rename(detail::temporary_name(target).c_str(), target.c_str()) != 0) detail::throw_unwritable(file, errno);
  temporary.keep();
}

inline void write_standard_output(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw_input_error("standard output", "cannot be written: " + std::string(std::strerror(errno)), "-",
                      "an open output");
  }
}

inline std::string render(const Report& report, Format format) {
  switch (format) {
    case Format::csv:
      return render_csv(report);
    case Format::json:
      return render_json(report);
    case Format::table:
      break;
  }
  return render_text(report);
}

/// With --output the report goes to the file and the verdict to the screen; --quiet keeps standard output empty.
inline void deliver(const Report& report, const OutputOptions& options) {
  const std::string text = render(report, options.format);
  if (!options.to_standard_output()) {
    write_file(options.file, text);
    if (!options.quiet && !report.verdict.text.empty()) write_standard_output(report.verdict.text + '\n');
  } else if (!options.quiet) {
    write_standard_output(text);
  }
}

}  // namespace incontext::examples
