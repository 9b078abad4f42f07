#include "tests/simulate/instruction_sets/simulator.hpp"

#include <incontext/core/contracts.hpp>
#include <incontext/core/host_device.hpp>
#include <incontext/random/normal.hpp>
#include <incontext/simulate/engine/device.hpp>
#include <incontext/simulate/engine/lanes.hpp>
#include <incontext/simulate/engine/run.hpp>

#include <bit>
#include <cstdio>
#include <string_view>
#include <utility>

namespace incontext::testing {

/// The mean fourth power of 64 normals.
struct FourthPowerTrial {
  using Scalar = float;
  static constexpr std::string_view grows_with = "nothing";
  static constexpr int per_block = random::normals_per_block<float>;
  static constexpr int blocks = 64 / per_block;
  enum class Stream : std::uint32_t { normals = 4100 };

  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<float, W> /*scratch*/,
                        simulate::LaneArray<float, W> values) const {
    const random::LaneStream<W> stream(trials, Stream::normals);
    Lanes<float, W> normal[per_block], sum(0.0F);
    for (int block = 0; block < blocks; ++block) {
      random::normals(stream, static_cast<std::uint32_t>(block), normal);
      for (const Lanes<float, W>& z : normal) sum += (z * z) * (z * z);
    }
    for (int lane = 0; lane < W; ++lane) values[0][lane] = sum[lane] / (blocks * per_block);
  }
};

std::string InstructionSetSimulator::instructions() const { return simulate::instructions(); }

std::string InstructionSetSimulator::bits(std::int64_t trials) const {
  const auto run = simulate::run(FourthPowerTrial{}, {.seed = 3, .trials = trials});
  char text[64];
  std::snprintf(text, sizeof text, "%.6f %016llx", run.estimates[0].mean,
                static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(run.estimates[0].mean)));
  return text;
}

Eigen::MatrixXd InstructionSetSimulator::grown(Eigen::MatrixXd matrix) const {
  const double corner = matrix(0, 0);
  matrix = Eigen::MatrixXd::Constant(2 * matrix.rows() + 1, 2 * matrix.cols() + 1, corner);
  return matrix;
}

void InstructionSetSimulator::refuse() const {
  throw_invalid_argument("testing::refuse", "is refused always", "anything", "another function");
}

}  // namespace incontext::testing
