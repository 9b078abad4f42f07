#include "incontext/calibration/named_rules.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "incontext/calibration/temperature_rules.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/summary.hpp"
#include "laws/refusal.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace calibration;

namespace {

/// How often a length of `step` keys has been completed by the first `count` keys, counted one by one.
std::int64_t completed(std::int64_t count, std::int64_t step) {
  std::int64_t times = 0, open = 0;
  for (std::int64_t key = 0; key < count; ++key) {
    if (++open == step) {
      open = 0;
      ++times;
    }
  }
  return times;
}

}  // namespace

TEST_CASE("the rules in steps change where the counted keys say, and a rule off by one key does not", "[calibration]") {
  for (const std::int64_t step : {1, 12, 100}) {
    bool llama_is_mistral = true;
    for (std::int64_t n = 1; n <= 5 * step + 2; ++n) {
      CAPTURE(step, n);
      double llama = 1, mistral = 1;  // log(1 + k) as a sum of log((j + 1) / j)
      for (std::int64_t j = 1; j <= completed(n, step); ++j) llama += 0.3 * std::log1p(1 / static_cast<double>(j));
      for (std::int64_t j = 1; j <= completed(n - 1, step); ++j)
        mistral += 0.3 * std::log1p(1 / static_cast<double>(j));
      CHECK(relative(llama4_inverse_temperature(n, step, 0.3), llama) < 1e-14);
      CHECK(relative(mistral_inverse_temperature(n, step, 0.3), mistral) < 1e-14);
      llama_is_mistral = llama_is_mistral && relative(llama4_inverse_temperature(n, step, 0.3), mistral) < 1e-14;
    }
    CHECK_FALSE(llama_is_mistral);
  }
}

TEST_CASE("a rule on one side multiplies the scores once, a rule on both sides twice", "[calibration]") {
  // LongRoPE: s L keys are L^beta, so that beta logarithms of L are one of s L
  for (const double factor : {1.25, 4.0, 32.0}) {
    const double beta = longrope_inverse_temperature(factor, 4096);
    CHECK(relative(std::pow(4096, beta), factor * 4096) < 1e-13);
    CHECK(relative(qwen_inverse_temperature<double>(factor * 4096, 4096), beta) < 1e-14);
    CHECK_FALSE(relative(std::pow(4096, std::sqrt(beta)), factor * 4096) < 1e-13);
  }
  // YaRN: its factor on the queries and the keys of one product, and near misses
  const double side = 1 + std::log(16.0) / 10, query = 0.7, key = -1.3;
  const double product = (side * query) * (side * key);
  CHECK(relative(yarn_inverse_temperature(16.0) * query * key, product) < 1e-14);
  CHECK(relative(deepseek_inverse_temperature(16.0, 1.0) * query * key, product) < 1e-14);
  CHECK_FALSE(relative(side * query * key, product) < 0.1);
  CHECK_FALSE(relative(deepseek_inverse_temperature(16.0, 0.707) * query * key, product) < 0.01);
}

TEST_CASE("the logarithmic rules turn one power of the trained length into a multiple", "[calibration]") {
  for (const double trained : {2.0, 512.0, 8192.0}) {
    for (const double power : {1.0, 1.5, 3.0}) {
      CAPTURE(trained, power);
      const double length = std::pow(trained, power);
      CHECK(relative(qwen_inverse_temperature<double>(length, trained), power) < 1e-14);
      CHECK(relative(grok_inverse_temperature<double>(length + 1, trained), power) < 1e-14);
      if (power == 1.5) {
        CHECK_FALSE(relative(grok_inverse_temperature<double>(length, trained), power) < 1e-9);
      }
    }
  }
  CHECK(qwen_inverse_temperature<double>(8191, 8192) == 1);
  CHECK(grok_inverse_temperature<double>(1, 1024) == 1);
  CHECK(grok_inverse_temperature<double>(1025, 1024) == 1);
  CHECK(grok_inverse_temperature<double>(1026, 1024) > 1);
}

TEST_CASE("adaptive temperature is a polynomial with the highest power first, and 1 outside of its range",
          "[calibration]") {
  const auto of_equal_weights = [](std::size_t n) {
    const std::vector<double> scores(n, 0.25);
    return entropy_inverse_temperature(
        scoring::summary(scoring::Softmax<double>{}, {scores.data(), std::ptrdiff_t(n)}).entropy);
  };
  const auto by_powers = [](double h) {
    return -0.037 * std::pow(h, 4) + 0.481 * std::pow(h, 3) - 2.3 * std::pow(h, 2) + 4.917 * h - 1.791;
  };
  const auto lowest_power_first = [](double h) {
    return -0.037 + 0.481 * h - 2.3 * std::pow(h, 2) + 4.917 * std::pow(h, 3) - 1.791 * std::pow(h, 4);
  };
  for (const double h : {0.9, 1.2, 2.0, 4.4, 5.9}) {
    CAPTURE(h);
    CHECK(relative(entropy_inverse_temperature(h), by_powers(h)) < 1e-13);
    CHECK_FALSE(relative(entropy_inverse_temperature(h), std::fmax(1.0, lowest_power_first(h))) < 0.01);
  }
  CHECK(entropy_inverse_temperature(0.0) == 1);
  CHECK(entropy_inverse_temperature(0.6) == 1);
  CHECK(entropy_inverse_temperature(0.848) == 1);
  CHECK(entropy_inverse_temperature(0.849) > 1);
  // the greatest one, and where it ends
  for (const double h : {4.40, 4.42}) CHECK(entropy_inverse_temperature(h) < entropy_inverse_temperature(4.4124));
  CHECK(entropy_inverse_temperature(4.4124) == Approx(2.4213877).epsilon(1e-7));
  CHECK(of_equal_weights(381) > 1.004);
  for (const std::size_t n : {382u, 1000u, 100000u}) CHECK(of_equal_weights(n) == 1);
}

