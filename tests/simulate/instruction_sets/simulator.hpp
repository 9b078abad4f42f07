#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <string>

namespace incontext::testing {

/// The smallest simulator for several instruction sets: what simulates, memory that crosses the library's border, and an exception.
class InstructionSetSimulator {
 public:
  std::string instructions() const;
  /// The bits of the mean fourth power of normals, in float.
  std::string bits(std::int64_t trials) const;
  /// A larger matrix in place of this one, which the other side allocated.
  Eigen::MatrixXd grown(Eigen::MatrixXd matrix) const;
  [[noreturn]] void refuse() const;
};

}  // namespace incontext::testing
