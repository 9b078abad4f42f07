// Prints for which instructions the simulator is compiled that the loader chose, and what it computes.
#include <cstdio>
#include <stdexcept>

#include "tests/simulate/instruction_sets/simulator.hpp"

int main() {
  const incontext::testing::InstructionSetSimulator simulator;
  std::printf("instructions %s\nbits %s\n", simulator.instructions().c_str(), simulator.bits(4096).c_str());
  for (int size = 1; size < 64; ++size) {  // here and there the one side frees what the other allocated
    Eigen::MatrixXd matrix = simulator.grown(Eigen::MatrixXd::Constant(size, size, size));
    if (matrix(2 * size, 2 * size) != size) return 1;
    matrix = matrix * matrix.transpose();
    if (matrix(0, 0) != static_cast<double>(size) * size * (2 * size + 1)) return 1;
  }
  try {
    simulator.refuse();
  } catch (const std::invalid_argument& refusal) {
    std::printf("refusal %s\n", refusal.what());
    return 0;
  }
}
