#include "examples/calibrate/mapped_scores.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <string_view>

#include "examples/support/command_line.hpp"
#include "examples/support/npy.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

/// What the handler of SIGBUS knows about a mapped file: plain data that does not change while scores are read.
struct Mapping {
  const char* bytes = nullptr;
  std::size_t size = 0;
  std::array<char, 512> message = {};
};

constexpr std::size_t most_files = 4;
std::array<Mapping, most_files> mappings = {};

/// Reading a page behind the end of a file that was shortened raises SIGBUS. Nothing is being written at that time.
void on_bus_error(int signal, siginfo_t* info, void*) {
  const auto* place = static_cast<const char*>(info->si_addr);
  for (const Mapping& file : mappings) {
    if (file.bytes == nullptr || place < file.bytes || place >= file.bytes + file.size) continue;
    const ssize_t ignored = ::write(STDERR_FILENO, file.message.data(), std::strlen(file.message.data()));
    static_cast<void>(ignored);
    ::_exit(exit_bad_input);
  }
  ::signal(signal, SIG_DFL);  // any other error of memory ends the program as it always does
}

void watch(const std::string& file, const void* bytes, std::size_t size) {
  for (Mapping& one : mappings) {
    if (one.bytes != nullptr) continue;
    std::snprintf(one.message.data(), one.message.size(),
                  "incontext calibrate: %s: was cut off while it was read (needs a file that no program writes)\n",
                  shown(file, 300).c_str());
    one.size = size;
    one.bytes = static_cast<const char*>(bytes);
    break;
  }
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &action, nullptr);
}

void forget(const void* bytes) {
  for (Mapping& one : mappings) {
    if (one.bytes == bytes) one.bytes = nullptr;
  }
}

/// More heads than any model has, and at most 100 MB of measurements.
constexpr std::int64_t most_heads = 100000;

calibration::NumberType number_type(const std::string& file, const NpyHeader& header) {
  try {
    return calibration::number_type(header.kind, static_cast<std::int64_t>(header.item_size));
  } catch (const std::exception& error) {
    throw InputError(file + ": " + without_function(error.what()));
  }
}

/// The number of bytes that the shape asks for; the file has `available`.
void require_size(const std::string& file, const NpyHeader& header, std::size_t available) {
  std::size_t needed = header.item_size;
  for (const std::size_t size : header.shape) {
    if (size == 0) throw_input_error(file, "array is empty", sizes_of(header.shape), "at least one number");
    if (needed > std::numeric_limits<std::size_t>::max() / 2 / size)
      needed = std::numeric_limits<std::size_t>::max() / 2;
    else
      needed *= size;
  }
  if (available == needed) return;
  throw_input_error(file, available < needed ? "data is cut off" : "more data than its shape", available,
                    std::to_string(needed) + " bytes for " + sizes_of(header.shape));
}

}  // namespace

MappedScores::MappedScores(const std::string& file)
    : file_(file), descriptor_(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (descriptor_ < 0) throw InputError(file + ": cannot be read: " + std::strerror(errno));
  try {
    if (::fstat(descriptor_, &opened_) != 0 || !S_ISREG(opened_.st_mode)) {
      throw InputError(file + ": is not a regular file, which can be mapped into memory (needs an .npy file)");
    }
    size_ = static_cast<std::size_t>(opened_.st_size);
    if (size_ == 0) throw InputError(file + ": is empty (needs an .npy file)");
    bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor_, 0);
    if (bytes_ == MAP_FAILED) {
      bytes_ = nullptr;
      throw InputError(file + ": cannot be mapped into memory: " + std::strerror(errno));
    }
    watch(file, bytes_, size_);
    const std::string_view text(static_cast<const char*>(bytes_), size_);
    refuse_zip(file, text);
    const NpyHeader header = parse_npy_header(file, text);
    const calibration::NumberType type = number_type(file, header);
    if (header.shape.empty() || header.shape.size() > 4) {
      throw_input_error(file, "wrong number of array dimensions", header.shape.size(),
                        "1 to 4: layers x heads x queries x keys, or fewer, for one prompt of a batch");
    }
    require_size(file, header, size_ - header.data_start);
    const std::vector<std::int64_t> shape(header.shape.begin(), header.shape.end());
    array_ = calibration::dense_scores(static_cast<const char*>(bytes_) + header.data_start, type, shape,
                                       header.fortran_order, header.is_swapped());
    if (array_.heads() > most_heads / array_.layers()) {
      throw_input_error(file, "has too many heads", sizes_of(header.shape),
                        "at most " + std::to_string(most_heads) + " in all layers");
    }
    description_ = sizes_of(header.shape) + ", float" + std::to_string(8 * header.item_size) +
                   (header.fortran_order ? ", Fortran order" : "");
  } catch (...) {
    close();
    throw;
  }
}

MappedScores::~MappedScores() { close(); }

void MappedScores::close() {
  forget(bytes_);
  if (bytes_ != nullptr) ::munmap(bytes_, size_);
  ::close(descriptor_);
}

void MappedScores::require_unchanged() const {
  struct stat now = {};
  const bool same = ::fstat(descriptor_, &now) == 0 && now.st_size == opened_.st_size &&
                    now.st_mtim.tv_sec == opened_.st_mtim.tv_sec && now.st_mtim.tv_nsec == opened_.st_mtim.tv_nsec;
  if (!same) throw InputError(file_ + ": was written to while it was read (needs a file that no program writes)");
}

void MappedScores::release() const { ::madvise(bytes_, size_, MADV_DONTNEED); }

}  // namespace incontext::examples::calibrate
