#include "examples/support/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <list>
#include <optional>
#include <system_error>
#include <tuple>

#include "examples/support/ranks.hpp"
#include "examples/support/temporary_file.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

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
  const int error = write_all(descriptor, content);
  const bool closed = ::close(descriptor) == 0;
  if (error != 0 || !closed) throw_unwritable(file, error != 0 ? error : errno, option);
}

void require_writable(const std::string& file, const std::string& option) {
  if (!takes_bytes_directly(file)) {
    const TemporaryFile probe(file, option);  // gone at the end of this statement
  } else if (::access(file.c_str(), W_OK) != 0) {
    throw_unwritable(file, errno, option);
  }
}

/// The identity of a file: its place on a disk or, if it does not exist yet, its folder's place and its name. Devices,
/// which have no content to lose, have none.
using Place = std::tuple<dev_t, ino_t, std::string>;

std::optional<Place> place_of(const struct stat& status) {
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) return std::nullopt;
  return Place{status.st_dev, status.st_ino, ""};
}

std::optional<Place> place_of(int descriptor) {
  struct stat status = {};
  return ::fstat(descriptor, &status) == 0 ? place_of(status) : std::nullopt;
}

std::optional<Place> place_of(const NamedFile& named) {
  struct stat status = {};
  if (::stat(named.file.c_str(), &status) == 0) return place_of(status);
  const std::filesystem::path target = followed(named.file, named.option);
  const std::string folder = target.parent_path().string();
  if (::stat(folder.empty() ? "." : folder.c_str(), &status) != 0) return std::nullopt;
  return Place{status.st_dev, status.st_ino, target.filename().string()};
}

struct PlacedFile {
  NamedFile named;
  std::optional<Place> place;

  bool is_same_as(const PlacedFile& other) const { return place && place == other.place; }
};

void refuse_same(const PlacedFile& one, const PlacedFile& other) {
  if (!one.is_same_as(other)) return;
  throw InputError(one.named.option + ": is the file of " + other.named.option + " too (value = " + one.named.file +
                   "; needs another file)");
}

}  // namespace

void require_outputs(const OutputOptions& output, const std::vector<NamedFile>& others,
                     const std::vector<NamedFile>& inputs, const std::vector<NamedFile>& updated) {
  if (!is_first_rank()) return;
  if (output.quiet && output.file == "-") throw InputError("--output: - has no meaning with --quiet");
  std::list<PlacedFile> outputs, sources;
  const auto add_output = [&](const NamedFile& named) {
    if (!named.file.empty()) outputs.push_back({named, place_of(named)});
  };
  if (!output.to_standard_output()) add_output({"--output", output.file});
  for (const NamedFile& named : others) {
    if (named.file == "-") throw_input_error(named.option, "is not a file", named.file, "the name of a file");
    add_output(named);
  }
  for (const PlacedFile& one : outputs) require_writable(one.named.file, one.named.option);
  if (!output.to_standard_output()) {
    const NamedFile partial{"--output's partial report", partial_file(output.file)};
    outputs.push_back({partial, place_of(partial)});
  }
  if (!output.quiet) outputs.push_back({{"standard output", "-"}, place_of(STDOUT_FILENO)});
  const auto add_source = [&](const NamedFile& named) {
    if (named.file.empty()) return;
    sources.push_back({named, named.file == "-" ? place_of(STDIN_FILENO) : place_of(named)});
  };
  for (const NamedFile& named : inputs) add_source(named);
  for (const PlacedFile& source : sources) {
    for (const NamedFile& named : updated) refuse_same({named, place_of(named)}, source);
  }
  for (const NamedFile& named : updated) add_source(named);
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    for (const PlacedFile& source : sources) {
      const bool continues = one->named.option == "--checkpoint" && source.named.option == "--resume";
      if (continues || !one->is_same_as(source)) continue;
      throw InputError(one->named.option + ": would replace the input of " + source.named.option +
                       " (value = " + one->named.file + "; needs another file)");
    }
    for (auto other = std::next(one); other != outputs.end(); ++other) refuse_same(*one, *other);
  }
}

std::string partial_file(const std::string& file) { return file + ".partial"; }

void require_file(const NamedFile& output) {
  const std::string folder = std::filesystem::path(output.file).parent_path().string() + '/';
  const bool is_descriptor = folder == "/dev/" || folder == "/dev/fd/" || folder.starts_with("/proc/");
  if (output.file != "-" && !is_descriptor && !takes_bytes_directly(output.file)) return;
  throw InputError(output.option + ": is not a file that can be replaced (value = " + output.file +
                   "; needs the name of a file)");
}

void write_file(const std::string& file, std::string_view content, const std::string& option) {
  write_files({{file, content}}, option);
}

void write_files(const std::vector<std::pair<std::string, std::string_view>>& files, const std::string& option) {
  if (!is_first_rank()) return;
  std::list<TemporaryFile> complete;
  for (const auto& [file, content] : files) {
    if (!takes_bytes_directly(file)) complete.emplace_back(file, option).write(content);
  }
  std::string kept;
  int error = 0;
  for (TemporaryFile& one : complete) {
    const int failed = one.take_place();
    if (failed == 0) continue;
    error = failed;
    one.keep();
    kept += (kept.empty() ? "" : " and ") + one.name();
  }
  if (!kept.empty()) {
    throw InputError(option + ": cannot be replaced: " + std::strerror(error) + "; the complete content is in " + kept);
  }
  for (const auto& [file, content] : files) {
    if (takes_bytes_directly(file)) write_directly(file, content, option);
  }
}

void write_standard_output(std::string_view text) {
  if (!is_first_rank()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw InputError("standard output: cannot be written: " + std::string(std::strerror(errno)) +
                     " (needs an open output)");
  }
}

void prepare_streams() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open takes the lowest free number, this one; a descriptor for the other direction fails like a closed stream
    ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace incontext::examples
