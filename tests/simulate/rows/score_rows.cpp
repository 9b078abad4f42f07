#include "incontext/simulate/rows/score_rows.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "incontext/laws/fading_grid.hpp"
#include "incontext/laws/fading_thresholds.hpp"
#include "incontext/laws/gaussian_asymptotics.hpp"
#include "incontext/laws/gaussian_maximum.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/gaussian_row.hpp"
#include "incontext/laws/retrieval.hpp"
#include "incontext/laws/uniform_needle.hpp"
#include "incontext/statistics/agreement.hpp"
#include "laws/sampling.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace score_rows_test {

// Compares trials with whole rows in double on the same draws, and means with the exact laws (|z| <= 5, fixed seeds).
// Laws that hold only for infinitely long rows are rejected.

namespace {

using namespace incontext;
using simulate::RowFunctional;
using simulate::RowStream;
using simulate::ScoreLaw;
using simulate::ScoreRow;

constexpr std::uint64_t seed = 77;

/// Number `index` of a stream, in the trial's scalar T.
template <class T>
double drawn(ScoreLaw law, std::uint64_t trial, RowStream stream, std::int64_t index) {
  constexpr int per_block = random::normals_per_block<T>;
  const auto block = static_cast<std::uint32_t>(index / per_block);
  const auto within = static_cast<std::size_t>(index % per_block);
  if (law == ScoreLaw::normal) {
    T normal[per_block][1];
    random::normals(random::LaneStream<1>({seed, trial}, stream), block, normal);
    return static_cast<double>(normal[within][0]);
  }
  std::uint32_t words[4];
  random::philox(seed, {trial, block, static_cast<std::uint32_t>(stream)}, words);
  if (sizeof(T) == 4) return static_cast<double>(random::uniform_open(words[within]));
  return random::uniform_open(words[2 * within], words[2 * within + 1]);
}

/// The definition, computed from the whole row in memory.
template <class T>
std::vector<double> whole_row(const ScoreRow& row, double beta, std::uint64_t trial) {
  std::vector<double> z;
  for (std::int64_t j = 0; j < row.competitors; ++j) {
    const double g = row.law == ScoreLaw::grid
                         ? static_cast<double>(j) / std::max<double>(1, static_cast<double>(row.competitors - 1))
                         : drawn<T>(row.law, trial, RowStream::scores, j);
    z.push_back(row.location + row.scale * g);
  }
  if (row.needle_token == simulate::NeedleToken::present) {
    z.push_back(row.needle + row.needle_stddev * drawn<T>(ScoreLaw::normal, trial, RowStream::needle, 0));
  }
  const testing::SampledRow sampled(z, beta);
  double entropy = 0, largest = 0;
  for (const double a : sampled.weights) {
    entropy -= a > 0 ? a * std::log(a) : 0;
    largest = std::max(largest, a);
  }
  const double second = sampled.sum_of_powers(2);
  std::vector<double> values{second,  sampled.sum_of_powers(3), second * second, largest,
                             entropy, sampled.log_partition};
  if (row.needle_token == simulate::NeedleToken::present) values.push_back(sampled.weights.back());
  return values;
}

/// The largest deviation of 128 trials from the definition, relative to 1 + the value's size.
template <class T, int W>
double largest_deviation(const ScoreRow& row) {
  const std::vector<double> betas{0.25, 2, 24};
  const std::vector<T> grid(betas.begin(), betas.end());
  const simulate::ScoreRowTrial<T> trial{row.law,
                                         row.competitors,
                                         static_cast<T>(row.location),
                                         static_cast<T>(row.scale),
                                         row.needle_token,
                                         static_cast<T>(row.needle),
                                         static_cast<T>(row.needle_stddev),
                                         grid.data(),
                                         static_cast<int>(grid.size())};
  static_assert(simulate::Trial<simulate::ScoreRowTrial<T>>);
  std::vector<T> scratch(static_cast<std::size_t>(trial.scratch_rows() * W));
  std::vector<T> values(static_cast<std::size_t>(trial.outputs() * W));
  double largest = 0;
  for (std::uint64_t first = 0; first < 128; first += W) {
    trial.template run<W>({seed, first}, {scratch.data(), W}, {values.data(), W});
    for (std::size_t lane = 0; lane < W; ++lane) {
      std::size_t output = 0;
      for (const double beta : betas) {
        for (const double expected : whole_row<T>(row, beta, first + lane)) {
          const double value = static_cast<double>(values[output++ * W + lane]);
          const double off = std::abs(value - expected) / (1 + std::abs(expected));
          largest = off <= largest ? largest : off;
        }
      }
    }
  }
  return largest;
}

std::vector<ScoreRow> rows_of(std::int64_t count) {
  return {simulate::normal_scores(count, 0.5), simulate::normal_scores(count, 0.5).with_needle(1.5, 0.25),
          simulate::uniform_scores(count, -1, 2), simulate::uniform_scores(count, 0.5, 1.5).with_needle(1),
          simulate::grid_scores(count, 0, 1).with_needle(1.125)};
}

/// The z of a Gaussian row's functionals at one x.
std::array<double, 6> z_of_row(double count, double score_stddev, const simulate::ScoreRowSimulation& run,
                               std::size_t point) {
  const auto exact = laws::gaussian_row(count, score_stddev);
  return {testing::z_of(exact.ipr, run.at(point, RowFunctional::ipr)),
          testing::z_of(exact.cubed_weights, run.at(point, RowFunctional::cubed_weights)),
          testing::z_of(exact.squared_ipr, run.at(point, RowFunctional::squared_ipr)),
          testing::z_of(laws::largest_weight(count, score_stddev).value, run.at(point, RowFunctional::largest_weight)),
          testing::z_of(exact.entropy, run.at(point, RowFunctional::entropy)),
          testing::z_of(exact.log_partition, run.at(point, RowFunctional::log_partition))};
}

statistics::Estimate needle_weight_of(const ScoreRow& row, double beta, std::int64_t trials) {
  return simulate::score_rows(row, {beta}, {.seed = seed, .trials = trials}).at(0, RowFunctional::needle_weight);
}

}  // namespace

