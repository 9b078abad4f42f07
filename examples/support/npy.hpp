#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "examples/support/text.hpp"

/// NumPy's .npy files, versions 1 to 3: one array of numbers, 1-D or 2-D, read into doubles.
namespace incontext::examples {

/// How an array of one dimension is read: as one number per row of a data set, or as one row of scores.
enum class OneDimension { column, row };

/// Parses the bytes of an .npy file; `file` is its name in messages. It refuses a wrong magic number, an unknown
/// version, a malformed header, another number of dimensions, too few or too many bytes.
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
