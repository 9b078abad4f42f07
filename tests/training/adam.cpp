#include "incontext/training/adam.hpp"

#include <cmath>
#include <vector>

#include "incontext/training/learning_rate.hpp"
#include "incontext/training/trainer.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace training;

TEST_CASE("Adam's means are the weighted sums of all gradients, and weight decay shrinks beside them", "[training]") {
  const std::vector<double> gradients{0.5, -2, 1, 0.25};
  const AdamOptions options{.beta1 = 0.8, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.1};
  std::vector<double> parameter{1.5};
  AdamState state;
  double expected = 1.5;
  for (std::size_t t = 1; t <= gradients.size(); ++t) {
    adam_step(options, 0.01, std::vector<double>{gradients[t - 1]}, state, parameter);
    double first = 0, second = 0, first_weight = 0, second_weight = 0;  // sums over the whole past, not recursions
    for (std::size_t s = 1; s <= t; ++s) {
      const double a = std::pow(0.8, t - s), b = std::pow(0.9, t - s), g = gradients[s - 1];
      first += a * g, first_weight += a, second += b * g * g, second_weight += b;
    }
    expected -= 0.01 * (first / first_weight / (std::sqrt(second / second_weight) + 1e-3) + 0.1 * expected);
    CHECK(std::abs(parameter[0] - expected) <= 1e-14);
  }
  std::vector<double> two{1, 1}, fresh{1};
  AdamState other, again;
  adam_step(options, 0.01, std::vector<double>{0.0, 0.0}, other, two, {true, false});
  CHECK(two[0] == 1 - 0.01 * 0.1);
  CHECK(two[1] == 1);
  adam_step({}, 0.01, std::vector<double>{-3.0}, again, fresh);
  CHECK(std::abs(fresh[0] - 1.01) <= 1e-10);  // the first step is rate x sign
}

TEST_CASE("clipping keeps the direction and bounds the length of all parameters together", "[training]") {
  std::vector<double> gradient{3, 4};
  CHECK(clip_by_global_norm(gradient, 10) == 5);
  CHECK(gradient == std::vector<double>{3, 4});
  CHECK(clip_by_global_norm(gradient, 1) == 5);
  CHECK(std::abs(gradient[0] - 0.6) + std::abs(gradient[1] - 0.8) <= 1e-15);
  CHECK(refuses([&] { clip_by_global_norm(gradient, 0); }, {"largest_norm", "0"}));
}

TEST_CASE("a learning rate warms up to its peak and falls along half a cosine", "[training]") {
  const LearningRate rate{.peak = 2, .warmup_steps = 4, .decay = RateDecay::cosine, .steps = 15, .final_share = 0.1};
  CHECK(rate(0) == 0.5);
  CHECK(rate(3) == 2);
  CHECK(rate(4) == 2);
  CHECK(std::abs(rate(9) - 1.1) <= 1e-15);
  CHECK(std::abs(rate(14) - 0.2) <= 1e-15);
  CHECK(LearningRate{.peak = 3}(1000) == 3);
  CHECK(refuses([] { validate(LearningRate{.peak = -1}); }, {"peak", "-1"}));
  CHECK(refuses<std::invalid_argument>([] { validate(LearningRate{.warmup_steps = 5, .steps = 3}); }, {"steps", "3"}));
}

TEST_CASE("a trainer finds the minimum of a parabola, and says where it diverged", "[training]") {
  const GradientFunction parabola = [](std::span<const double> at, std::int64_t) {
    return BatchGradient{.loss = (at[0] - 2) * (at[0] - 2), .gradient = {2 * (at[0] - 2)}};
  };
  Trainer trainer({0}, parabola, {.rate = {.peak = 0.1, .decay = RateDecay::cosine, .steps = 300}});
  StepRecord record;
  while (trainer.steps() < 300) REQUIRE(trainer.step(&record));
  CHECK(record.step == 299);
  CHECK(std::abs(trainer.parameters()[0] - 2) <= 1e-3);
  const GradientFunction cliff = [](std::span<const double>, std::int64_t step) {
    return BatchGradient{.loss = 1, .gradient = {step == 3 ? HUGE_VAL : 1.0}};
  };
  Trainer falls({0}, cliff, {});
  for (int step = 0; step < 3; ++step) REQUIRE(falls.step());
  CHECK(refuses([&] { falls.step(); }, {"diverged", "step 3", "inf"}));
  CHECK(refuses<std::invalid_argument>([&] { falls.resume({{1, 2}, {}}); }, {"parameters", "2"}));
  const GradientFunction grows = [](std::span<const double>, std::int64_t step) {
    return BatchGradient{.loss = step == 3 ? 11.0 : 1.0, .gradient = {1.0}};
  };
  Trainer bounded({0}, grows, {.largest_loss_growth = 10});
  for (int step = 0; step < 3; ++step) REQUIRE(bounded.step());
  CHECK(refuses([&] { bounded.step(); }, {"diverged", "step 3", "11", "at the first 1"}));
  Trainer wider({0}, grows, {.largest_loss_growth = 12});
  for (int step = 0; step < 5; ++step) REQUIRE(wider.step());
  CHECK(refuses([&] { Trainer({0}, grows, {.largest_loss_growth = 1}); }, {"largest_loss_growth", "1"}));
}

}  // namespace incontext::testing