TEST_CASE("the named rules keep their digits, in every precision", "[calibration]") {
  Worst logarithms, steps, squares, polynomial;
  for (double n = 1; n < 2e7; n = std::ceil(1.3 * n)) {
    const long double qwen = qwen_inverse_temperature<long double>(n, 8192);
    const long double grok = grok_inverse_temperature<long double>(n, 1024);
    logarithms.add(eps_from(qwen_inverse_temperature<double>(n, 8192), qwen, qwen), "n ", n);
    logarithms.add(eps_from(grok_inverse_temperature<double>(n, 1024), grok, grok), "n ", n);
    const long double llama = llama4_inverse_temperature<long double>(n, 8192, static_cast<long double>(0.1));
    const long double mistral = mistral_inverse_temperature<long double>(n, 16384, static_cast<long double>(0.1));
    steps.add(eps_from(llama4_inverse_temperature(n, 8192, 0.1), llama, llama), "n ", n);
    steps.add(eps_from(mistral_inverse_temperature(n, 16384, 0.1), mistral, mistral), "n ", n);
    const long double longrope = longrope_inverse_temperature<long double>(n, 4096);
    const long double deepseek = deepseek_inverse_temperature<long double>(n, 1);
    logarithms.add(eps_from(longrope_inverse_temperature(n, 4096), longrope, longrope), "factor ", n);
    squares.add(eps_from(deepseek_inverse_temperature(n, 1.0), deepseek, deepseek), "factor ", n);
  }
  for (double h = 0; h < 7; h += 1.0 / 64) {
    const long double beta = entropy_inverse_temperature<long double>(h);
    polynomial.add(eps_from(entropy_inverse_temperature(h), beta, beta), "entropy ", h);
  }
  CHECK(logarithms <= 4);
  CHECK(steps <= 4);
  CHECK(squares <= 8);
  CHECK(polynomial <= 64);
  CHECK(relative(llama4_inverse_temperature<float>(20000, 8192, 0.1F), 1.1098612288668110) < 1e-7);
}

TEST_CASE("a plan has the rules of Llama 4 and Mistral at the trained length; Qwen's and LongRoPE's is log n",
          "[calibration]") {
  const std::vector<std::int64_t> lengths{256, 512, 2048, 32768};
  const auto rules = temperature_rules(Held::entropy, {.score_stddev = 0.8, .gap = 5}, lengths);
  REQUIRE(rules.size() == 8);
  CHECK(rules[6].name == "Llama 4");
  CHECK(rules[7].name == "Mistral");
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const double n = static_cast<double>(lengths[i]);
    CHECK(relative(rules[2].inverse_temperature[i], qwen_inverse_temperature<double>(n, 256)) < 1e-14);
    CHECK(relative(rules[2].inverse_temperature[i], longrope_inverse_temperature(n / 256, 256)) < 1e-14);
    CHECK(relative(rules[6].inverse_temperature[i], 1 + 0.1 * std::log(1 + n / 256)) < 1e-14);
    CHECK(relative(rules[7].inverse_temperature[i], 1 + 0.1 * std::log(n / 256)) < 1e-14);
    CHECK(rules[6].value[i] == held_value<double>(Held::entropy, {.score_stddev = 0.8, .gap = 5}, lengths[i],
                                                  rules[6].inverse_temperature[i]));
  }
}

TEST_CASE("named rules refuse what is outside of their domain, by name", "[calibration]") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(refuses<std::domain_error>([] { qwen_inverse_temperature<double>(0, 8192); }, {"row_length", "0"}));
  CHECK(refuses<std::domain_error>([] { qwen_inverse_temperature<double>(9, 1); }, {"trained_length", "1"}));
  CHECK(refuses<std::domain_error>([&] { grok_inverse_temperature<double>(nan, 8192); }, {"row_length", "nan"}));
  CHECK(refuses<std::domain_error>([] { grok_inverse_temperature<double>(5, -3); }, {"temperature_length", "-3"}));
  CHECK(refuses<std::domain_error>([] { llama4_inverse_temperature(5, 0, 0.1); }, {"floor_scale", "0"}));
  CHECK(refuses<std::domain_error>([] { llama4_inverse_temperature(5, 8, -0.1); }, {"attention_scale", "-0.1"}));
  CHECK(refuses<std::domain_error>([] { mistral_inverse_temperature(-5, 8, 0.1); }, {"row_length", "-5"}));
  CHECK(refuses<std::domain_error>([&] { mistral_inverse_temperature(5, 8, nan); }, {"attention_scale", "nan"}));
  CHECK(refuses<std::domain_error>([] { longrope_inverse_temperature(0.0, 8); }, {"factor", "0"}));
  CHECK(refuses<std::domain_error>([] { longrope_inverse_temperature(2.0, 1); }, {"trained_length", "1"}));
  CHECK(refuses<std::domain_error>([] { deepseek_inverse_temperature(-2.0, 1.0); }, {"factor", "-2"}));
  CHECK(refuses<std::domain_error>([] { deepseek_inverse_temperature(2.0, -1.0); }, {"mscale", "-1"}));
  CHECK(refuses<std::domain_error>([] { entropy_inverse_temperature(-0.5); }, {"entropy", "-0.5"}));
}

}  // namespace incontext::testing
