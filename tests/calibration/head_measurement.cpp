#include "incontext/calibration/head_measurement.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "calibration/heads.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::calibration;
using incontext::testing::head_of;
using incontext::testing::normal_head;
using incontext::testing::refuses;

namespace {

constexpr std::int64_t layers = 2, heads = 3, queries = 24, keys = 24;

bool same_bits(const std::vector<HeadMeasurement>& a, const std::vector<HeadMeasurement>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].layer != b[i].layer || a[i].head != b[i].head || a[i].buckets.size() != b[i].buckets.size()) return false;
    for (std::size_t j = 0; j < a[i].buckets.size(); ++j) {
      if (a[i].buckets[j].full.batches() != b[i].buckets[j].full.batches()) return false;
      if (a[i].buckets[j].quarter.batches() != b[i].buckets[j].quarter.batches()) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("every order of an array, byte order and number of threads gives the same bits", "[calibration]") {
  std::mt19937_64 generator(11);
  std::normal_distribution<float> normal;
  std::vector<float> c(layers * heads * queries * keys), f(c.size()), swapped(c.size());
  for (float& value : c) value = normal(generator);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.size()); ++i) {
    const std::int64_t k = i % keys, q = i / keys % queries, h = i / keys / queries % heads,
                       l = i / keys / queries / heads;
    f[static_cast<std::size_t>(((k * queries + q) * heads + h) * layers + l)] = c[static_cast<std::size_t>(i)];
    swapped[static_cast<std::size_t>(i)] =
        std::bit_cast<float>(__builtin_bswap32(std::bit_cast<std::uint32_t>(c[static_cast<std::size_t>(i)])));
  }
  const std::vector<std::int64_t> shape{layers, heads, queries, keys};
  const auto measured = [&](const std::vector<float>& data, bool fortran, bool other_order, int threads) {
    return measure_heads(dense_scores(data.data(), NumberType::float32, shape, fortran, other_order),
                         {.causal = true, .threads = threads});
  };
  const auto expected = measured(c, false, false, 1);
  REQUIRE(expected.size() == 6);
  CHECK(expected[4].layer == 1);
  CHECK(expected[4].head == 1);
  CHECK(expected[4].single_key_rows == 1);
  CHECK(expected[4].buckets.back().longest == 24);
  CHECK(same_bits(expected, measured(c, false, false, 5)));
  CHECK(same_bits(expected, measured(f, true, false, 2)));
  CHECK(same_bits(expected, measured(swapped, false, true, 2)));
  CHECK_FALSE(same_bits(expected, measured(f, false, false, 2)));
  // one head of two dimensions, in Fortran order
  std::vector<float> matrix(queries * keys);
  for (std::int64_t q = 0; q < queries; ++q) {
    for (std::int64_t k = 0; k < keys; ++k) {
      matrix[static_cast<std::size_t>(k * queries + q)] = c[static_cast<std::size_t>(q * keys + k)];
    }
  }
  const auto one =
      measure_heads(dense_scores(matrix.data(), NumberType::float32, std::vector<std::int64_t>{queries, keys}, true),
                    {.causal = true});
  CHECK(same_bits({expected[0]}, one));
}

TEST_CASE("a causal mask in the scores is the same as the option", "[calibration]") {
  const auto all = normal_head(40, 40, 1.5, 2);
  for (const double mask : {-std::numeric_limits<double>::infinity(), -1e9}) {
    const auto masked = head_of(40, 40, [&](std::int64_t q, std::int64_t k) {
      return k <= q ? all.scores[static_cast<std::size_t>(q * 40 + k)] : mask;
    });
    CHECK(same_bits({all.measured({.causal = true})}, {masked.measured()}));
  }
}

