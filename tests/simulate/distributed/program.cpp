// The header of shared simulations in a plain program, compiled by the wrappers of each MPI: prints the estimates.
//   program       every rank runs the same
//   program seed  the last rank has another seed

#include <cstdio>
#include <exception>
#include <string>

#include "incontext/simulate/engine/distributed.hpp"
#include "incontext/simulate/engine/run.hpp"

namespace {

using namespace incontext;

struct SquareTrial {
  using Scalar = double;

  int outputs() const { return 2; }
  std::int64_t scratch_rows() const { return 1; }

  template <int W>
  void run(random::Trials<W> trials, simulate::LaneArray<double, W>, simulate::LaneArray<double, W> values) const {
    Lanes<double, W> normal[2];
    random::normals(random::LaneStream(trials, random::StreamTag(0)), 0u, normal);
    for (int lane = 0; lane < W; ++lane) {
      values[0][lane] = 1 + normal[0][lane];
      values[1][lane] = normal[1][lane] * normal[1][lane];
    }
  }
};

void print(const simulate::Simulation& result) {
  for (const auto& estimate : result.estimates)
    std::printf("%a %a %lld\n", estimate.mean, estimate.standard_error, static_cast<long long>(result.trials));
}

}  // namespace

int main(int argc, char** argv) {
  simulate::DistributedRun run;
  const bool differs = argc > 1 && std::string(argv[1]) == "seed" && run.rank() == run.ranks() - 1;
  try {
    for (const double relative_error : {0.0, 0.004}) {
      const auto result = simulate::run(SquareTrial{}, {.seed = differs ? 2U : 1U,
                                                        .trials = relative_error > 0 ? 0 : 1000000,
                                                        .relative_error = relative_error,
                                                        .device = simulate::Device::serial,
                                                        .record = &run.record()});
      if (run.rank() == 0) print(result);
    }
    return run.leave(0);
  } catch (const std::exception& error) {
    if (run.rank() == 0) std::fprintf(stderr, "%s\n", error.what());
    return run.leave(2, error.what());
  }
}
