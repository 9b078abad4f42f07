#include "incontext/calibration/score_array.hpp"

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::calibration;
using incontext::testing::refuses;

TEST_CASE("every half-precision pattern is the number that the standard says", "[calibration]") {
  int wrong = 0;
  for (int bits = 0; bits < 65536; ++bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double magnitude = exponent == 31  ? (mantissa == 0 ? INFINITY : NAN)
                             : exponent == 0 ? std::ldexp(mantissa, -24)
                                             : std::ldexp(1024 + mantissa, exponent - 25);
    const double expected = bits >= 32768 ? -magnitude : magnitude;
    const double found = float_of_half(static_cast<std::uint16_t>(bits));
    const bool same =
        std::isnan(expected) ? std::isnan(found) : found == expected && std::signbit(found) == std::signbit(expected);
    wrong += same ? 0 : 1;
  }
  CHECK(wrong == 0);
}

TEST_CASE("scores are found in either order, and heads in an array", "[calibration]") {
  std::vector<float> c(2 * 3 * 4 * 5), f(c.size());
  const auto value = [](int l, int h, int q, int k) { return static_cast<float>(1000 * l + 100 * h + 10 * q + k); };
  for (int l = 0; l < 2; ++l) {
    for (int h = 0; h < 3; ++h) {
      for (int q = 0; q < 4; ++q) {
        for (int k = 0; k < 5; ++k) {
          c[static_cast<std::size_t>(((l * 3 + h) * 4 + q) * 5 + k)] = value(l, h, q, k);
          f[static_cast<std::size_t>(((k * 4 + q) * 3 + h) * 2 + l)] = value(l, h, q, k);
        }
      }
    }
  }
  const std::vector<std::int64_t> shape{2, 3, 4, 5};
  for (const bool fortran : {false, true}) {
    const ScoreArray all = dense_scores(fortran ? f.data() : c.data(), NumberType::float32, shape, fortran);
    CHECK(score_at(one_head(all, 1, 2), 3, 4) == 1234);
    CHECK(score_at(one_head(all, 0, 1), 2, 0) == 120);
  }
  const ScoreArray all = dense_scores(c.data(), NumberType::float32, shape);
  CHECK(refuses<std::invalid_argument>([&] { one_head(all, 2, 0); }, {"layer is not there", "value = 2", "0 to 1"}));
  CHECK(refuses<std::invalid_argument>([&] { one_head(all, 0, 3); }, {"head is not there", "value = 3"}));
  CHECK(refuses<std::invalid_argument>(
      [&] { dense_scores(c.data(), NumberType::float32, std::vector<std::int64_t>(5, 1)); },
      {"dimensions", "value = 5"}));
  CHECK(refuses<std::invalid_argument>(
      [&] {
        dense_scores(c.data(), NumberType::float32, std::vector<std::int64_t>{3, 0});
      },
      {"a dimension", "value = 0"}));
}