TEST_CASE("weights that do not sum to 1 are told from scores", "[calibration]") {
  const auto scores = normal_head(64, 32, 1.5, 6);
  const auto weights_with = [&](double sink, const auto& change) {
    auto head = scores;
    for (std::size_t q = 0; q < 64; ++q) {
      double sum = sink;
      for (std::size_t k = 0; k < 32; ++k) sum += head.scores[32 * q + k] = std::exp(head.scores[32 * q + k]);
      for (std::size_t k = 0; k < 32; ++k) head.scores[32 * q + k] = change(head.scores[32 * q + k] / sum);
    }
    return head;
  };
  const auto same = [](double weight) { return weight; };
  std::mt19937_64 generator(7);
  std::bernoulli_distribution kept(0.9);
  const auto dropped = [&](double weight) { return kept(generator) ? weight / 0.9 : 0; };
  CHECK(weights_with(9, same).measured().looks_like_weights);
  CHECK(weights_with(0, dropped).measured().looks_like_weights);
  auto square = weights_with(0, same);
  square.queries = square.keys;
  square.scores.resize(32 * 32);
  CHECK(square.measured({.causal = true}).looks_like_weights);
  // one weight of nearly 1 per row, so that dropout makes it more than 1
  auto sharp = weights_with(0, same);
  for (std::size_t i = 0; i < sharp.scores.size(); ++i) sharp.scores[i] = i % 32 == 3 ? dropped(0.969) : 0.001;
  CHECK(*std::max_element(sharp.scores.begin(), sharp.scores.end()) > 1);
  CHECK(sharp.measured().looks_like_weights);

  CHECK_FALSE(scores.measured().looks_like_weights);
  CHECK_FALSE(weights_with(9, [](double weight) { return weight - 0.01; }).measured().looks_like_weights);
  CHECK_FALSE(weights_with(9, [](double weight) { return 20 * weight; }).measured().looks_like_weights);
  const auto zeros = incontext::testing::head_of(8, 8, [](std::int64_t, std::int64_t) { return 0.0; });
  CHECK_FALSE(zeros.measured().looks_like_weights);
}

TEST_CASE("scores that cannot be measured are refused with their place", "[calibration]") {
  const auto refused = [](const auto& change, const MeasurementOptions& options,
                          std::initializer_list<std::string_view> parts) {
    auto head = normal_head(8, 6, 1, 5);
    change(head.scores);
    return refuses([&] { head.measured(options); }, parts);
  };
  using Scores = std::vector<double>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK(refused([](Scores& z) { z[6 * 3 + 2] = NAN; }, {}, {"layer 0, head 0, query 3", "not a number"}));
  CHECK(refused([](Scores& z) { z[6 * 4] = inf; }, {}, {"query 4", "infinite", "-inf for a masked key"}));
  CHECK(refused([](Scores& z) { z[6 * 2 + 1] = 2e10; }, {}, {"query 2", "a score is too large", "value = 2", "1e10"}));
  CHECK(refused([](Scores& z) { z[7] = -3000, z[8] = -6000; }, {}, {"query 1", "value = -6000", "-inf"}));
  CHECK(refused([](Scores& z) { std::fill(z.begin() + 12, z.begin() + 18, -inf); }, {},
                {"query 2", "every key is masked"}));
  CHECK(refused([](Scores& z) { std::fill(z.begin(), z.end(), -inf); }, {.masked_rows = MaskedRows::left_out},
                {"no row has two visible keys"}));
  CHECK(refused(
      [](Scores& z) {
        for (std::size_t q = 0; q < 8; ++q) {
          double sum = 0;
          for (std::size_t k = 0; k < 6; ++k) sum += z[6 * q + k] = std::exp(z[6 * q + k]);
          for (std::size_t k = 0; k < 6; ++k) z[6 * q + k] /= sum;
        }
      },
      {}, {"weights after softmax", "every row sums to 1"}));
  auto padded = normal_head(8, 6, 1, 5);
  std::fill(padded.scores.begin() + 12, padded.scores.begin() + 18, -inf);
  CHECK(padded.measured({.masked_rows = MaskedRows::left_out}).masked_rows == 1);
  const auto wide = normal_head(8, 6, 1, 5);
  CHECK(refuses<std::invalid_argument>([&] { wide.measured({.causal = true}); }, {"causal", "at least 8"}));
  const auto narrow = normal_head(8, 1, 1, 5);
  CHECK(refuses<std::invalid_argument>([&] { narrow.measured(); }, {"number of keys", "value = 1"}));
}

