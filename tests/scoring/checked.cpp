#include "incontext/scoring/checked.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "incontext/scoring/heat_schedule.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("the checked functions let every map through and give the same bits", "[scoring]") {
  const std::vector<double> z{0.5, -1, 2}, u{1, -2, 0};
  for_each_map<double>([&](auto map, const Facts& facts) {
    INFO(facts.name);
    std::vector<double> out(3);
    checked::weights(map, z, out);
    CHECK(out == weights_of(map, z));
    checked::jvp(map, z, u, out);
    CHECK(out == jvp_of(map, z, u));
    checked::vjp(map, z, u, out);
    CHECK(out == vjp_of(map, z, u));
    checked::vjp_from_weights(map, z, weights_of(map, z), u, out);
    CHECK(out == vjp_of(map, z, u));  // no packs for so few scores
    for_each_parameter<decltype(map)>([&](auto name, const char*) {
      checked::derivative(map, name, z, out);
      CHECK(out == derivative_of(map, name, z));
    });
    if constexpr (LogScoring<decltype(map)>) {
      std::vector<double> expected(3);
      checked::log_weights(map, z, out);
      log_weights(map, z, expected);
      CHECK(out == expected);
    }
  });
}

TEST_CASE("what may not be in a row is found at every place of it, at any stride", "[scoring]") {
  const Softmax<float> map{1};
  for (const std::ptrdiff_t size : {1, 2, 7, 17, 64, 65, 130}) {
    for (const std::ptrdiff_t stride : {1, 3}) {
      std::vector<float> numbers(static_cast<std::size_t>(size * stride), NAN), out(static_cast<std::size_t>(size));
      const Row<float> row(numbers.data(), size, stride);
      for (std::ptrdiff_t i = 0; i < size; ++i) row[i] = -INFINITY;
      CHECK(names(message_of([&] { checked::weights(map, row, Row<float>(out)); }), "number of visible scores"));
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        row[i] = 1;  // alone or beside masks
        CHECK_NOTHROW(checked::weights(map, row, Row<float>(out)));
        for (const float bad : {NAN, INFINITY}) {
          row[i] = bad;
          CHECK(names(message_of([&] { checked::weights(map, row, Row<float>(out)); }),
                      "score " + std::to_string(i) + " is NaN or infinite"));
        }
        row[i] = i % 2 == 0 ? -INFINITY : 0;
      }
    }
  }
}

TEST_CASE("numbers of any size are searched in blocks", "[scoring]") {
  struct Wide {
    double value;
    char more[300];
  };
  for (const std::size_t size : {1u, 2u, 5u}) {
    std::vector<Wide> numbers(size, Wide{1, {}});
    const auto is_one = [](const Wide& one) { return one.value == 1; };
    const Row<Wide> row(numbers.data(), static_cast<std::ptrdiff_t>(size));
    CHECK(scoring::detail::first_without(row, is_one) == static_cast<std::ptrdiff_t>(size));
    numbers.back().value = 2;
    CHECK(scoring::detail::first_without(row, is_one) == static_cast<std::ptrdiff_t>(size) - 1);
  }
}

