#include "incontext/simulate/gradients/gradient_norms.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "incontext/laws/frozen_imbalance.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/gradient_sizes.hpp"
#include "incontext/laws/normsoftmax_gradient_sizes.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/statistics/agreement.hpp"
#include "incontext/training/layer_gradients.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace gradient_norms_test {

// Trials against the gradients of a layer in double on the same draws (whose derivatives come from the maps' own vjp),
// means against the exact law (|z| <= 5, fixed seeds), and perturbed laws rejected.

namespace {

using namespace incontext;
using simulate::GradientMap;
using simulate::GradientNorm;
using simulate::GradientRow;
using simulate::GradientStream;
using Matrix = training::Matrix<double>;

constexpr std::uint64_t seed = 91;

constexpr std::size_t at(GradientNorm norm) { return static_cast<std::size_t>(norm); }

template <class T>
double drawn(std::uint64_t trial, GradientStream stream, std::int64_t block, std::int64_t index) {
  constexpr int per_block = random::normals_per_block<T>;
  T normal[per_block][1];
  random::normals(random::LaneStream<1>({seed, trial}, stream), static_cast<std::uint32_t>(block + index / per_block),
                  normal);
  return static_cast<double>(normal[index % per_block][0]);
}

/// The random numbers of a trial as a layer whose matrices are identities: the query is `score_stddev` along component
/// 0.
template <class T>
struct Layer {
  Matrix tokens, direction;

  Layer(const GradientRow& row, std::uint64_t trial) : tokens(row.tokens, row.dimension), direction(1, row.dimension) {
    const std::int64_t per_block = random::normals_per_block<T>, blocks = (row.tokens + per_block - 1) / per_block;
    double rest = 0;
    direction.setZero();
    for (std::int64_t c = 0; c < row.dimension; ++c) {
      const double h = drawn<T>(trial, GradientStream::upstream, 0, c);
      if (c == 0) direction(0, 0) = h;
      if (c > 0) rest += h * h;
      for (std::int64_t j = 0; j < row.tokens; ++j) {
        tokens(j, c) = drawn<T>(trial, GradientStream::tokens, c * blocks, j);
      }
    }
    if (row.dimension > 1) direction(0, 1) = std::sqrt(rest);
    direction.normalize();
  }

  struct SquaredNorms {
    double key, value;
  };

  /// |dW_K|^2 and |dW_V|^2 for the upstream gradient h.
  SquaredNorms gradients(GradientMap map, double score_stddev, const Matrix& h) const {
    const Eigen::Index d = tokens.cols();
    const Matrix one = Matrix::Identity(d, d);
    Matrix query = Matrix::Zero(1, d);
    query(0, 0) = score_stddev;
    const training::LayerWeights<double> layer{one, one, one};
    const auto result = map == GradientMap::softmax
                            ? training::layer_gradients(scoring::Softmax{1.0}, tokens, query, layer, h)
                            : training::layer_gradients(scoring::NormSoftmax{1.0}, tokens, query, layer, h);
    return {result.gradient.key.squaredNorm(), result.gradient.value.squaredNorm()};
  }

  /// In the order of GradientNorm; for the ratio |dW_K|, and -1 for what one dimension does not have.
  std::vector<double> norms(GradientMap map, double score_stddev) const {
    const auto isotropic = gradients(map, score_stddev, direction);
    Matrix along = Matrix::Zero(1, tokens.cols()), across = along;
    along(0, 0) = 1;
    if (tokens.cols() > 1) across(0, 1) = 1;
    const double key = isotropic.key, value = isotropic.value;
    return {value,
            key,
            key * value,
            std::sqrt(key),
            gradients(map, score_stddev, along).key,
            tokens.cols() > 1 ? gradients(map, score_stddev, across).key : -1};
  }
};

/// The largest deviation of 64 trials from the definition, relative to `floor` + the value. The ratio is tested through
/// |dW_K|, because in one dimension the mean token may vanish.
template <class T, int W>
double largest_deviation(const GradientRow& row, double floor) {
  const std::vector<double> score_stddevs{0.05, 0.9, 4, 24};
  const std::vector<T> grid(score_stddevs.begin(), score_stddevs.end());
  const simulate::GradientNormsTrial<T> trial{row.map, row.tokens, row.dimension, grid.data(), 4};
  static_assert(simulate::Trial<simulate::GradientNormsTrial<T>>);
  std::vector<T> scratch(static_cast<std::size_t>(trial.scratch_rows() * W));
  std::vector<T> values(static_cast<std::size_t>(trial.outputs() * W));
  double largest = 0;
  for (std::uint64_t first = 0; first < 64; first += W) {
    trial.template run<W>({seed, first}, {scratch.data(), W}, {values.data(), W});
    for (std::size_t lane = 0; lane < W; ++lane) {
      const Layer<T> layer(row, first + lane);
      std::size_t output = 0;
      for (const double score_stddev : score_stddevs) {
        const std::vector<double> norms = layer.norms(row.map, static_cast<double>(static_cast<T>(score_stddev)));
        for (std::size_t k = 0; k < norms.size(); ++k) {
          double value = static_cast<double>(values[output++ * W + lane]);
          if (k == at(GradientNorm::ratio)) value *= std::sqrt(norms[at(GradientNorm::value)]);
          const double expected = norms[k];
          if (expected < 0) continue;
          const double off = std::abs(value - expected) / (floor + expected);
          if (!(off <= largest)) largest = std::isnan(off) ? std::numeric_limits<double>::infinity() : off;
        }
      }
    }
  }
  return largest;
}

laws::GradientSizes<double> law(double n, double x, double d) {
  return laws::gradient_sizes(laws::gaussian_row(n, x), x, d);
}

}  // namespace

