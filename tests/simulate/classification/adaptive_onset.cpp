#include "incontext/simulate/classification/adaptive_onset.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include "incontext/simulate/classification/classification_grid.hpp"
#include "simulate/classification/contexts.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace adaptive_onset_test {

namespace {

using namespace incontext;
using simulate::AdaptiveOnsetMetric;
using simulate::SphereTask;

constexpr std::uint64_t seed = 37;

/// Loss of the adaptive rule without the query's key at a slope kappa c.
double loss_at(const classification::Context<double>& context, std::int64_t label, double kappa, double slope) {
  const auto p = kappa == 0
                     ? classification::linear_descent(context, slope)
                     : classification::adaptive_descent(context, kappa, slope / kappa, classification::SelfTerm::none);
  return classification::cross_entropy(p, label);
}

}  // namespace

TEST_CASE("the derivatives of a trial are differences of the rules' losses on its context") {
  for (const SphereTask& task : {SphereTask{2, 3, 12}, SphereTask{5, 4, 20}, SphereTask{3, 2, 10}}) {
    const std::vector<double> rates{5.0, 40.0};
    const simulate::AdaptiveOnsetTrial<double> trial{simulate::detail::draw_of<double>(task), rates.data(), 2};
    CHECK(testing::lanes_agree(trial, seed));
    for (std::uint64_t index = 0; index < 20; ++index) {
      const auto values = testing::values_of<1>(trial, seed, index);
      const auto drawn = simulate::draw_sphere_context<double>(task, seed, index);
      const auto context = testing::host_context(drawn);
      for (std::size_t i = 0; i < 2; ++i) {
        const auto loss = [&](double kappa, double slope) { return loss_at(context, drawn.query_label, kappa, slope); };
        const double h = 1e-3, rate = rates[i];
        const auto out = [&](AdaptiveOnsetMetric metric) {
          return values[simulate::detail::adaptive_onset_metrics * i + static_cast<std::size_t>(metric)];
        };
        CHECK(std::abs(out(AdaptiveOnsetMetric::loss) - loss(0, rate)) <= 1e-12);
        const double by_rate = (loss(0, rate * std::exp(h)) - loss(0, rate * std::exp(-h))) / (2 * h);
        CHECK(std::abs(out(AdaptiveOnsetMetric::rate_slope) - by_rate) <= 2e-5 * (1 + rate));
        const double by_kappa = (loss(h, rate) - loss(-h, rate)) / (2 * h);
        CHECK(std::abs(out(AdaptiveOnsetMetric::kappa_slope) - by_kappa) <= 2e-6 * (1 + rate));
      }
    }
  }
}

TEST_CASE("with two classes no kernel helps to first order, and with five it depends on the context's length") {
  const auto slope = [](const SphereTask& task, double rate) {
    return simulate::adaptive_onset(task, {rate}, {.seed = seed, .trials = 131072})
        .at(0, AdaptiveOnsetMetric::kappa_slope);
  };
  // The reflection of a context turns kappa into -kappa.
  CHECK(std::abs(testing::z_of(0, slope({3, 2, 20}, 25))) <= 5);
  CHECK(testing::z_of(0, slope({5, 5, 20}, 31.6)) > 5);
  CHECK(testing::z_of(0, slope({5, 5, 200}, 71.6)) < -5);
}

TEST_CASE("a tilt takes a multiple of the slope by the rate off the slope by kappa, and keeps its zero") {
  const SphereTask task{5, 5, 40};
  const simulate::Options options{.seed = seed, .trials = 4096};
  const std::vector<double> rates{35.0, 55.0};
  const auto plain = simulate::adaptive_onset<double>(task, rates, options);
  const auto of = [](const auto& run, std::size_t i, AdaptiveOnsetMetric metric) { return run.at(i, metric).mean; };
  const auto change = [&](const auto& run, AdaptiveOnsetMetric metric) {
    return of(run, 1, metric) - of(run, 0, metric);
  };
  const double tilt = change(plain, AdaptiveOnsetMetric::kappa_slope) / change(plain, AdaptiveOnsetMetric::rate_slope);
  const auto tilted = simulate::adaptive_onset<double>(task, rates, options, tilt);
  for (std::size_t i = 0; i < 2; ++i) {
    const double expected =
        of(plain, i, AdaptiveOnsetMetric::kappa_slope) - tilt * of(plain, i, AdaptiveOnsetMetric::rate_slope);
    CHECK(std::abs(of(tilted, i, AdaptiveOnsetMetric::kappa_slope) - expected) <= 1e-12);
  }
  CHECK(std::abs(change(tilted, AdaptiveOnsetMetric::kappa_slope)) <= 1e-12);
  CHECK(std::abs(change(plain, AdaptiveOnsetMetric::kappa_slope)) > 0.003);
  CHECK(tilted.at(0, AdaptiveOnsetMetric::kappa_slope).standard_error <
        plain.at(0, AdaptiveOnsetMetric::kappa_slope).standard_error);
}

TEST_CASE("the onset's simulation refuses what is no rate") {
  const auto message = [](const std::vector<double>& rates) {
    return testing::message_of([&] { simulate::adaptive_onset({3, 2, 10}, rates, {.seed = 1, .trials = 2}); });
  };
  CHECK(testing::names(message({}), "rates.size()", "value = 0"));
  CHECK(testing::names(message({1, -2}), "a rate", "value = -2"));
  CHECK(testing::names(message({0x1p-200}), "a rate", "value = 6.2"));
}

}  // namespace adaptive_onset_test