TEST_CASE("score rows: every trial is the whole row in double, whatever the lanes") {
  for (const std::int64_t count : {1, 2, 15, 16, 17, 300}) {
    for (const ScoreRow& row : rows_of(count)) {
      CAPTURE(count, static_cast<int>(row.law), static_cast<int>(row.needle_token));
      CHECK(largest_deviation<double, 1>(row) <= 1e-13);
      CHECK(largest_deviation<double, 64>(row) <= 1e-13);
      CHECK(largest_deviation<float, 1>(row) <= 5e-6);
      CHECK(largest_deviation<float, 64>(row) <= 5e-6);
    }
  }
}

TEST_CASE("score rows: segments of 4096 scores merge to the whole row in double") {
  for (const std::int64_t count : {4095, 4096, 4097, 3 * 4096 + 1, 6 * 4096 + 5}) {
    for (const ScoreRow& row : rows_of(count)) {
      CAPTURE(count, static_cast<int>(row.law), static_cast<int>(row.needle_token));
      CHECK(largest_deviation<double, 64>(row) <= 1e-13);
      CHECK(largest_deviation<float, 64>(row) <= 5e-6);
    }
  }
  CHECK(largest_deviation<double, 1>(rows_of(4 * 4096 + 17)[1]) <= 1e-13);
}

TEST_CASE("score rows: single precision adds no bias to a long row") {
  const ScoreRow row = simulate::normal_scores(20000, 1);
  const std::vector<double> betas{0.5, 2, 5};
  const simulate::Options options{.seed = seed, .trials = 64};
  const auto single = simulate::score_rows<float>(row, betas, options);
  double sums[3][6] = {};
  for (std::uint64_t trial = 0; trial < 64; ++trial) {
    for (std::size_t point = 0; point < 3; ++point) {
      const auto values = whole_row<float>(row, betas[point], trial);
      for (std::size_t k = 0; k < 6; ++k) sums[point][k] += values[k] / 64;
    }
  }
  for (std::size_t point = 0; point < 3; ++point) {
    for (std::size_t k = 0; k < 6; ++k) {
      CAPTURE(point, k);
      CHECK(std::abs(single.at(point, static_cast<RowFunctional>(k)).mean / sums[point][k] - 1) <= 1e-5);
    }
  }
}