TEST_CASE("gradient norms: an estimate's rounding bounds its error in single precision, and so does the ratio's") {
  constexpr std::int64_t trials = 128;
  testing::Worst largest_share;
  for (const auto map : {GradientMap::softmax, GradientMap::normsoftmax}) {
    for (const GradientRow& row : {GradientRow{3, 2, map}, GradientRow{64, 16, map}, GradientRow{400, 3, map}}) {
      const std::vector<double> score_stddevs{0.05, 0.9, 4, 24, 1000};
      const auto run = simulate::gradient_norms<float>(row, score_stddevs, {.seed = seed, .trials = trials});
      for (std::size_t point = 0; point < score_stddevs.size(); ++point) {
        std::vector<double> exact(6, 0.0);
        for (std::uint64_t trial = 0; trial < trials; ++trial) {
          const auto norms =
              Layer<float>(row, trial).norms(map, static_cast<double>(static_cast<float>(score_stddevs[point])));
          for (std::size_t k = 0; k < 6; ++k) exact[k] += norms[k] / trials;
        }
        for (const auto norm : {GradientNorm::value, GradientNorm::key, GradientNorm::key_orthogonal}) {
          const auto& estimate = run.at(point, norm);
          const double off = std::abs(estimate.mean - exact[at(norm)]);
          CAPTURE(row.tokens, row.dimension, static_cast<int>(map), score_stddevs[point], static_cast<int>(norm),
                  estimate.mean, estimate.rounding);
          CHECK(off <= estimate.rounding);
          largest_share.add(off / estimate.rounding, "point ", point);
        }
        const auto ratio = run.imbalance(point);
        CHECK(std::abs(ratio.mean - std::sqrt(exact[at(GradientNorm::key)] / exact[at(GradientNorm::value)])) <=
              ratio.rounding);
      }
    }
  }
  CHECK(largest_share > 0.02);
}

TEST_CASE("gradient norms: every trial is the layer's gradients, whatever the lanes") {
  for (const auto map : {GradientMap::softmax, GradientMap::normsoftmax}) {
    for (const GradientRow& row :
         {GradientRow{2, 1, map}, GradientRow{3, 2, map}, GradientRow{17, 5, map}, GradientRow{64, 16, map}}) {
      CAPTURE(row.tokens, row.dimension, static_cast<int>(map));
      const double floor = row.dimension == 1 ? 0.1 : 1e-9;  // one dimension's mean may vanish
      CHECK(largest_deviation<double, 1>(row, floor) <= 1e-9);
      CHECK(largest_deviation<double, 64>(row, floor) <= 1e-9);
      CHECK(largest_deviation<float, 1>(row, floor) <= 2e-3);
      CHECK(largest_deviation<float, 64>(row, floor) <= 2e-3);
    }
  }
}

