#include "incontext/simulate/regression/regression_error.hpp"

#include <cmath>

#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/statistics/agreement.hpp"
#include "models.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace regression_test {

// Tests the closed forms by simulation, and the faster estimators against them and the literal trial. Every family is
// judged at |z| <= 5 with fixed seeds: by chance alone a point fails once in 1.7 million.

namespace {

using namespace incontext;
using regression::Offset;
using regression::QueryToken;
using simulate::Estimator;
using Approximate = scoring::ApproximateSoftmax<double>;
using Linear = scoring::LinearAttention<double>;
using Softmax = scoring::Softmax<double>;

const std::vector<double> temperatures{0.7, 1.0, 1.7, 3.0};
const std::vector<Estimator> estimators{Estimator::literal, Estimator::conditional, Estimator::sufficient_statistics};

template <class Theory>
void check_agreement(const simulate::Simulation& simulation, const Theory& theory) {
  for (std::size_t i = 0; i < temperatures.size(); ++i) {
    const auto agreement = statistics::agree(theory(temperatures[i]), simulation.estimates[i]);
    CAPTURE(temperatures[i], agreement.theory, agreement.estimate.mean, agreement.z);
    CHECK(agreement.within(5));
  }
}

}  // namespace

TEMPLATE_TEST_CASE("approximate softmax: every estimator agrees with the exact error", "", float, double) {
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  const std::int64_t context_length = GENERATE(2, 5, 12);
  for (const Estimator estimator : estimators) {
    for (const Offset offset : {Offset::kept, Offset::removed}) {
      CAPTURE(context_length, static_cast<int>(estimator), offset == Offset::removed);
      check_agreement(simulate::regression_error<TestType>(
                          attention, task, context_length, simulate::at_temperatures<Approximate>(temperatures),
                          {.seed = 3, .trials = 1 << 17}, {.offset = offset}, estimator),
                      regression::generalization_error(attention, task, context_length, {.offset = offset}));
    }
  }
}

TEST_CASE("approximate softmax: agreement where the dimension exceeds the context") {
  const auto task = testing::isotropic_task(9);
  const auto attention = testing::plain_attention(9);
  for (const Estimator estimator : estimators) {
    check_agreement(simulate::regression_error(attention, task, 4, simulate::at_temperatures<Approximate>(temperatures),
                                               {.seed = 4, .trials = 1 << 17}, {}, estimator),
                    regression::generalization_error(attention, task, 4));
  }
}

TEST_CASE("linear attention: every estimator agrees with the exact error, mean shift and all") {
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  for (const std::int64_t context_length : {2, 12}) {
    for (const Estimator estimator : estimators) {
      check_agreement(
          simulate::regression_error(attention, task, context_length, simulate::at_temperatures<Linear>(temperatures),
                                     {.seed = 5, .trials = 1 << 17}, {}, estimator),
          regression::linear_attention_error(attention, task, context_length));
    }
  }
}

TEST_CASE("linear attention without division by the length is the same at a longer temperature") {
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  const simulate::Options options{.seed = 6, .trials = 4096};
  const auto divided = simulate::regression_error<double>(attention, task, 8, Linear{1.5}, options);
  const auto plain =
      simulate::regression_error<double>(attention, task, 8, Linear{12.0, scoring::LinearNormalization::none}, options);
  CHECK(std::abs(divided.mean - plain.mean) <= 1e-12 * divided.mean);
}

TEST_CASE("query included: the exact error of the literal model agrees") {
  const auto task = testing::general_task().with_input_mean(regression::Vector<double>::Zero(3));
  auto attention = testing::general_attention();
  attention.input_value.setZero();
  for (const std::int64_t context_length : {2, 12}) {
    check_agreement(simulate::regression_error(attention, task, context_length,
                                               simulate::at_temperatures<Approximate>(temperatures),
                                               {.seed = 7, .trials = 1 << 18}, {.query = QueryToken::included}),
                    regression::generalization_error(attention, task, context_length, {.query = QueryToken::included}));
  }
}

