#include "incontext/sampled_training/reasoning_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/training/checkpoint.hpp"
#include "incontext/training/reasoning_task.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {
namespace reasoning_training {

using training::GradientScaling;
using training::ReasoningAnswers;
using training::ReasoningBatches;
using training::ReasoningTraining;
using training::TransformerPart;

constexpr training::ReasoningShape small_shape{.largest_value = 4, .width = 16, .heads = 2, .hidden = 32};

ReasoningBatches serially(ReasoningBatches batches) {
  batches.device = simulate::Device::serial;
  return batches;
}

std::int64_t number_of(const training::ReasoningExample& example, int largest_value) {
  std::int64_t number = 0;
  for (const auto value : example.values) number = number * (largest_value + 1) + value;
  return number;
}

double norm_of(const training::ReasoningLayout& layout, const std::vector<double>& gradient, TransformerPart part) {
  return layout.part(gradient.data(), part).norm();
}

}  // namespace reasoning_training

using namespace reasoning_training;

TEST_CASE("every input of the reasoning task is trained on or held out", "[training]") {
  const ReasoningTraining training(small_shape, scoring::Softmax<double>{2}, serially({.seed = 3}));
  CHECK(std::ssize(training.trained()) == training::reasoning_task(4).training);
  std::set<std::int64_t> seen;
  for (const auto* set : {&training.trained(), &training.held_out()}) {
    for (const auto& example : *set) seen.insert(number_of(example, 4));
  }
  CHECK(std::ssize(seen) == training::reasoning_task(4).inputs);
  const ReasoningTraining other(small_shape, scoring::Softmax<double>{2}, serially({.seed = 4}));
  CHECK(number_of(other.trained()[0], 4) != number_of(training.trained()[0], 4));
}

TEST_CASE("the full batch has the gradient of reasoning_gradient, for a user's own map too", "[training]") {
  const auto check = [](const auto& map) {
    const ReasoningTraining training(small_shape, map, serially({.seed = 3}));
    const std::vector<double> parameters = training.initial(0.4);
    const auto batch = training.gradient()(parameters, 0);
    const auto expected =
        training::reasoning_gradient(training.layout(), map, std::span<const double>(parameters), training.trained());
    CHECK(batch.gradient == expected.gradient);
    CHECK(batch.loss == expected.loss);
    CHECK(batch.accuracy == expected.accuracy);
  };
  check(scoring::Softmax<double>{2});
  check(foreign::SinkSoftmax<double>(1.5));
}

TEST_CASE("batches are drawn anew at every step, and their mean gradient is the full one", "[training]") {
  const scoring::Softmax<double> map{2};
  const ReasoningTraining full(small_shape, map, serially({.seed = 3}));
  const ReasoningTraining drawn(small_shape, map, serially({.seed = 3, .batch = 40}));
  const std::vector<double> parameters = full.initial(0.4);
  const auto expected = full.gradient()(parameters, 0);
  const auto of_batch = drawn.gradient();
  CHECK(of_batch(parameters, 0).gradient == of_batch(parameters, 0).gradient);
  CHECK(of_batch(parameters, 0).gradient != of_batch(parameters, 1).gradient);
  constexpr int steps = 400;
  double mean = 0, square = 0;
  for (int step = 0; step < steps; ++step) {
    const double loss = of_batch(parameters, step).loss;
    mean += loss / steps;
    square += loss * loss / steps;
  }
  const double error = std::sqrt((square - mean * mean) / steps);
  CHECK(std::abs(mean - expected.loss) <= 5 * error);
  CHECK(std::abs(mean - 1.02 * expected.loss) > 5 * error);  // resolved to 2%
}