TEST_CASE("score rows: an estimate's rounding bounds its error in single precision, at every standard deviation") {
  constexpr std::int64_t trials = 64;
  testing::Worst largest_share;
  for (const ScoreRow& row : {simulate::normal_scores(100, 1), simulate::normal_scores(3000, 1),
                              simulate::normal_scores(100, 1).with_needle(20), simulate::uniform_scores(50, 7, 8),
                              simulate::grid_scores(200, -1, 1).with_needle(1.5)}) {
    const std::vector<double> betas{1e-3, 1, 16, 1e4, 1e8};
    const auto single = simulate::score_rows<float>(row, betas, {.seed = seed, .trials = trials});
    for (std::size_t point = 0; point < betas.size(); ++point) {
      std::vector<double> exact(static_cast<std::size_t>(single.functionals), 0.0);
      for (std::uint64_t trial = 0; trial < trials; ++trial) {
        const auto values = whole_row<float>(row, betas[point], trial);
        for (std::size_t k = 0; k < exact.size(); ++k) exact[k] += values[k] / trials;
      }
      for (std::size_t k = 0; k < exact.size(); ++k) {
        const auto& estimate = single.at(point, static_cast<RowFunctional>(k));
        CAPTURE(betas[point], row.competitors, static_cast<int>(row.needle_token), k, estimate.mean, estimate.rounding);
        CHECK(std::abs(estimate.mean - exact[k]) <= estimate.rounding);
        largest_share.add(std::abs(estimate.mean - exact[k]) / estimate.rounding, "point ", point, ", k ", k);
      }
    }
  }
  CHECK(largest_share > 0.02);
}

TEST_CASE("score rows: a needle with nearly all the weight is not judged, and a wrong theory of it is rejected") {
  const ScoreRow row = simulate::normal_scores(99, 1).with_needle(20);
  const double beta = 0.43 * std::log(100.0);
  const auto estimate =
      simulate::score_rows<double>(row, {beta}, {.seed = seed, .trials = 4096}).at(0, RowFunctional::needle_weight);
  const double weight = laws::needle_weight(99.0, beta, 20 * beta).value;
  CHECK(estimate.standard_error < 1e-15);
  CHECK(estimate.rounding < 1e-13);
  CHECK(statistics::agree(weight, estimate).verdict(4) == statistics::Verdict::not_judged);
  CHECK(statistics::agree(weight - 1e-10, estimate).verdict(4) == statistics::Verdict::disagrees);
}

TEST_CASE("score rows: numbers outside the range of the scalar are refused by name, value and range") {
  const auto message = [](const ScoreRow& row, double beta) {
    return testing::message_of([&] { simulate::score_rows<float>(row, {beta}, {.trials = 2}); });
  };
  const ScoreRow row = simulate::normal_scores(9, 1);
  CHECK(testing::names(message(row, 1e60), "inverse_temperature", "value = 9.99999999999999"));
  CHECK(testing::names(message(row, 1e-60), "needs single-precision numbers, from 1.2e-38 to 3.4e+38 in size"));
  CHECK(testing::names(message(simulate::normal_scores(9, 1e100), 1), "scale is outside"));
  CHECK(testing::names(message(row.with_needle(-1e40), 1), "needle", "value = -1e+40;"));
  CHECK_NOTHROW(simulate::score_rows<double>(row, {1e60}, {.trials = 2}));
}

