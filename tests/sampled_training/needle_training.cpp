#include "incontext/sampled_training/needle_training.hpp"

#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "incontext/core/count.hpp"
#include "incontext/laws/needle_cross_entropy.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing::needle_training_test {

using namespace training;

TEST_CASE("the gradient by the inverse temperature is a difference of the loss, for every rule", "[training]") {
  for (const auto rule : {NeedleRule::constant, NeedleRule::log_length, NeedleRule::log_length_and_constant}) {
    const NeedleTraining training({8, 30}, rule, {.seed = 5, .batch = 40, .device = simulate::Device::serial});
    const auto gradient = training.gradient();
    std::vector<double> parameters = training.initial();
    for (double& p : parameters) p += 0.7;
    const auto at = gradient(parameters, 2);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      constexpr double step = 1e-3;  // the scores are float's
      const double center = parameters[i];
      parameters[i] = center + step;
      const double above = gradient(parameters, 2).loss;
      parameters[i] = center - step;
      const double below = gradient(parameters, 2).loss;
      parameters[i] = center;
      CHECK(std::abs((above - below) / (2 * step) - at.gradient[i]) <= 1e-4);
      CHECK(std::abs((above - below) / (2 * step) + at.gradient[i]) > 1e-2);
    }
  }
}

TEST_CASE("the mean loss of needle rows is the law's cross entropy", "[training]") {
  const NeedleTraining training({40}, NeedleRule::constant,
                                {.seed = 5, .batch = 20000, .device = simulate::Device::serial});
  const std::vector<double> beta{3.5};
  const auto at = training.gradient()(beta, 0);
  const auto loss = [&](double own) {
    return laws::needle_cross_entropy(laws::UniformLaw<double>{0, 1}, Count<double>(39),
                                      laws::NormalNeedle<double>{1.5, 0.5}, own)
        .value;
  };
  CHECK(std::abs(at.loss - loss(3.5)) <= 4.5 * at.loss_standard_error);
  CHECK(std::abs(at.loss - loss(4.0)) > 4.5 * at.loss_standard_error);
}

TEST_CASE("a trained inverse temperature ends at the population's optimum, not at another length's", "[training]") {
  constexpr std::int64_t length = 64;
  std::vector<double> learned;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const NeedleTraining training({length}, NeedleRule::constant,
                                  {.seed = seed, .batch = 64, .device = simulate::Device::serial});
    training::Trainer trainer(
        training.initial(), training.gradient(),
        {.adam = {.beta2 = 0.98}, .rate = {.peak = 1, .decay = training::RateDecay::cosine, .steps = 300}});
    while (trainer.steps() < 300) trainer.step();
    learned.push_back(trainer.parameters()[0]);
  }
  const statistics::Estimate mean(statistics::moments_of(learned.data(), std::ssize(learned)));
  const auto optimum = [](std::int64_t n) {
    return laws::optimal_needle_temperature(laws::UniformLaw<double>{0, 1}, Count<double>(n - 1),
                                            laws::NormalNeedle<double>{1.5, 0.5})
        .inverse_temperature;
  };
  CHECK(std::abs(mean.mean - optimum(length)) <= 5 * mean.standard_error);
  CHECK(std::abs(mean.mean - optimum(4 * length)) > 5 * mean.standard_error);
}

TEST_CASE("threads do not change a bit of a training on needles", "[training]") {
  const auto run = [](simulate::Device device, int threads) {
    const NeedleTraining training({16, 90}, NeedleRule::log_length_and_constant,
                                  {.seed = 5, .batch = 50, .device = device, .threads = threads});
    training::Trainer trainer(training.initial(), training.gradient(), {.rate = {.peak = 0.1}});
    while (trainer.steps() < 6) trainer.step();
    return trainer.parameters();
  };
  const auto expected = run(simulate::Device::serial, 1);
  CHECK(run(simulate::Device::openmp, 1) == expected);
  CHECK(run(simulate::Device::openmp, 3) == expected);
}

TEST_CASE("training on needles refuses what it cannot train, by name", "[training]") {
  const auto refused = [](std::vector<std::int64_t> lengths, const NeedleBatches& batches = {}) {
    return message_of([&] { NeedleTraining(lengths, NeedleRule::constant, batches); });
  };
  CHECK(names(refused({}), "number of lengths", "0"));
  CHECK(names(refused({5, 1}), "length", "1"));
  CHECK(names(refused({5}, {.needle_stddev = -2}), "needle_stddev", "-2"));
  CHECK(names(refused({5}, {.batch = 0}), "batch", "0"));
  CHECK(names(refused({5}, {.device = simulate::Device::cuda}), "device", "cuda"));
  const NeedleTraining training({5}, NeedleRule::constant, {});
  CHECK(names(message_of([&] { (void)training.gradient()(std::vector<double>{1, 2}, 0); }), "parameters", "2"));
}

}  // namespace incontext::testing::needle_training_test
