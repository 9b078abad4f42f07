#pragma once

#include <Eigen/Core>
#include <string>
#include <string_view>

#include "examples/support/text.hpp"

/// NumPy's .npy files, versions 1 to 3: one array of numbers, 1-D or 2-D, read into doubles.
namespace incontext::examples {

/// Parses the bytes of an .npy file; `file` is the name the refusals carry. A 1-D array becomes one column. Refused: a
/// wrong magic, an unknown version, a malformed header, another number of dimensions, too few or too many bytes.
Eigen::MatrixXd parse_npy(const std::string& file, std::string_view bytes);

Eigen::MatrixXd read_npy(const std::string& path);

/// A matrix as the bytes of an .npy file, version 1, little-endian doubles in C order.
std::string npy_bytes(const Eigen::MatrixXd& values);

}  // namespace incontext::examples