TEST_CASE("gradient norms: means agree with the exact law, and only with it") {
  for (const GradientRow& row : {GradientRow{4, 2}, GradientRow{30, 5}, GradientRow{64, 16}}) {
    const std::vector<double> score_stddevs{0.05, 1, 3};
    const auto run = simulate::gradient_norms(row, score_stddevs, {.seed = seed, .trials = 1 << 15});
    const auto n = static_cast<double>(row.tokens), d = static_cast<double>(row.dimension);
    for (std::size_t point = 0; point < score_stddevs.size(); ++point) {
      const double x = score_stddevs[point];
      CAPTURE(n, d, x);
      const auto sizes = law(n, x, d);
      const auto z = [&](GradientNorm norm, double theory) {
        return std::abs(testing::z_of(theory, run.at(point, norm)));
      };
      CHECK(z(GradientNorm::value, sizes.mean_token) <= 5);
      CHECK(z(GradientNorm::key, x * x * sizes.covariance_isotropic) <= 5);
      CHECK(z(GradientNorm::key_parallel, x * x * sizes.covariance_parallel) <= 5);
      CHECK(z(GradientNorm::key_orthogonal, x * x * sizes.covariance_orthogonal) <= 5);
      CHECK(std::abs(testing::z_of(sizes.imbalance, run.imbalance(point))) <= 5);
      // Power: a few percent, three tokens more, the two directions exchanged.
      CHECK(z(GradientNorm::value, 1.05 * sizes.mean_token) > 5);
      CHECK(z(GradientNorm::key, 1.25 * x * x * sizes.covariance_isotropic) > 5);
      if (x >= 1) CHECK(z(GradientNorm::key_orthogonal, x * x * sizes.covariance_parallel) > 5);
      CHECK(std::abs(testing::z_of(1.1 * sizes.imbalance, run.imbalance(point))) > 5);
      if (x < 1) CHECK(std::abs(testing::z_of(law(n + 3, x, d).imbalance, run.imbalance(point))) > 5);
    }
  }
}

TEST_CASE("gradient norms: the error of the imbalance is what independent runs scatter by") {
  const GradientRow row{16, 8};
  double squares = 0;
  constexpr int runs = 64;
  const double exact = law(16, 2, 8).imbalance;
  for (std::uint64_t k = 0; k < runs; ++k) {
    const auto ratio = simulate::gradient_norms(row, {2.0}, {.seed = 1000 + k, .trials = 1024}).imbalance(0);
    squares += testing::z_of(exact, ratio) * testing::z_of(exact, ratio);
  }
  // chi^2 of 64 degrees: outside [0.45, 1.85] less than once in ten thousand.
  CHECK(squares / runs >= 0.45);
  CHECK(squares / runs <= 1.85);
}

TEST_CASE("gradient norms: closed forms fail outside their regime") {
  const auto narrow = simulate::gradient_norms({64, 64}, {0.05}, {.seed = seed, .trials = 1 << 13}).imbalance(0);
  CHECK(std::abs(testing::z_of(0.05 * std::sqrt(1.0), narrow)) > 5);  // x sqrt(n/d), without sqrt(1 + d/n)
  CHECK(std::abs(testing::z_of(laws::annealed_imbalance(64.0, 0.05, 64.0), narrow)) <= 5);
  const auto frozen = simulate::gradient_norms({64, 16}, {6.0}, {.seed = seed, .trials = 1 << 13}).imbalance(0);
  CHECK(std::abs(testing::z_of(laws::annealed_imbalance(64.0, 6.0, 16.0), frozen)) > 5);
  CHECK(std::abs(testing::z_of(law(64, 6, 16).imbalance, frozen)) <= 5);
}

TEST_CASE("gradient norms: in frozen rows the root mean square grows and the median vanishes") {
  const GradientRow row{64, 16};
  const std::vector<double> score_stddevs{3, 8, 16, 32};
  const simulate::Options options{.seed = seed, .trials = 1 << 13};
  const auto run = simulate::gradient_norms(row, score_stddevs, options);
  const auto sample = simulate::gradient_norms_sample(row, score_stddevs, options);
  for (std::size_t point = 0; point < score_stddevs.size(); ++point) {
    CAPTURE(score_stddevs[point]);
    CHECK(std::abs(testing::z_of(law(64, score_stddevs[point], 16).imbalance, run.imbalance(point))) <= 5);
    if (point == 0) continue;
    CHECK(run.imbalance(point).mean > run.imbalance(point - 1).mean);
    CHECK(sample.median(point, GradientNorm::ratio) < sample.median(point - 1, GradientNorm::ratio));
  }
  CHECK(sample.median(3, GradientNorm::ratio) < 0.01 * run.imbalance(3).mean);
}