TEST_CASE("score rows: Gaussian rows agree with the exact law in every functional, and only with it") {
  const auto [count, trials] =
      GENERATE(std::pair<double, std::int64_t>{2, 1 << 18}, std::pair<double, std::int64_t>{50, 1 << 16},
               std::pair<double, std::int64_t>{2000, 1 << 14});
  const double critical = laws::critical_score_stddev(count);
  const std::vector<double> thetas{0.3, 1.0, 2.0};
  std::vector<double> betas;
  for (const double theta : thetas) betas.push_back(theta * critical / 1.5);
  const auto run = simulate::score_rows(simulate::normal_scores(static_cast<std::int64_t>(count), 2.25), betas,
                                        {.seed = seed, .trials = trials});
  for (std::size_t point = 0; point < betas.size(); ++point) {
    CAPTURE(count, thetas[point]);
    for (const double z : z_of_row(count, 1.5 * betas[point], run, point)) CHECK(std::abs(z) <= 5);
    // Power: four percent of x, and the standard deviation forgotten.
    for (const double z : z_of_row(count, 1.5 * 1.04 * betas[point], run, point)) CHECK(std::abs(z) > 5);
    for (const double z : z_of_row(count, betas[point], run, point)) CHECK(std::abs(z) > 5);
  }
}

TEST_CASE("score rows: a needle among normal scores has the exact weight, fixed or random") {
  const double count = 400, beta = 2.2;
  for (const double needle : {1.5, 3.0, 5.0}) {
    CAPTURE(needle);
    const auto row = simulate::normal_scores(400, 1.44);
    const auto fixed = needle_weight_of(row.with_needle(needle), beta, 1 << 15);
    const auto random = needle_weight_of(row.with_needle(needle, 0.7), beta, 1 << 15);
    const double score_stddev = 1.2 * beta, exponent = beta * needle;
    CHECK(std::abs(testing::z_of(laws::needle_weight(count, score_stddev, exponent).value, fixed)) <= 5);
    CHECK(std::abs(testing::z_of(
              laws::random_needle_weight(laws::RandomNeedle<double>{count, score_stddev, exponent, 0.7 * beta}).value,
              random)) <= 5);
    // Power: the other kind of needle, a twentieth more noise, and the bound that ignores the noise's fluctuations.
    CHECK(std::abs(testing::z_of(laws::needle_weight(count, score_stddev, exponent).value, random)) > 5);
    CHECK(std::abs(testing::z_of(laws::needle_weight(1.05 * count, score_stddev, exponent).value, fixed)) > 5);
    CHECK(std::abs(testing::z_of(laws::needle_weight_annealed(count, score_stddev, exponent), fixed)) > 5);
  }
}

TEST_CASE("score rows: a needle has its exact weight among uniform scores and on the grid") {
  const std::int64_t competitors = 999;
  const double beta = 0.43 * std::log(1000.0);
  for (const double needle : {1.0, 2.5, 3.2}) {
    CAPTURE(needle);
    const double exact = laws::uniform_needle_weight(999.0, beta, beta * needle).value;
    const auto uniform =
        needle_weight_of(simulate::uniform_scores(competitors, 0, 1).with_needle(needle), beta, 1 << 14);
    CHECK(std::abs(testing::z_of(exact, uniform)) <= 5);
    CHECK(std::abs(testing::z_of(laws::uniform_needle_weight(1009.0, beta, beta * needle).value, uniform)) > 5);
    const ScoreRow grid = simulate::grid_scores(competitors, 0, 1);
    const auto on_grid = simulate::score_rows<double>(grid.with_needle(needle), {beta}, {.trials = 2});
    const double on_grid_exact = laws::grid_weight(1000.0, beta, needle);
    CHECK(std::abs(on_grid.at(0, RowFunctional::needle_weight).mean / on_grid_exact - 1) <= 1e-12);
    // A needle of random height: its weight is a logistic function of the height.
    const double log_sum = laws::grid_log_sum(1000.0, beta);
    const auto weight = [&](double stddev) {
      return testing::normal_mean([&](double g) { return testing::logistic(beta * (needle + stddev * g) - log_sum); });
    };
    const auto random = needle_weight_of(grid.with_needle(needle, 0.5), beta, 1 << 14);
    CHECK(std::abs(testing::z_of(weight(0.5), random)) <= 5);
    CHECK(std::abs(testing::z_of(weight(0.0), random)) > 5);
  }
}

