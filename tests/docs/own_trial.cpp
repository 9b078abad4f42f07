// A program of docs/extending.md, word for word: a simulation of one's own, a needle among normal scores with a sink.
#include <cmath>
#include <cstdio>
#include <incontext/laws/gaussian_signal.hpp>
#include <incontext/random/normal.hpp>
#include <incontext/simulate/run.hpp>
#include <incontext/statistics/agreement.hpp>

namespace simulate = incontext::simulate;

struct SinkTrial {  // a needle of score `needle` among `competitors` scores N(0, stddev^2)
  using Scalar = double;
  std::int64_t competitors;
  double stddev, needle;

  INCONTEXT_HD int outputs() const { return 2; }  // the needle's weight: softmax, and softmax with a sink of score 0
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W, class Scratch>
  INCONTEXT_HD void run(std::uint64_t seed, std::uint64_t first_trial, Scratch, double* values,
                        std::int64_t stride) const {
    const incontext::random::LaneStream<W> stream({seed, first_trial}, random::StreamTag(/*stream=*/4096));
    constexpr int per_block = incontext::random::normals_per_block<double>;
    double normal[per_block][W], others[W] = {};
    for (std::int64_t j = 0; j < competitors; ++j) {
      if (j % per_block == 0) incontext::random::normals(stream, static_cast<std::uint32_t>(j / per_block), normal);
      for (int lane = 0; lane < W; ++lane) others[lane] += std::exp(stddev * normal[j % per_block][lane]);
    }
    for (int lane = 0; lane < W; ++lane) {
      values[lane] = std::exp(needle) / (std::exp(needle) + others[lane]);
      values[stride + lane] = std::exp(needle) / (1 + std::exp(needle) + others[lane]);
    }
  }
};

int main() {
  const auto run = simulate::run(SinkTrial{166, 2.5, 8.0}, {.seed = 1, .trials = 65536});
  const auto exact = incontext::laws::signal_weight(166, 2.5, 8.0);
  const auto verdict = incontext::statistics::agree(exact, run.estimates[0]);
  std::printf("needle's weight: exact %.6f, simulated %.6f +- %.6f, z = %.2f\n", exact.value, run.estimates[0].mean,
              run.estimates[0].standard_error, verdict.z);
  std::printf("with a sink of score 0: simulated %.6f +- %.6f\n", run.estimates[1].mean,
              run.estimates[1].standard_error);
  return verdict.within(5) ? 0 : 1;
}
