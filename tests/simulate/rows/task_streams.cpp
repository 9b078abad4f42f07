#include "incontext/simulate/rows/task_streams.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include "incontext/laws/fading_grid.hpp"
#include "incontext/laws/gaussian_needle.hpp"
#include "incontext/laws/uniform_needle.hpp"
#include "incontext/training/affine_task.hpp"
#include "incontext/training/quantifier_task.hpp"
#include "incontext/training/reasoning_task.hpp"
#include "laws/sampling.hpp"
#include "support/catch.hpp"

namespace task_streams_test {

// Compares the chances and errors of the drawn tasks with the tasks' closed forms (|z| <= 5, fixed seeds); wrong ones
// are rejected.

namespace {

using namespace incontext;
using testing::SampleMean;

constexpr std::uint64_t seed = 2024;

double sign(double x) { return x > 0 ? 1 : -1; }

/// |z| of a probability, given the number of `hits`.
double z_of(double chance, double hits, double trials) {
  return std::abs(hits - chance * trials) / std::sqrt(chance * (1 - chance) * trials);
}

}  // namespace

TEMPLATE_TEST_CASE("quantifier sequences have the task's chances", "[simulate]", float, double) {
  constexpr int length = 12, trials = 40000;
  const simulate::QuantifierSequences<TestType> task{seed, TestType(3)};
  std::vector<double> every(length), some(length), last(length), largest(length);
  double failed = 0, square = 0;
  std::vector<TestType> x(length);
  std::vector<int> all(length), any(length);
  for (std::uint64_t index = 0; index < trials; ++index) {
    task.draw(index, length, x.data(), all.data(), any.data());
    TestType top = x[0], bottom = x[0];
    for (std::size_t i = 0; i < length; ++i) {
      top = std::max(top, x[i]);
      bottom = std::min(bottom, x[i]);
      REQUIRE(all[i] == (bottom > 0 ? 1 : -1));
      REQUIRE(any[i] == (top > 0 ? 1 : -1));
      every[i] += all[i] == 1;
      some[i] += any[i] == 1;
      last[i] += sign(x[i]) != all[i];
      largest[i] += sign(top) != all[i];
    }
    failed += all[3] == 1;
    square += static_cast<double>(x[5]) * static_cast<double>(x[5]) / trials;
  }
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    const auto exact = training::quantifier_task(static_cast<std::int64_t>(i) + 1);
    CHECK(z_of(exact.every, every[i], trials) <= 5);
    CHECK(z_of(exact.some, some[i], trials) <= 5);
    CHECK(z_of(1.3 * exact.every, every[i], trials) > 5);
    if (i == 0) continue;
    CHECK(z_of(exact.last_sign_error, last[i], trials) <= 5);
    CHECK(z_of(exact.largest_sign_error, largest[i], trials) <= 5);
    CHECK(z_of(exact.last_sign_error, largest[i], trials) > 5);
  }
  CHECK(z_of(training::quantifier_task(length).constant_false_sequence_error, failed, trials) <= 5);
  CHECK(std::abs(square / 9 - 1) <= 5 * std::sqrt(2.0 / trials));
}

TEMPLATE_TEST_CASE("affine sequences have the task's errors", "[simulate]", float, double) {
  const double inputs = 1.5, functions = 2;
  const simulate::AffineSequences<TestType> task{seed, TestType(inputs), TestType(functions)};
  const auto risks = training::affine_risks(training::AffineTask<double>{inputs, functions});
  SampleMean none, one, zero;
  std::vector<TestType> x(40), y(40);
  for (std::uint64_t index = 0; index < 20000; ++index) {
    task.draw(index, 40, x.data(), y.data());
    const double x0 = x[0], y0 = y[0], x1 = x[1], y1 = y[1];
    none.add(y1 * y1);
    one.add(std::pow(y0 * (x1 * x0 + 1) / (x0 * x0 + 1) - y1, 2));
    double sum = 0;
    for (std::size_t k = 2; k < 40; ++k) sum += static_cast<double>(y[k]) * static_cast<double>(y[k]) / 40;
    zero.add(sum);
    const double slope = (y1 - y0) / (x1 - x0);  // two examples fix the function
    if (std::abs(x1 - x0) > 0.1)
      CHECK(std::abs(y0 + slope * (x[2] - x0) - y[2]) <= (sizeof(TestType) == 4 ? 1e-3 : 1e-11));
  }
  CHECK(std::abs(none.z(risks.no_example)) <= 5);
  CHECK(std::abs(one.z(risks.one_example)) <= 5);
  CHECK(std::abs(zero.z(risks.zero_predictor)) <= 5);
  CHECK(std::abs(zero.z(1.1 * risks.zero_predictor)) > 5);
  CHECK(std::abs(one.z(1.15 * risks.one_example)) > 5);
  CHECK(std::abs(none.z(risks.one_example)) > 5);
}

TEST_CASE("a deviant first input: alone it leaves 1, ignoring the context 2", "[simulate]") {
  for (const double deviant : {1.0, 10.0, 100.0}) {
    CAPTURE(deviant);
    const simulate::AffineSequences<double> task{
        .seed = seed, .input_stddev = 1, .function_stddev = 1, .first_input_stddev = deviant};
    SampleMean alone, ignored, spread;
    double x[2], y[2];
    for (std::uint64_t index = 0; index < 40000; ++index) {
      task.draw(index, 2, x, y);
      alone.add(std::pow(y[0] * (x[1] * x[0] + 1) / (x[0] * x[0] + 1) - y[1], 2));
      ignored.add(y[1] * y[1]);
      spread.add(x[0] * x[0] / deviant / deviant);
    }
    CHECK(std::abs(alone.z(1)) <= 5);
    CHECK(std::abs(ignored.z(2)) <= 5);
    CHECK(std::abs(spread.z(1)) <= 5);
    CHECK(std::abs(alone.z(1.15)) > 5);
    CHECK(std::abs(spread.z(1.1)) > 5);
  }
}