TEST_CASE("the checked functions name the parameter, its value and what it needs", "[scoring]") {
  const std::vector<double> z{0.5, -1, 2};
  std::vector<double> out(3);
  CHECK_THROWS_AS(checked::weights(Softmax<double>{0}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(Softmax<double>{nan}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(ApproximateSoftmax<double>{-1}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(LinearAttention<double>{-1}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(NormSoftmax<double>{0}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(SSA<double>{0}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(SSA<double>{1, 0.5}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(SSA<double>{1, 1.5, 0}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(Entmax<double>{1}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(SSMax<double>{nan}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(SSMax<double>{1, infinity}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(SSMax<double>{infinity}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(SSA<double>{1, infinity}, z, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(Entmax<double>{infinity}, z, out), std::domain_error);
  CHECK(names(message_of([&] { checked::weights(Softmax<double>{-2}, z, out); }), "temperature", "-2", "0 < value"));
  CHECK(names(message_of([&] { checked::jvp(SSA<double>{-3}, z, z, out); }), "base", "-3"));
  CHECK(names(message_of([&] { checked::vjp(Entmax<double>{1}, z, z, out); }), "alpha", "1 < value"));
  CHECK_THROWS_AS(validate(MatrixNormSoftmax<double>{0}), std::domain_error);
  CHECK_THROWS_AS(validate(HeatSchedule<double>{0, 8, 3}), std::domain_error);
  CHECK_THROWS_AS(validate(HeatSchedule<double>{1, 8, 0}), std::invalid_argument);
  CHECK_NOTHROW(validate(HeatSchedule<double>{}));
}

TEST_CASE("a map at the edge of its domain is accepted, and one just outside it is refused", "[scoring]") {
  const std::vector<double> z{0.5, -1, 2};
  std::vector<double> out(3);
  checked::weights(SSA<double>{1, 1}, z, out);  // w = 1.5, 1/2, 3
  CHECK(distance(out, {0.3, 0.1, 0.6}) < 1e-15);
  const double below_one = std::nextafter(1.0, 0.0), above_one = std::nextafter(1.0, 2.0), smallest = 5e-324;
  CHECK(names(message_of([&] { validate(SSA<double>{1, below_one}); }), "exponent"));
  CHECK(names(message_of([&] { validate(SSA<double>{1, infinity}); }), "exponent"));
  CHECK(names(message_of([&] { validate(SSA<double>{1, nan}); }), "exponent"));
  CHECK_NOTHROW(validate(Entmax<double>{above_one}));
  CHECK(names(message_of([&] { validate(Entmax<double>{1}); }), "alpha"));
  CHECK(names(message_of([&] { validate(Entmax<double>{infinity}); }), "alpha"));
  CHECK_NOTHROW(validate(Softmax<double>{smallest}));
  CHECK(names(message_of([&] { validate(Softmax<double>{0}); }), "temperature"));
  CHECK_NOTHROW(validate(SSMax<double>{0, -std::numeric_limits<double>::max()}));
  for (const double bad : {infinity, -infinity, nan}) {
    CHECK(names(message_of([&] { validate(SSMax<double>{bad, 0}); }), "scale is not finite"));
    CHECK(names(message_of([&] { validate(SSMax<double>{1, bad}); }), "bias is not finite"));
  }
}

TEST_CASE("an infinite temperature is in the domain of the maps that say so, and makes all weights equal",
          "[scoring]") {
  const std::vector<double> z{0.5, -1, 2, 4};
  std::vector<double> out(4);
  checked::weights(Softmax<double>{infinity}, z, out);
  CHECK(out == std::vector<double>(4, 0.25));
  checked::weights(ApproximateSoftmax<double>{infinity}, z, out);
  CHECK(out == std::vector<double>(4, 0.25));
  checked::weights(LinearAttention<double>{infinity}, z, out);
  CHECK(out == std::vector<double>(4, 0.0));
  checked::weights(NormSoftmax<double>{infinity}, z, out);  // no cap: the divisor is the standard deviation
  CHECK(out == weights_of(NormSoftmax<double>{1e300}, z));
  CHECK_THROWS_AS(checked::weights(Softmax<double>{-infinity}, z, out), std::domain_error);
}

TEST_CASE("the checked functions refuse rows that cannot be scored", "[scoring]") {
  const Softmax<double> map;
  std::vector<double> out(3), none;
  CHECK_THROWS_AS(checked::weights(map, none, none), std::invalid_argument);
  CHECK_THROWS_AS(checked::weights(map, std::vector<double>{-infinity, -infinity, -infinity}, out),
                  std::invalid_argument);
  CHECK_THROWS_AS(checked::weights(map, std::vector<double>{0, nan, 1}, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(map, std::vector<double>{0, infinity, 1}, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(map, std::vector<double>{0, 1}, out), std::invalid_argument);
  CHECK_THROWS_AS(checked::jvp(map, std::vector<double>{0, 1, 2}, std::vector<double>{0, 1}, out),
                  std::invalid_argument);
  CHECK_NOTHROW(checked::weights(map, std::vector<double>{0, -infinity, 1}, out));
}

TEST_CASE("the checked functions refuse a result that is undefined: ties of hardmax, a zero sum", "[scoring]") {
  const std::vector<double> equal{1, 1}, opposite{1, -1};
  std::vector<double> out(2);
  CHECK_NOTHROW(checked::weights(Hardmax<double>{}, equal, out));
  CHECK_THROWS_AS(checked::jvp(Hardmax<double>{}, equal, equal, out), std::domain_error);
  CHECK_THROWS_AS(checked::vjp(Hardmax<double>{}, equal, equal, out), std::domain_error);
  CHECK_THROWS_AS(checked::weights(RatioScore<Tanh>{ScoreNormalization::sum}, opposite, out), std::domain_error);
  const std::vector<double> negative{-1, -2};
  CHECK_THROWS_AS(checked::log_weights(RatioScore<Relu>{ScoreNormalization::sum}, negative, out), std::domain_error);
  CHECK_NOTHROW(checked::log_weights(RatioScore<Relu>{}, negative, out));
  CHECK(out == std::vector<double>{-infinity, -infinity});  // a weight of 0 is no error
}

}  // namespace incontext::testing