TEST_CASE("matched gradients of queries and keys have the length of the values'", "[training]") {
  const scoring::Softmax<double> map{2};
  const ReasoningTraining plain(small_shape, map, serially({.seed = 3}));
  const ReasoningTraining matched(small_shape, map, serially({.seed = 3, .scaling = GradientScaling::matched}));
  const std::vector<double> parameters = plain.initial(0.1);
  const auto before = plain.gradient()(parameters, 0).gradient, after = matched.gradient()(parameters, 0).gradient;
  const auto& layout = plain.layout();
  const double value = norm_of(layout, before, TransformerPart::value);
  CHECK(norm_of(layout, before, TransformerPart::query) < 0.5 * value);  // there is something to match
  CHECK(std::abs(norm_of(layout, after, TransformerPart::query) / value - 1) <= 1e-12);
  CHECK(std::abs(norm_of(layout, after, TransformerPart::key) / value - 1) <= 1e-12);
  CHECK(layout.part(after.data(), TransformerPart::mlp_in) == layout.part(before.data(), TransformerPart::mlp_in));
  const auto measured = matched.measure(parameters, 0);
  CHECK(std::abs(measured.query_gradient - norm_of(layout, before, TransformerPart::query)) <= 1e-15);
  CHECK(std::abs(measured.value_gradient - value) <= 1e-15);
}

TEST_CASE("a constant factor on a gradient changes nothing under Adam", "[training]") {
  const ReasoningTraining training(small_shape, scoring::Softmax<double>{2}, serially({.seed = 3}));
  const auto run = [&](double factor) {
    const training::GradientFunction scaled = [factor, own = training.gradient(), &training](std::span<const double> at,
                                                                                             std::int64_t step) {
      auto batch = own(at, step);
      training.layout().part(batch.gradient.data(), TransformerPart::query) *= factor;
      return batch;
    };
    training::Trainer trainer(training.initial(0.3), scaled, {.adam = {.epsilon = 1e-30}, .rate = {.peak = 1e-3}},
                              training.decays());
    for (int step = 0; step < 5; ++step) trainer.step();
    return trainer.parameters();
  };
  const auto once = run(1), tenfold = run(10);
  Worst worst;
  for (std::size_t i = 0; i < once.size(); ++i) worst.add(std::abs(once[i] - tenfold[i]), "parameter ", i);
  CHECK(worst <= 1e-12);
}

TEST_CASE("a map may change from step to step", "[training]") {
  const scoring::HeatSchedule<double> heat{.start_temperature = 0.5, .end_temperature = 4, .epochs = 10};
  const ReasoningTraining<scoring::Softmax<double>> heated(
      small_shape,
      [heat](std::int64_t step) { return scoring::Softmax<double>{heat.temperature(static_cast<int>(step))}; },
      serially({.seed = 3}));
  const std::vector<double> parameters = heated.initial(0.4);
  for (const int step : {0, 3, 9}) {
    const ReasoningTraining fixed(small_shape, scoring::Softmax<double>{heat.temperature(step)}, serially({.seed = 3}));
    CHECK(heated.gradient()(parameters, step).gradient == fixed.gradient()(parameters, 0).gradient);
  }
  CHECK(heated.gradient()(parameters, 0).gradient != heated.gradient()(parameters, 3).gradient);
}

TEST_CASE("threads and interruptions do not change a bit of a run on the reasoning task", "[training]") {
  const auto run = [&](simulate::Device device, int threads, int pause) {
    const ReasoningTraining training({.largest_value = 5, .width = 16, .heads = 4, .hidden = 24},
                                     scoring::NormSoftmax<float>{2},
                                     {.seed = 6, .batch = 300, .device = device, .threads = threads});
    const training::TrainerOptions options{.adam = {.weight_decay = 1}, .rate = {.peak = 0.01}};
    training::Trainer trainer(training.initial(), training.gradient(), options, training.decays());
    while (trainer.steps() < pause) trainer.step();
    const std::string file = "reasoning_pause.checkpoint";
    training::save_checkpoint(file, "reasoning", trainer.state());
    training::Trainer again(training.initial(0.3), training.gradient(), options, training.decays());
    again.resume(training::load_checkpoint(file, "reasoning"));
    std::remove(file.c_str());
    while (again.steps() < 8) again.step();
    return again.parameters();
  };
  const auto expected = run(simulate::Device::serial, 1, 0);
  CHECK(run(simulate::Device::serial, 1, 5) == expected);
  CHECK(run(simulate::Device::openmp, 1, 8) == expected);
  CHECK(run(simulate::Device::openmp, 3, 2) == expected);
}