TEST_CASE("power: perturbed formulas are rejected by the same runs") {
  const auto task = testing::isotropic_task(8);
  const auto attention = testing::plain_attention(8);
  constexpr std::int64_t context_length = 12;
  const auto exact = regression::generalization_error(attention, task, context_length);
  for (const Estimator estimator : estimators) {
    const auto simulation = simulate::regression_error(attention, task, context_length,
                                                       simulate::at_temperatures<Approximate>(temperatures),
                                                       {.seed = 8, .trials = 1 << 17}, {}, estimator);
    check_agreement(simulation, exact);

    auto without_dimension = exact;  // drop the (1 + d/l): E[u u^T] without its trace term
    without_dimension.quadratic /= 1 + 8.0 / context_length;
    CHECK(testing::largest_z(simulation.estimates, temperatures, without_dimension) > 5);

    // l in place of l - 1 in every moment of C_xx
    auto without_centering = exact;
    without_centering.linear *= static_cast<double>(context_length) / (context_length - 1);
    without_centering.quadratic *= static_cast<double>(context_length) / (context_length - 1);
    CHECK(testing::largest_z(simulation.estimates, temperatures, without_centering) > 5);

    CHECK(testing::largest_z(simulation.estimates, temperatures,
                             regression::generalization_error_leading_order(attention, task, context_length)) > 5);
    CHECK(testing::largest_z(
              simulation.estimates, temperatures,
              regression::generalization_error(attention, task, context_length, {.query = QueryToken::included})) > 5);
  }
}

TEST_CASE("softmax attention tends to approximate softmax for long contexts at high temperature, and not before") {
  const auto task = testing::isotropic_task(2);
  const auto attention = testing::plain_attention(2);
  const std::vector<double> high{6.0};
  const auto simulation = simulate::regression_error(attention, task, 400, simulate::at_temperatures<Softmax>(high),
                                                     {.seed = 9, .trials = 1 << 16});
  const double exact = regression::generalization_error(attention, task, 400)(6.0);
  CHECK(std::abs(simulation.estimates[0].mean / exact - 1) < 0.02);
  const auto cold = simulate::regression_error(attention, task, 10, Softmax{0.5}, {.seed = 9, .trials = 1 << 16});
  CHECK(std::abs(cold.mean / regression::generalization_error(attention, task, 10)(0.5) - 1) > 0.2);
}

TEST_CASE("the faster estimators have less variance") {
  const auto task = testing::isotropic_task(8);
  const auto attention = testing::plain_attention(8);
  const auto standard_error = [&](Estimator estimator) {
    return simulate::regression_error(attention, task, 20, std::vector<Approximate>{{1.5}},
                                      {.seed = 10, .trials = 1 << 15}, {}, estimator)
        .estimates[0]
        .standard_error;
  };
  const double literal = standard_error(Estimator::literal);
  CHECK(standard_error(Estimator::conditional) < 0.5 * literal);
  CHECK(standard_error(Estimator::sufficient_statistics) < 0.5 * literal);
}

TEST_CASE("a grid runs on common random numbers: each point is what it would be alone") {
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  const simulate::Options options{.seed = 11, .trials = 3000};
  const auto check = [&](auto map) {
    using Map = decltype(map);
    const auto grid =
        simulate::regression_error(attention, task, 9, simulate::at_temperatures<Map>(temperatures), options);
    for (std::size_t i = 0; i < temperatures.size(); ++i) {
      const auto alone = simulate::regression_error(attention, task, 9, Map{temperatures[i]}, options);
      CHECK(alone.mean == grid.estimates[i].mean);
      CHECK(alone.standard_error == grid.estimates[i].standard_error);
    }
  };
  check(Approximate{});
  check(Linear{});
  check(Softmax{});
}

