#pragma once

#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "examples/support/text.hpp"

/// NumPy's .npy files, versions 1 to 3: one array of numbers, 1-D or 2-D, read into doubles.
namespace incontext::examples {

/// What an .npy file says about its numbers; `descr` such as "<f8" is byte order, kind and bytes per number.
struct NpyHeader {
  char byte_order = '<';
  char kind = 'f';
  std::size_t item_size = 8;
  bool fortran_order = false;
  std::vector<std::size_t> shape;
  std::size_t data_start = 0;  ///< the byte at which the numbers begin

  /// Whether the bytes of each number are in the order that this machine does not use.
  bool is_swapped() const;
};

/// The header of an .npy file, from its first bytes.
NpyHeader parse_npy_header(const std::string& file, std::string_view bytes);

/// "12 x 512 x 512"
std::string sizes_of(const std::vector<std::size_t>& shape);

/// How an array of one dimension is read: as one number per row of a data set, or as one row of scores.
enum class OneDimension { column, row };

/// Parses the bytes of an .npy file; `file` is its name in messages. It refuses a wrong magic number, an unknown
/// version, a malformed header, another number of dimensions, too few bytes. Bytes behind the array are left alone, as
/// NumPy does.
Eigen::MatrixXd parse_npy(const std::string& file, std::string_view bytes, OneDimension vectors = OneDimension::column);

Eigen::MatrixXd read_npy(const std::string& path);

/// Refuses a zip archive, such as NumPy's .npz, with a message that says what to do instead.
void refuse_zip(const std::string& file, std::string_view bytes);

/// Whether a file is read as .npy, by its first bytes or its name.
bool is_npy(const std::string& file, std::string_view bytes);

/// A matrix as the bytes of an .npy file, version 1, little-endian doubles in C order.
std::string npy_bytes(const Eigen::MatrixXd& values);

/// Numbers in C order as the bytes of an .npy file of that shape: doubles, or integers of 64 bits.
std::string npy_bytes(const std::vector<double>& values, const std::vector<std::int64_t>& shape);
std::string npy_bytes(const std::vector<std::int64_t>& values, const std::vector<std::int64_t>& shape);

}  // namespace incontext::examples
