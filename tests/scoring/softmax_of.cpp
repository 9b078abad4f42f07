#include "incontext/scoring/softmax_of.hpp"

#include <cmath>
#include <vector>

#include "incontext/scoring/summary.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

TEST_CASE("softmax is e^(z/tau) over its sum, uniform when hot and a shared hardmax when cold", "[scoring]") {
  const std::vector<double> z{0.5, -1, 2, 2, 0};
  double sum = 0;
  for (const double x : z) sum += std::exp(x / 0.75);
  const auto a = weights_of(Softmax<double>{0.75}, z);
  for (std::size_t i = 0; i < z.size(); ++i) CHECK(std::abs(a[i] - std::exp(z[i] / 0.75) / sum) < 1e-15);
  CHECK(weights_of(Softmax<double>{infinity}, z) == std::vector<double>(5, 0.2));
  CHECK(weights_of(Softmax<double>{1e-300}, z) == weights_of(Hardmax<double>{}, z));
  CHECK(weights_of(Softmax<double>{1e-300}, z) == std::vector<double>{0, 0, 0.5, 0.5, 0});
}

TEST_CASE("the weight left to the others of a peaked row is not lost in 1 - a", "[scoring]") {
  const std::vector<double> z{0, -100, -101};
  const double others = std::exp(-100.0) + std::exp(-101.0);
  const auto facts = summary(Softmax<double>{}, view(z));
  CHECK(std::abs(facts.complement_of_largest - others) < 1e-14 * others);
  CHECK(1 - weights_of(Softmax<double>{}, z)[0] == 0);
  // moving the score of the winner moves its weight by a (1 - a)
  const auto change = jvp_of(Softmax<double>{}, z, {1, 0, 0});
  CHECK(std::abs(change[0] - others) < 1e-13 * others);
  std::vector<double> log_row(3);
  log_weights(Softmax<double>{}, z, log_row);
  CHECK(std::abs(log_row[0] + others) < 1e-14 * others);
}

TEST_CASE("an offset common to the whole direction costs no digits", "[scoring]") {
  const std::vector<double> z{0.5, -1, 2, 0};
  const std::vector<double> u{1e9 + 1, 1e9, 1e9 - 2, 1e9 + 0.5};
  const auto change = jvp_of(Softmax<double>{}, z, u);
  CHECK(distance(change, jvp_of(Softmax<double>{}, z, {1, 0, -2, 0.5})) < 1e-15);
}

TEST_CASE("a direction that is huge at one token of a long flat row costs no digits", "[scoring]") {
  std::vector<double> z(1000, 0.0), u(1000, 1.0);
  u[0] = 1e12;
  const auto change = jvp_of(Softmax<double>{}, z, u);
  const double expected = (1 - 1e12) / 1000 / 1000;
  CHECK(std::abs(change[500] - expected) < 1e-14 * std::abs(expected));
}

TEST_CASE("summary of equal scores is that of the uniform distribution, and of an invalid row NaN", "[scoring]") {
  const std::vector<double> z{3, 3, -infinity, 3, 3};
  const auto facts = summary(Softmax<double>{2}, view(z));
  CHECK(facts.visible_count == 4);
  CHECK(std::abs(facts.entropy - std::log(4.0)) < 1e-15);
  CHECK(facts.ipr == 0.25);
  CHECK(facts.complement_of_largest == 0.75);
  CHECK(std::abs(facts.log_sum_exp - (1.5 + std::log(4.0))) < 1e-15);
  const auto bad = summary(Softmax<double>{-2}, view(z));
  CHECK(all_nan(std::vector<double>{bad.entropy, bad.log_sum_exp, bad.ipr, bad.complement_of_largest}));
  CHECK(bad.visible_count == 0);
  const auto far = summary(Softmax<double>{}, view(std::vector<double>{1e308, -1e308}));
  CHECK(far.entropy == 0);
}

}  // namespace incontext::testing