TEST_CASE("score rows: e^(x^2)/n is not the inverse participation ratio near and above freezing") {
  const double count = 1000, critical = laws::critical_score_stddev(count);
  const std::vector<double> score_stddevs{0.2 * critical, 0.7 * critical, critical, 1.3 * critical};
  const auto run =
      simulate::score_rows(simulate::normal_scores(1000, 1), score_stddevs, {.seed = seed, .trials = 1 << 14});
  for (std::size_t point = 0; point < score_stddevs.size(); ++point) {
    CAPTURE(score_stddevs[point]);
    const auto& measured = run.at(point, RowFunctional::ipr);
    const double limit = laws::annealed_ipr(count, score_stddevs[point]);
    CHECK(std::abs(testing::z_of(laws::gaussian_row(count, score_stddevs[point]).ipr, measured)) <= 5);
    CHECK(testing::z_of(limit, measured) < -5);
    if (point == 0) CHECK(std::abs(limit / measured.mean - 1) <= 0.01);  // inside its regime it is near, at finite n
    if (point > 1) CHECK(limit > 1);
  }
}

TEST_CASE("score rows: a gap of 1/s is not where SSMax retrieves from normal competitors") {
  const double s = 0.43, gap = laws::ssmax_critical_gap(s);
  for (const std::int64_t n : {100, 1000, 10000}) {
    CAPTURE(n);
    const double beta = s * std::log(static_cast<double>(n)), others = static_cast<double>(n - 1);
    const auto row = simulate::normal_scores(n - 1, 1);
    const auto at_gap = needle_weight_of(row.with_needle(gap), beta, 1 << 11);
    CHECK(testing::z_of(0.5, at_gap) < -5);
    const double exact = laws::retrieval_gap(others, beta) / beta;
    CHECK(std::abs(testing::z_of(0.5, needle_weight_of(row.with_needle(exact), beta, 1 << 11))) <= 5);
  }
}

TEST_CASE("score rows: at n = 1000 SSMax retrieves from scores on [0, 1] well before 1 + 1/s") {
  const double s = 0.43, beta = s * std::log(1000.0), limit = 1 + laws::ssmax_critical_gap(s);
  const auto uniform = simulate::uniform_scores(999, 0, 1);
  const auto at_limit = needle_weight_of(uniform.with_needle(limit), beta, 1 << 12);
  CHECK(testing::z_of(0.5, at_limit) > 5);
  CHECK(at_limit.mean > 0.7);
  const double lagged = laws::ssmax_bounded_threshold(1000, s, laws::BoundedScores<double>{1});
  CHECK(std::abs(needle_weight_of(uniform.with_needle(lagged), beta, 1 << 12).mean - 0.5) <= 0.02);
}

TEST_CASE("score rows: trials kept one by one are the run's, and say how many carry the mean") {
  const ScoreRow row = simulate::normal_scores(200, 1);
  const std::vector<double> betas{0.5, 2.0};
  const simulate::Options options{.seed = seed, .trials = 1500};
  const auto run = simulate::score_rows(row, betas, options);
  const auto sample = simulate::score_row_sample(row, betas, options);
  for (std::size_t point = 0; point < betas.size(); ++point) {
    for (std::size_t k = 0; k < 6; ++k) {
      const auto functional = static_cast<RowFunctional>(k);
      const double* values = sample.sorted(point, functional);
      double sum = 0, squares = 0;
      std::int64_t below = 0;
      for (std::int64_t i = 0; i < sample.sample.trials; ++i) {
        sum += values[i];
        squares += values[i] * values[i];
        if (values[i] <= sample.median(point, functional)) ++below;
      }
      const auto& estimate = run.at(point, functional);
      CHECK(std::abs(sum / 1500 / estimate.mean - 1) <= 1e-9);
      const double effective = simulate::effective_trials(estimate);
      CHECK(std::abs(effective / (sum * sum / squares) - 1) <= 1e-9);
      CHECK(below == 750);
      const double share = sample.largest_share(point, functional);
      CHECK(std::abs(share * sum / values[sample.sample.trials - 1] - 1) <= 1e-9);
      CHECK(1 / effective <= share * (1 + 1e-9));
      CHECK(share * share * effective <= 1 + 1e-9);
    }
  }
}

