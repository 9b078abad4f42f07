// A program of docs/extending.md, word for word: a simulation of one's own, a needle among normal scores with a sink.
#include <cmath>
#include <cstdio>
#include <incontext/laws/gaussian_needle.hpp>
#include <incontext/random/normal.hpp>
#include <incontext/simulate/engine/run.hpp>
#include <incontext/statistics/agreement.hpp>

using incontext::Lanes;
namespace rng = incontext::random;
namespace simulate = incontext::simulate;

struct SinkTrial {  // a needle of score `needle` among `competitors` scores N(0, stddev^2)
  using Scalar = double;
  std::int64_t competitors;
  double stddev, needle;

  enum class Stream : std::uint32_t { scores = 4096 };
  enum class Weight { softmax, with_sink };  // the needle's weight, without and with a sink of score 0
  INCONTEXT_HD int outputs() const { return 2; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(rng::Trials<W> trials, simulate::LaneArray<double, W> /*scratch*/,
                        simulate::LaneArray<double, W> values) const {
    const rng::LaneStream stream(trials, Stream::scores);
    constexpr int per_block = rng::normals_per_block<double>;
    Lanes<double, W> normal[per_block], others(0.0);
    for (std::int64_t j = 0; j < competitors; ++j) {
      if (j % per_block == 0) rng::normals(stream, static_cast<std::uint32_t>(j / per_block), normal);
      others += exp(stddev * normal[j % per_block]);
    }
    values[Weight::softmax] = std::exp(needle) / (std::exp(needle) + others);
    values[Weight::with_sink] = std::exp(needle) / (1 + std::exp(needle) + others);
  }
};

int main() {
  const auto run = simulate::run(SinkTrial{166, 2.5, 8.0}, {.seed = 1, .trials = 65536});
  const auto exact = incontext::laws::needle_weight(166, 2.5, 8.0);
  const auto verdict = incontext::statistics::agree(exact, run.estimates[0]);
  std::printf("needle's weight: exact %.6f, simulated %.6f +- %.6f, z = %.2f\n", exact.value, run.estimates[0].mean,
              run.estimates[0].standard_error, verdict.z);
  std::printf("with a sink of score 0: simulated %.6f +- %.6f\n", run.estimates[1].mean,
              run.estimates[1].standard_error);
  return verdict.within(5) ? 0 : 1;
}
