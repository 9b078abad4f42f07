#include "scoring/accuracy.hpp"

#include "incontext/scoring/summary.hpp"
#include "support/catch.hpp"

// The accuracy that the headers state, with the bounds stated there: rounding against the same template at 50 digits.
namespace incontext::testing {
TEMPLATE_TEST_CASE("softmax, SSMax and SSA round as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  for (const auto& [name, rounding] :
       rounding_of<T>([](auto visit) { for_each_softmax_like<T>(visit); }, 1, rounding_rows<T>)) {
    check_rounding(name, rounding, 4, 8, 16);
  }
}

TEST_CASE("the comparison at 50 digits refuses weights that are off by ten roundings", "[scoring][accuracy]") {
  const std::vector<Real50> truth = weights_of(scoring::Softmax<Real50>{}, {Real50(0), Real50(1), Real50(-2)});
  std::vector<double> value = converted<double>(std::vector<double>{0.1, 0.2, 0.7});
  for (std::size_t i = 0; i < 3; ++i) value[i] = static_cast<double>(truth[i]);
  const auto scale = weight_scale(scoring::Softmax<Real50>{}, {}, truth);
  CHECK(worst(value, truth, scale) <= 1);
  value[1] *= 1 + 10 * std::numeric_limits<double>::epsilon();
  CHECK(worst(value, truth, scale) > 4);
  value[1] = nan;
  CHECK_FALSE(worst(value, truth, scale) <= 4);
}

TEMPLATE_TEST_CASE("entropy, inverse participation ratio and complement keep their digits when one token takes all",
                   "[scoring][accuracy]", float, double) {
  using T = TestType;
  const double eps = static_cast<double>(std::numeric_limits<T>::epsilon());
  for (const double gap : {0.0, 1e-3, 1.0, 8.0, 40.0, 80.0}) {
    const std::vector<T> z{T(gap), T(0), T(-0.5), T(-2)};
    const auto facts = scoring::summary(scoring::Softmax<T>{}, view(z));
    const auto truth = scoring::summary(scoring::Softmax<Real50>{}, view(converted<Real50>(z)));
    const auto close = [&](T value, const Real50& reference) {
      return size50(Real50(value) - reference) <= 16 * eps * (1 + gap) * size50(reference);
    };
    INFO("gap " << gap);
    CHECK(close(facts.entropy, truth.entropy));
    CHECK(close(facts.ipr, truth.ipr));
    CHECK(close(facts.complement_of_largest, truth.complement_of_largest));
    CHECK(close(facts.log_sum_exp, truth.log_sum_exp));
    CHECK_FALSE(close(facts.entropy * T(1.01), truth.entropy));
  }
}

}  // namespace incontext::testing
