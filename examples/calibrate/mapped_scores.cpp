#include "examples/calibrate/mapped_scores.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <string_view>

#include "examples/support/command_line.hpp"
#include "examples/support/npy.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

/// A file that is open until the end of the block.
struct OpenFile {
  explicit OpenFile(const std::string& file) : descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor < 0) throw InputError(file + ": cannot be read: " + std::strerror(errno));
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(descriptor); }

  int descriptor;
};

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

MappedScores::MappedScores(const std::string& file) : file_(file) {
  const OpenFile open(file);
  struct stat status {};
  if (::fstat(open.descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    throw InputError(file + ": is not a regular file, which can be mapped into memory (needs an .npy file)");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) throw InputError(file + ": is empty (needs an .npy file)");
  bytes_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, open.descriptor, 0);
  if (bytes_ == MAP_FAILED) throw InputError(file + ": cannot be mapped into memory: " + std::strerror(errno));
  try {
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
    description_ = sizes_of(header.shape) + ", float" + std::to_string(8 * header.item_size) +
                   (header.fortran_order ? ", Fortran order" : "");
  } catch (...) {
    ::munmap(bytes_, size_);
    throw;
  }
}

MappedScores::~MappedScores() { ::munmap(bytes_, size_); }

void MappedScores::release() const { ::madvise(bytes_, size_, MADV_DONTNEED); }

}  // namespace incontext::examples::calibrate