TEST_CASE("the errors of several prompts are those between prompts", "[calibration]") {
  // each prompt has a standard deviation of its own, which its rows share
  constexpr std::int64_t rows = 32, row_length = 32;
  constexpr int prompts = 12, trials = 200;
  std::mt19937_64 generator(31);
  std::lognormal_distribution<double> prompt_stddev(0, 0.3);
  double squares = 0, squares_by_rows = 0;
  const double truth = std::exp(2 * 0.3 * 0.3);  // E sd^2
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<incontext::testing::Head> several;
    for (int p = 0; p < prompts; ++p) {
      several.push_back(normal_head(rows, row_length, prompt_stddev(generator), generator()));
    }
    std::vector<ScoreArray> arrays;
    std::vector<double> together;
    for (const auto& one : several) {
      arrays.push_back(one.array());
      together.insert(together.end(), one.scores.begin(), one.scores.end());
    }
    const auto bucket = measure_heads(arrays).front().buckets.back();
    REQUIRE(bucket.full.batches().size() == prompts);
    CHECK(bucket.rows == prompts * rows);
    CHECK(bucket.prompts == prompts);
    const auto by_prompts = bucket.full.estimate(RowStatistic::variance);
    const auto by_rows =
        incontext::testing::Head{prompts * rows, row_length, together}.measured().buckets.back().full.estimate(
            RowStatistic::variance);
    CHECK(by_prompts.mean == Approx(by_rows.mean).epsilon(1e-12));
    squares += std::pow((by_prompts.mean - truth) / by_prompts.standard_error, 2) / trials;
    squares_by_rows += std::pow((by_rows.mean - truth) / by_rows.standard_error, 2) / trials;
  }
  CAPTURE(squares, squares_by_rows);
  // 1.22 for Student's law of 11 degrees of freedom; a variance of skewed prompts is underestimated somewhat
  CHECK(squares > 0.8);
  CHECK(squares < 2.5);
  CHECK(squares_by_rows > 1.5 * squares);  // batches of successive rows divide the rows of a prompt
}

TEST_CASE("prompts may differ in length, and not in layers or heads", "[calibration]") {
  std::vector<incontext::testing::Head> several;
  for (const std::int64_t length : {20, 40, 30, 64, 9}) {
    several.push_back(normal_head(length, length, 1, 40 + static_cast<std::uint64_t>(length)));
  }
  std::vector<ScoreArray> arrays;
  for (const auto& one : several) arrays.push_back(one.array());
  const auto found = measure_heads(arrays, {.causal = true}).front();
  CHECK(found.prompts == 5);
  CHECK(found.single_key_rows == 5);
  REQUIRE(found.buckets.size() == 6);
  CHECK(found.buckets[4].longest == 32);
  CHECK(found.buckets[4].prompts == 4);
  CHECK(found.buckets[4].full.batches().size() == 4);
  // a batch is the mean over the rows of its prompt
  std::vector<double> row(17), scratch(17);
  double mean = 0;
  for (std::size_t length = 17; length <= 20; ++length) {
    row.assign(several[0].scores.begin() + static_cast<std::ptrdiff_t>(20 * (length - 1)),
               several[0].scores.begin() + static_cast<std::ptrdiff_t>(20 * (length - 1) + length));
    scratch.resize(length);
    mean += row_statistics(row, scratch)[RowStatistic::entropy] / 4;
  }
  CHECK(found.buckets[4].full.batches()[0][RowStatistic::entropy] == Approx(mean).epsilon(1e-13));
  arrays[1].shape[0] = 2;
  CHECK(refuses<std::invalid_argument>([&] { measure_heads(arrays); }, {"layers x heads", "value = 2 x 1", "1 x 1"}));
  arrays[1].shape[0] = 1;
  several[3].scores[70] = NAN;
  CHECK(refuses<std::domain_error>([&] { measure_heads(arrays); }, {"prompt 3, query 1", "not a number"}));
  CHECK(refuses<std::invalid_argument>([] { measure_heads(std::span<const ScoreArray>()); }, {"number of prompts"}));
}