TEST_CASE("parameters outside the range of the simulation's scalar are refused by name, value and range") {
  const auto task = testing::isotropic_task(3);
  const auto attention = testing::plain_attention(3);
  const auto message = [&](const regression::LinearTask<double>& law, double temperature,
                           const regression::Attention<double>& layer) {
    return testing::message_of(
        [&] { simulate::regression_error<float>(layer, law, 5, Approximate{temperature}, {.trials = 2}); });
  };
  const std::string range = "needs single-precision numbers, from 1.2e-38 to 3.4e+38 in size";
  CHECK(testing::names(message(task, 1e-100, attention), "temperature's inverse is outside the range", range));
  CHECK(testing::names(message(task, 1e100, attention), "temperature's inverse is outside the range", range));
  CHECK(testing::names(message(task.with_noise_variance(1e200), 1, attention), "noise_variance is outside", range));
  CHECK(testing::names(message(task.with_task_covariance_scaled(1e300), 1, attention), "task_covariance's factor is",
                       range));
  CHECK(testing::names(message(task.with_input_covariance_scaled(1e-90), 1, attention), "input_covariance's factor is",
                       range));
  CHECK(testing::names(message(task.with_input_mean(regression::Vector<double>::Constant(3, 1e39)), 1, attention),
                       "input_mean is outside", range));
  auto loud = attention;
  loud.label_value = 1e39;
  CHECK(testing::names(message(task, 1, loud), "label_value is outside", range));
  // they are in the range of double
  CHECK_NOTHROW(simulate::regression_error<double>(attention, task, 5, Approximate{1e-100}, {.trials = 2}));
  CHECK_NOTHROW(
      simulate::regression_error<double>(attention, task.with_noise_variance(1e200), 5, Approximate{1}, {.trials = 2}));
}

TEST_CASE("an estimate with trials that overflow single precision is not judged, whatever the others are") {
  const auto task = testing::isotropic_task(3);
  const auto attention = testing::plain_attention(3);
  const double temperature = 1e-19;
  const auto estimate =
      simulate::regression_error<float>(attention, task, 8, Approximate{temperature}, {.seed = 3, .trials = 512});
  CHECK(estimate.non_finite > 0);
  const auto result = statistics::agree(regression::generalization_error(attention, task, 8)(temperature), estimate);
  CHECK(result.verdict(4) == statistics::Verdict::not_judged);
  CHECK(result.reason == std::to_string(estimate.non_finite) + " of 512 trials were not finite");
}

TEST_CASE("bad input to the simulation is refused by name and value") {
  const auto task = testing::general_task();
  const auto attention = testing::general_attention();
  const simulate::Options options{.trials = 10};
  const auto run = [&](double temperature, std::int64_t context_length = 5, regression::ErrorConvention convention = {},
                       Estimator estimator = Estimator::literal) {
    return simulate::regression_error(attention, task, context_length, std::vector<Approximate>{{temperature}}, options,
                                      convention, estimator);
  };
  CHECK(testing::names(testing::message_of([&] { run(0.0); }), "temperature", "value = 0;"));
  CHECK(testing::names(testing::message_of([&] { run(-2.0); }), "temperature", "-2"));
  CHECK_THROWS_AS(run(std::nan("")), std::domain_error);
  CHECK(testing::names(testing::message_of([&] { run(1.0, 1); }), "context_length", "value = 1;"));
  CHECK_THROWS_AS(run(1.0, 5, {.query = QueryToken::included}, Estimator::conditional), std::invalid_argument);
  CHECK_THROWS_AS(simulate::regression_error(attention, task, 5, std::vector<Approximate>{}, options),
                  std::invalid_argument);
  CHECK_THROWS_AS(simulate::regression_error(attention, task, 5, Softmax{1.0}, options, {.offset = Offset::removed}),
                  std::invalid_argument);
  CHECK_THROWS_AS(simulate::regression_error(attention, task, 5, Softmax{1.0}, options, {}, Estimator::conditional),
                  std::invalid_argument);
  CHECK_THROWS_AS(simulate::regression_error(testing::plain_attention(4), task, 5, Approximate{1.0}, options),
                  std::invalid_argument);
}

}  // namespace regression_test
