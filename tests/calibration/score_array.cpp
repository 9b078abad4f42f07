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

TEST_CASE("a bfloat16 pattern is the number that a float with its bits and zeros is", "[calibration]") {
  CHECK(float_of_bfloat16(0x3f80) == 1);
  CHECK(float_of_bfloat16(0xc049) == -3.140625F);
  CHECK(float_of_bfloat16(0x0001) == std::ldexp(1.0F, -133));
  CHECK(float_of_bfloat16(0xff80) == -INFINITY);
  CHECK(std::isnan(float_of_bfloat16(0x7fc0)));
  // read in rows, and key by key where keys are not side by side
  const std::vector<std::uint16_t> pair{0x3f80, 0xc049};
  ScoreArray array = dense_scores(pair.data(), NumberType::bfloat16, std::vector<std::int64_t>{1, 2});
  CHECK(score_at(array, 0, 1) == -3.140625);
  const auto* row = static_cast<const std::byte*>(array.data);
  std::vector<double> together(2), single(2);
  detail::read_rows<false>(&row, 1, 2, 2, NumberType::bfloat16, together.data());
  array.strides[3] = -2;
  row += 2;
  detail::read_rows<false>(&row, 1, 2, -2, NumberType::bfloat16, single.data());
  CHECK(together == std::vector<double>{1, -3.140625});
  CHECK(single == std::vector<double>{-3.140625, 1});
}

TEST_CASE("numbers that are no scores are refused by NumPy's name of their type", "[calibration]") {
  CHECK(number_type('f', 2) == NumberType::float16);
  CHECK(number_type('f', 8) == NumberType::float64);
  const auto refused = [](char kind, std::int64_t bytes, std::string_view name) {
    return refuses<std::invalid_argument>([&] { number_type(kind, bytes); },
                                          {"value = " + std::string(name) + ";", "float16, float32 or float64"});
  };
  CHECK(refused('f', 16, "longdouble"));
  CHECK(refused('i', 1, "int8"));
  CHECK(refused('u', 4, "uint32"));
  CHECK(refused('c', 8, "complex64"));
  CHECK(refused('c', 32, "clongdouble"));
  CHECK(refused('b', 1, "bool"));
  CHECK(refused('O', 8, "object"));
  CHECK(refused('U', 12, "U12"));
  CHECK(refuses<std::invalid_argument>([] { number_type('V', 2); }, {"bfloat16", "value = V2", "astype"}));
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