TEST_CASE("gradient norms: the median of deeply frozen rows is the two highest scores'") {
  const std::vector<double> score_stddevs{16, 32, 64};
  for (const std::int64_t tokens : {64, 512}) {
    const double n = static_cast<double>(tokens);
    const auto sample = simulate::gradient_norms_sample({tokens, 16}, score_stddevs, {.seed = seed, .trials = 1 << 15});
    const auto off = [&](std::size_t point) {
      return std::log(laws::frozen_imbalance_quantile(laws::FrozenLayer<double>{n, score_stddevs[point], 16}) /
                      sample.median(point, GradientNorm::ratio));
    };
    CAPTURE(tokens, off(0), off(1), off(2));
    CHECK(std::abs(off(0)) <= 0.3);
    CHECK(std::abs(off(1)) <=
          0.1 + 0.09);  // the sample's own scatter, 1.25 / sqrt(trials) of log R's, is 0.09 and 0.18
    CHECK(std::abs(off(2)) <= 0.02 * std::abs(std::log(sample.median(2, GradientNorm::ratio))) + 0.18);
    // the index of infinitely long rows, and the root mean square
    const double asymptotic = std::sqrt(2 * std::log(n)) / score_stddevs[2];
    CHECK(std::abs(std::log(std::pow(0.5, 1 / asymptotic) / sample.median(2, GradientNorm::ratio))) > 1);
    CHECK(law(n, 64, 16).imbalance > 1e4 * sample.median(2, GradientNorm::ratio));
  }
}

TEST_CASE("gradient norms: trials kept one by one are the run's and the definition's") {
  const GradientRow row{40, 6};
  const simulate::Options options{.seed = seed, .trials = 300};
  const auto run = simulate::gradient_norms(row, {0.5, 20}, options);
  const auto sample = simulate::gradient_norms_sample(row, {0.5, 20}, options);
  REQUIRE(sample.sample.trials == 300);
  REQUIRE(sample.sample.values.size() == 300 * run.run.estimates.size());
  for (std::size_t output = 0; output < run.run.estimates.size(); ++output) {
    double sum = 0;
    for (std::size_t i = 0; i < 300; ++i) sum += sample.sample.sorted(output)[i];
    CHECK(std::abs(sum / 300 / run.run.estimates[output].mean - 1) <= 1e-9);
  }
  for (const std::size_t point : {0u, 1u}) {
    std::vector<double> ratios;
    for (std::uint64_t trial = 0; trial < 300; ++trial) {
      const auto norms = Layer<float>(row, trial).norms(GradientMap::softmax, point == 0 ? 0.5 : 20.0);
      ratios.push_back(std::sqrt(norms[at(GradientNorm::key)] / norms[at(GradientNorm::value)]));
    }
    std::sort(ratios.begin(), ratios.end());
    const double median = (ratios[149] + ratios[150]) / 2;
    CHECK(std::abs(sample.median(point, GradientNorm::ratio) / median - 1) <= 1e-4);
  }
}

TEST_CASE("gradient norms: trials kept wave by wave are the run's") {
  const simulate::Options options{.seed = seed, .trials = 2100};  // rows so long that a wave is one chunk
  const auto run = simulate::gradient_norms({2000, 2}, {1.5}, options);
  const auto sample = simulate::gradient_norms_sample({2000, 2}, {1.5}, options);
  for (std::size_t output = 0; output < run.run.estimates.size(); ++output) {
    double sum = 0;
    for (std::size_t i = 0; i < 2100; ++i) sum += sample.sample.sorted(output)[i];
    CHECK(std::abs(sum / 2100 / run.run.estimates[output].mean - 1) <= 1e-9);
  }
}

TEST_CASE("gradient norms: NormSoftmax is balanced at every scale, softmax is not") {
  const std::vector<double> score_stddevs{0.01, 0.1, 8};
  const simulate::Options options{.seed = seed, .trials = 1 << 13};
  const auto norm = simulate::gradient_norms({64, 32, GradientMap::normsoftmax}, score_stddevs, options);
  const auto soft = simulate::gradient_norms({64, 32}, score_stddevs, options);
  const auto ratio =
      simulate::gradient_norms({64, 32, GradientMap::normsoftmax}, {0.3}, {.seed = seed, .trials = 1 << 15})
          .imbalance(0);
  CHECK(norm.imbalance(0).mean == norm.imbalance(1).mean);
  // softmax at x = 1, apart from the row's own standard deviation and the missing gradient along w: near the law of
  // softmax, but not equal to it.
  CHECK(std::abs(testing::z_of(law(64, 1, 32).imbalance, ratio)) > 5);
  CHECK(std::abs(law(64, 1, 32).imbalance / ratio.mean - 1) <= 0.1);
  CHECK(soft.imbalance(0).mean < 0.02 * ratio.mean);
  for (const auto kind :
       {GradientNorm::key, GradientNorm::value}) {  // wide rows are softmax's own, tau the temperature
    CHECK(norm.at(2, kind).mean == soft.at(2, kind).mean);
  }
}