TEST_CASE("the task is learned, not with gradients of the wrong sign, and not where coins answer", "[training]") {
  const auto train = [](ReasoningAnswers answers, double sign, std::int64_t steps) {
    const ReasoningTraining training({.largest_value = 5, .width = 32, .heads = 4, .hidden = 64},
                                     scoring::NormSoftmax<float>{2},
                                     serially({.seed = 2, .training_share = 0.6, .batch = 1024, .answers = answers}));
    const training::GradientFunction gradient = [sign, own = training.gradient()](std::span<const double> at,
                                                                                  std::int64_t step) {
      auto batch = own(at, step);
      for (double& g : batch.gradient) g *= sign;
      return batch;
    };
    training::Trainer trainer(
        training.initial(), gradient,
        {.adam = {.beta2 = 0.98, .weight_decay = answers == ReasoningAnswers::rule ? 1.0 : 0.0},
         .rate = {.peak = 5e-3, .warmup_steps = 50, .decay = training::RateDecay::cosine, .steps = steps}},
        training.decays());
    training::StepRecord record{.loss = 1};
    while (trainer.steps() < steps && record.loss > 0.03) trainer.step(&record);  // at 0.03 it is learned
    return training.measure(trainer.parameters(), trainer.steps());
  };
  const auto task = training::reasoning_task(5);
  const auto learned = train(ReasoningAnswers::rule, 1, 600);
  CHECK(learned.held_out_accuracy > 0.9);
  CHECK(learned.loss < 0.1);
  const auto coin = train(ReasoningAnswers::coin, 1, 300);
  CHECK(std::abs(coin.held_out_loss - task.plateau_cross_entropy) <= 5 * coin.held_out_standard_error);
  CHECK(coin.held_out_accuracy < training::eureka_accuracy);
  CHECK(train(ReasoningAnswers::rule, -1, 60).loss > std::log(6.0));
}

TEST_CASE("training on the reasoning task refuses what it cannot train, by name", "[training]") {
  const auto refused = [](const training::ReasoningShape& shape, const ReasoningBatches& batches, float tau = 2) {
    return message_of([&] { ReasoningTraining(shape, scoring::Softmax<float>{tau}, batches); });
  };
  CHECK(names(refused({.width = 18}, {}), "width", "18"));
  CHECK(names(refused(small_shape, {.training_share = 1}), "training_share", "1"));
  CHECK(names(refused(small_shape, {.training_share = 1e-9}), "examples to train on", "0"));
  CHECK(names(refused(small_shape, {.batch = -1}), "batch", "-1"));
  CHECK(names(refused(small_shape, {.threads = -1}), "threads", "-1"));
  CHECK(names(refused(small_shape, {.device = simulate::Device::cuda}), "device", "cuda"));
  CHECK(names(refused(small_shape, {}, 0), "temperature", "0"));
  const ReasoningTraining training(small_shape, scoring::Softmax<double>{2}, serially({}));
  CHECK(names(message_of([&] { (void)training.initial(0); }), "stddev", "0"));
  CHECK(
      refuses<std::invalid_argument>([&] { (void)training.measure(std::vector<double>(3), 0); }, {"parameters", "3"}));
  training::Trainer wild(std::vector<double>(static_cast<std::size_t>(training.layout().size()), 1e308),
                         training.gradient(), {});
  CHECK(refuses<std::domain_error>([&] { wild.step(); }, {"diverged", "step 0"}));
}

}  // namespace incontext::testing