TEST_CASE("score rows: where rare rows carry the mean, few trials count and the median is far below") {
  // Far below retrieval a weight is e^(beta m) / Z: log-normal for a needle of normal height.
  const auto heavy = simulate::normal_scores(1000, 0.01).with_needle(-8, 4);
  const auto plain = simulate::normal_scores(1000, 0.01).with_needle(-8, 0.1);
  const simulate::Options options{.seed = seed, .trials = 4096};
  const auto weight = RowFunctional::needle_weight;
  const auto rare = simulate::score_rows(heavy, {1.0}, options), common = simulate::score_rows(plain, {1.0}, options);
  CHECK(simulate::effective_trials(rare.at(0, weight)) < 50);
  CHECK(simulate::effective_trials(common.at(0, weight)) > 4000);
  const auto sample = simulate::score_row_sample(heavy, {1.0}, options);
  CHECK(sample.largest_share(0, weight) > 0.02);
  CHECK(sample.median(0, weight) < 0.01 * rare.at(0, weight).mean);
}

TEST_CASE("score rows: devices and threads do not change the bits") {
  const auto run = [](simulate::Device device, int threads) {
    return simulate::score_rows(simulate::uniform_scores(37, 0, 1).with_needle(2, 1), {1.0, 8.0},
                                {.seed = 5, .trials = 2000, .device = device, .threads = threads});
  };
  const auto serial = run(simulate::Device::serial, 1);
  for (const auto device : {simulate::Device::openmp, simulate::Device::tbb, simulate::Device::cuda}) {
    if (!simulate::is_available(device)) continue;
    for (const int threads : {1, 3}) {
      const auto other = run(device, threads);
      REQUIRE(other.run.estimates.size() == 14);
      for (std::size_t i = 0; i < 14; ++i) {
        CHECK(other.run.estimates[i].mean == serial.run.estimates[i].mean);
        CHECK(other.run.estimates[i].standard_error == serial.run.estimates[i].standard_error);
      }
    }
  }
}

TEST_CASE("score rows: bad input is refused by name and value", "[bad-input]") {
  const auto message = [](const ScoreRow& row, const std::vector<double>& betas) {
    return testing::message_of([&] { (void)simulate::score_rows(row, betas, {.trials = 2}); });
  };
  const ScoreRow good = simulate::normal_scores(3, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(message(simulate::normal_scores(0, 1), {1}) ==
        "incontext::simulate::score_rows: competitors is too small (value = 0; needs at least 1)");
  CHECK(message(simulate::normal_scores(5000000000, 1), {1}) ==
        "incontext::simulate::score_rows: competitors are too many (value = 5000000000; needs at most 4e9)");
  CHECK_THROWS_AS(simulate::normal_scores(3, -1), std::domain_error);
  for (const double bad : {0.0, -1.0, nan, inf}) {
    CHECK_THROWS_AS(simulate::score_rows(good, {1, bad}, {.trials = 2}), std::domain_error);
  }
  CHECK_THROWS_AS(simulate::score_rows(good, {}, {.trials = 2}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::score_rows(good.with_needle(nan), {1}, {.trials = 2}), std::domain_error);
  CHECK_THROWS_AS(simulate::score_rows(good.with_needle(1, -1), {1}, {.trials = 2}), std::domain_error);
  CHECK_THROWS_AS(simulate::score_rows(simulate::uniform_scores(3, 1, 0), {1}, {.trials = 2}), std::domain_error);
  CHECK_THROWS_AS(simulate::score_rows(good, {1}, {.trials = 0}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::score_row_sample(good, {1}, {.relative_error = 0.1}), std::invalid_argument);
}

}  // namespace score_rows_test