TEMPLATE_TEST_CASE("rows with a needle: its weight is the laws', its place anywhere", "[simulate]", float, double) {
  using simulate::ScoreLaw;
  constexpr std::int64_t length = 24;
  constexpr double others = length - 1, beta = 1.7, needle = 2.5;
  const auto [law, location, scale] =
      GENERATE(std::tuple{ScoreLaw::normal, 0.0, 0.8}, std::tuple{ScoreLaw::uniform, -0.5, 2.0},
               std::tuple{ScoreLaw::grid, 0.0, 1.0}, std::tuple{ScoreLaw::normal, 0.25, 0.0});
  CAPTURE(static_cast<int>(law), scale);
  const simulate::NeedleRows<TestType> task{seed, law, TestType(location), TestType(scale), TestType(needle)};
  SampleMean weight;
  std::vector<double> places(length);
  std::vector<TestType> z(length);
  constexpr int trials = 20000;
  for (std::uint64_t index = 0; index < trials; ++index) {
    const auto place = static_cast<std::size_t>(task.draw(index, length, z.data()));
    REQUIRE(z[place] == TestType(needle));
    places[place] += 1;
    double sum = 0;
    for (const TestType score : z) sum += std::exp(beta * (static_cast<double>(score) - needle));
    weight.add(1 / sum);
    if (law == ScoreLaw::uniform) REQUIRE(*std::min_element(z.begin(), z.end()) > TestType(location));
  }
  const double height = beta * (needle - location);
  const double exact = law == ScoreLaw::normal    ? laws::needle_weight(others, beta * scale, height).value
                       : law == ScoreLaw::uniform ? laws::uniform_needle_weight(others, beta * scale, height).value
                                                  : laws::grid_weight(double(length), beta, needle);
  if (law == ScoreLaw::grid || scale == 0) {  // nothing random but the place
    CHECK(std::abs(weight.mean() / exact - 1) < (sizeof(TestType) == 4 ? 1e-6 : 1e-12));
  } else {
    CHECK(std::abs(weight.z(exact)) <= 5);
    CHECK(std::abs(weight.z(1.02 * exact)) > 5);
  }
  for (const double hits : places) CHECK(z_of(1.0 / length, hits, trials) <= 5);
}

TEST_CASE("reasoning inputs have the task's chances", "[simulate]") {
  constexpr double trials = 400000;
  const std::int64_t largest = GENERATE(1, 4, 10);
  CAPTURE(largest);
  const simulate::ReasoningInputs task{seed, largest};
  const auto exact = training::reasoning_task(largest);
  const auto size = static_cast<std::size_t>(largest + 1);
  std::vector<std::vector<double>> counts(4, std::vector<double>(size));
  double differ = 0, always_c = 0, always_d = 0;
  for (std::uint64_t index = 0; index < 400000; ++index) {
    const auto drawn = task.draw(index);
    const std::int64_t values[]{drawn.a, drawn.b, drawn.c, drawn.d};
    for (std::size_t i = 0; i < 4; ++i) counts[i].at(static_cast<std::size_t>(values[i])) += 1;
    const bool odd = drawn.a % 2 != drawn.b % 2;
    REQUIRE(drawn.answer == (odd ? drawn.c : drawn.d));
    differ += odd;
    always_c += drawn.answer == drawn.c;
    always_d += drawn.answer == drawn.d;
  }
  for (const auto& of_one : counts) {
    for (const double count : of_one) CHECK(z_of(1 / static_cast<double>(size), count, trials) <= 5);
  }
  CHECK(z_of(exact.parities_differ, differ, trials) <= 5);
  CHECK(z_of(exact.always_c_accuracy, always_c, trials) <= 5);
  CHECK(z_of(exact.always_d_accuracy, always_d, trials) <= 5);
  CHECK(std::abs((always_c + always_d) / 2 / trials - exact.coin_accuracy) <= 5 * 0.5 / std::sqrt(trials));
  CHECK(z_of(1.02 * exact.parities_differ, differ, trials) > 5);
  if (largest == 10) CHECK(z_of(exact.always_d_accuracy, always_c, trials) > 5);
}

TEST_CASE("an item depends on seed and index alone, and a longer sequence begins with the shorter", "[simulate]") {
  const simulate::AffineSequences<float> task{seed}, other{seed + 1};
  float x[2][9], y[2][9];
  task.draw(7, 4, x[0], y[0]);
  task.draw(7, 9, x[1], y[1]);
  CHECK(std::equal(x[0], x[0] + 4, x[1]));
  CHECK(std::equal(y[0], y[0] + 4, y[1]));
  task.draw(8, 4, x[1], y[1]);
  CHECK(!std::equal(x[0], x[0] + 4, x[1]));
  other.draw(7, 4, x[1], y[1]);
  CHECK(!std::equal(x[0], x[0] + 4, x[1]));
}

}  // namespace task_streams_test