TEST_CASE("gradient norms: NormSoftmax has its own exact law, whatever the scale") {
  for (const auto& [tokens, dimension] : {std::pair<std::int64_t, std::int64_t>{32, 4}, {64, 32}, {256, 16}}) {
    const auto run = simulate::gradient_norms({tokens, dimension, GradientMap::normsoftmax}, {0.02},
                                              {.seed = seed, .trials = 1 << 15});
    const auto sizes = laws::normsoftmax_gradient_sizes(static_cast<double>(tokens), static_cast<double>(dimension));
    CAPTURE(tokens, dimension);
    CHECK(std::abs(testing::z_of(sizes.mean_token, run.at(0, GradientNorm::value))) <= 5);
    CHECK(std::abs(testing::z_of(sizes.covariance_parallel, run.at(0, GradientNorm::key_parallel))) <= 5);
    CHECK(std::abs(testing::z_of(sizes.covariance_orthogonal, run.at(0, GradientNorm::key_orthogonal))) <= 5);
    CHECK(std::abs(testing::z_of(sizes.covariance_isotropic, run.at(0, GradientNorm::key))) <= 5);
    CHECK(std::abs(testing::z_of(sizes.imbalance, run.imbalance(0))) <= 5);
    CHECK(std::abs(testing::z_of(1.03 * sizes.imbalance, run.imbalance(0))) > 5);
    CHECK(std::abs(testing::z_of(1.08 * sizes.covariance_orthogonal, run.at(0, GradientNorm::key_orthogonal))) > 5);
  }
}

TEST_CASE("gradient norms: devices and threads do not change the bits") {
  const auto run = [](simulate::Device device, int threads) {
    return simulate::gradient_norms({37, 5, GradientMap::normsoftmax}, {0.5, 4},
                                    {.seed = 5, .trials = 2000, .device = device, .threads = threads});
  };
  const auto serial = run(simulate::Device::serial, 1);
  for (const auto device : {simulate::Device::openmp, simulate::Device::tbb, simulate::Device::cuda}) {
    if (!simulate::is_available(device)) continue;
    for (const int threads : {1, 3}) {
      const auto other = run(device, threads);
      REQUIRE(other.run.estimates.size() == 12);
      for (std::size_t i = 0; i < 12; ++i) {
        CHECK(other.run.estimates[i].mean == serial.run.estimates[i].mean);
        CHECK(other.run.estimates[i].standard_error == serial.run.estimates[i].standard_error);
      }
    }
  }
}

TEST_CASE("gradient norms: bad input is refused by name and value", "[bad-input]") {
  const auto message = [](const GradientRow& row, const std::vector<double>& score_stddevs) {
    return testing::message_of([&] { (void)simulate::gradient_norms(row, score_stddevs, {.trials = 2}); });
  };
  CHECK(message({0, 3}, {1}) ==
        "incontext::simulate::gradient_norms: tokens is too small (value = 0; needs at least 1)");
  CHECK(message({1, 3, GradientMap::normsoftmax}, {1}) ==
        "incontext::simulate::gradient_norms: tokens is too small (value = 1; needs at least 2)");
  CHECK(message({3, 0}, {1}) ==
        "incontext::simulate::gradient_norms: dimension is too small (value = 0; needs at least 1)");
  CHECK_THROWS_AS(simulate::gradient_norms({100000, 100000}, {1}, {.trials = 2}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::gradient_norms({3, 3}, {}, {.trials = 2}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::gradient_norms({3, 3}, {1}, {.trials = 0}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::gradient_norms_sample({3, 3}, {1}, {.relative_error = 0.1}), std::invalid_argument);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, inf}) {
    CHECK_THROWS_AS(simulate::gradient_norms({3, 3}, {1, bad}, {.trials = 2}), std::domain_error);
  }
}

}  // namespace gradient_norms_test
