#include "incontext/sampled_training/regression_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/optimal_temperature.hpp"
#include "incontext/regression/pretrained_attention.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/simulate/regression/multihead_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "regression/regression_cases.hpp"
#include "sampled_training/erased_map.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {
namespace regression_training {
namespace {

using scoring::ApproximateSoftmax;
using scoring::LinearAttention;
using scoring::Softmax;
using training::ContextBatches;
using training::RegressionParameters;
using training::RegressionSetting;
using training::RegressionTraining;

ContextBatches batches(std::int64_t batch, int threads = 1) {
  return {.batch = batch, .seed = 5, .device = simulate::Device::serial, .threads = threads};
}

Model random_model(Eigen::Index d) {
  RegressionCases cases(static_cast<std::uint64_t>(70 + d));
  auto attention = cases.attention(d);
  attention.key_query /= 4;
  return {attention, cases.task(d)};
}

/// The largest difference between a batch's gradient and differences of its loss, relative to the largest entry.
template <class Map>
Worst gradient_error(const RegressionSetting& setting, const Map& map, double sign = 1) {
  const RegressionTraining training(setting, ErasedMap(map), batches(3));
  const auto gradient_of = training.gradient();
  std::vector<double> parameters = training.initial(0.7);
  const auto at = gradient_of(parameters, 4);
  double largest = 0;
  for (const double g : at.gradient) largest = std::max(largest, std::abs(g));
  Worst worst;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    constexpr double step = 1e-5;
    const double center = parameters[i];
    parameters[i] = center + step;
    const double above = gradient_of(parameters, 4).loss;
    parameters[i] = center - step;
    const double below = gradient_of(parameters, 4).loss;
    parameters[i] = center;
    worst.add(std::abs((above - below) / (2 * step) - sign * at.gradient[i]) / largest, "parameter ", i);
  }
  return worst;
}

/// |z| of all entries of the mean sampled gradient against a population gradient: the largest, by M alone if asked for.
double largest_z(const std::vector<statistics::Estimate>& sampled, const regression::ErrorGradient<double>& exact,
                 double key_query_factor = 1) {
  std::vector<double> theory{exact.error};
  auto scaled = exact.attention;
  scaled.key_query *= key_query_factor;
  for (const double g : training::layer_parameters(scaled)) theory.push_back(g);
  theory.push_back(exact.inverse_temperature);
  REQUIRE(sampled.size() == theory.size());
  double largest = 0;
  for (std::size_t i = 0; i < theory.size(); ++i) {
    const double z = std::abs(sampled[i].mean - theory[i]) / sampled[i].standard_error;
    if (!(z <= largest)) largest = z;
  }
  return largest;
}

}  // namespace

TEST_CASE("a training context is the literal trial's: the losses are those of the simulator", "[training]") {
  for (const Eigen::Index d : {1, 3}) {
    const Model model = random_model(d);
    const auto& attention = model.attention;
    const auto& task = model.task;
    const auto numbers = training::layer_parameters(attention);
    const auto check = [&](const auto& map) {
      const RegressionTraining training({task, 7}, ErasedMap(map), batches(100));
      const auto expected = simulate::regression_error<double>(
          attention, task, 7, map, {.seed = 5, .trials = 100, .device = simulate::Device::serial});
      const double loss = training.gradient()(numbers, 0).loss;
      CHECK(std::abs(loss - expected.mean) <= 1e-11 * expected.mean);
      CHECK(std::abs(training.gradient()(numbers, 1).loss - expected.mean) > 1e-3 * expected.mean);
    };
    check(Softmax<double>{0.8});
    check(ApproximateSoftmax<double>{1.25});
    check(LinearAttention<double>{2});
  }
}

TEST_CASE("a layer of heads predicts the sum of theirs, in any order, and one of value 0 is no head", "[training]") {
  const Model model = random_model(3);
  const auto& task = model.task;
  const Softmax<double> softmax{1};
  const auto layer = [&](std::initializer_list<std::pair<double, double>> heads) {
    std::vector<double> numbers;
    for (const auto& [scale, value] : heads) {
      const auto own =
          training::layer_parameters({scale * model.attention.key_query, numerics::Vector<double>::Zero(3), value});
      numbers.insert(numbers.end(), own.begin(), own.end());
    }
    const RegressionSetting setting{task, 7, RegressionParameters::layer, {}, static_cast<int>(heads.size())};
    return RegressionTraining(setting, ErasedMap(softmax), batches(100)).gradient()(numbers, 0);
  };
  const auto pair = layer({{0.8, 1.5}, {-0.5, -1.2}}), turned = layer({{-0.5, -1.2}, {0.8, 1.5}});
  const numerics::Vector<double> scales{{0.8, -0.5}}, values{{1.5, -1.2}};
  const auto literal =
      simulate::multihead_error<double>(model.attention.key_query, task, 7, scales, values,
                                        {.seed = 5, .trials = 100, .device = simulate::Device::serial});
  CHECK(std::abs(pair.loss - literal.estimates.front().mean) <= 1e-11 * pair.loss);
  CHECK(std::abs(layer({{0.8, 1.5}, {0.5, -1.2}}).loss - pair.loss) > 1e-3 * pair.loss);

  const std::size_t size = pair.gradient.size() / 2;
  std::vector<double> swapped(turned.gradient.begin() + static_cast<std::ptrdiff_t>(size), turned.gradient.end());
  swapped.insert(swapped.end(), turned.gradient.begin(), turned.gradient.begin() + static_cast<std::ptrdiff_t>(size));
  CHECK(std::abs(turned.loss - pair.loss) <= 1e-13 * pair.loss);
  Worst worst;
  for (std::size_t i = 0; i < 2 * size; ++i) worst.add(std::abs(swapped[i] - pair.gradient[i]), "parameter ", i);
  CHECK(worst <= 1e-12);

  const auto one = layer({{0.8, 1.5}}), beside_nothing = layer({{0.8, 1.5}, {-0.5, 0.0}});
  CHECK(beside_nothing.loss == one.loss);
  CHECK(std::equal(one.gradient.begin(), one.gradient.end(), beside_nothing.gradient.begin()));
  CHECK(beside_nothing.gradient.back() != 0);  // v_y of the second head has a slope
}

TEST_CASE("gradients of regression are differences of the loss, for every map and a user's own", "[training]") {
  const Model model = random_model(3);
  const auto& attention = model.attention;
  const auto& task = model.task;
  for (const auto parameters :
       {RegressionParameters::layer, RegressionParameters::scores, RegressionParameters::temperature}) {
    const RegressionSetting setting{task, 6, parameters, attention};
    CHECK(gradient_error(setting, Softmax<double>{0.7}) <= 1e-7);
    CHECK(gradient_error(setting, ApproximateSoftmax<double>{0.7}) <= 1e-7);
    CHECK(gradient_error(setting, LinearAttention<double>{0.7}) <= 1e-7);
    CHECK(gradient_error(setting, scoring::SSA<double>{1, 1.5}) <= 1e-7);
    CHECK(gradient_error(setting, foreign::Asinh<double>(2)) <= 1e-7);
    CHECK(gradient_error(setting, Softmax<double>{0.7}, -1) > 1);  // the check can fail
  }
  const RegressionSetting pair{task, 6, RegressionParameters::layer, {}, 2};
  CHECK(gradient_error(pair, Softmax<double>{0.7}) <= 1e-7);
  CHECK(gradient_error(pair, LinearAttention<double>{0.7}) <= 1e-7);
  CHECK(gradient_error(pair, Softmax<double>{0.7}, -1) > 1);
  // no temperature changes the weights of NormSoftmax where it divides by the row's own deviation
  CHECK(gradient_error({task, 6}, scoring::NormSoftmax<double>{64}) <= 1e-7);
}

TEST_CASE("sampled gradients have the exact population gradients as their means", "[training]") {
  constexpr std::int64_t l = 6, contexts = 1 << 16;
  const Model model = random_model(2);
  const auto& attention = model.attention;
  const auto& task = model.task;
  const auto numbers = training::layer_parameters(attention);
  const ApproximateSoftmax<double> approximate_map{1};
  const LinearAttention<double> linear_map{1};
  const RegressionTraining approximate({task, l}, ErasedMap(approximate_map), batches(1));
  const RegressionTraining linear({task, l}, ErasedMap(linear_map), batches(1));
  const auto by_approximate = approximate.evaluate(numbers, contexts), by_linear = linear.evaluate(numbers, contexts);
  const auto exact_approximate = regression::generalization_error_gradient(attention, task, l);
  const auto exact_linear = regression::linear_attention_error_gradient(attention, task, l);
  // 9 entries each: |z| beyond 4.8 once in 10^5 runs of one map
  CHECK(largest_z(by_approximate, exact_approximate) <= 4.8);
  CHECK(largest_z(by_linear, exact_linear) <= 4.8);
  // without (l - 1) / l in the moments of the context, the gradient by M is l / (l - 1) times as large
  CHECK(largest_z(by_approximate, exact_approximate, 6.0 / 5.0) > 8);
  CHECK(largest_z(by_linear, exact_approximate) > 8);
}

TEST_CASE("threads and interruptions do not change a bit of a regression run", "[training]") {
  const Model model = random_model(2);
  const auto& task = model.task;
  const auto run = [&](simulate::Device device, int threads, int pause) {
    auto own = batches(200, threads);
    own.device = device;
    const RegressionTraining training({task, 9}, Softmax<float>{1}, own);
    const training::TrainerOptions options{.rate = {.peak = 0.05}};
    training::Trainer trainer(training.initial(0.5), training.gradient(), options);
    while (trainer.steps() < pause) trainer.step();
    training::Trainer again(training.initial(0.1), training.gradient(), options);
    again.resume(trainer.state());
    while (again.steps() < 10) again.step();
    return again.parameters();
  };
  const auto expected = run(simulate::Device::serial, 1, 0);
  CHECK(run(simulate::Device::openmp, 1, 10) == expected);
  CHECK(run(simulate::Device::openmp, 3, 5) == expected);
}

TEST_CASE("a fine-tuned temperature lands on the optimal one, and not with the wrong sign", "[training]") {
  const auto pretraining =
      regression::LinearTask<double>::isotropic({.dimension = 2, .task_variance = 0.5, .noise_variance = 0.1});
  const auto shifted = pretraining.with_input_covariance_scaled(3.0);
  const auto attention = regression::pretrained_attention(pretraining, 8);
  const double theory = 1 / regression::optimal_temperature(attention, shifted, 8);
  const RegressionTraining training({shifted, 8, RegressionParameters::temperature, attention},
                                    ApproximateSoftmax<float>{1}, batches(1024));
  const auto trained = [&](double sign) {
    const auto own = training.gradient();
    training::Trainer trainer(training.initial(),
                              [&](std::span<const double> at, std::int64_t step) {
                                auto batch = own(at, step);
                                for (double& g : batch.gradient) g *= sign;
                                return batch;
                              },
                              {.rate = {.peak = 0.02, .decay = training::RateDecay::cosine, .steps = 800}});
    while (trainer.steps() < 800) trainer.step();
    return trainer.parameters().front();
  };
  CHECK(std::abs(trained(1) / theory - 1) <= 0.02);
  CHECK(std::abs(trained(-1) / theory - 1) > 1);
}

TEST_CASE("training of regression refuses what it cannot train, by name", "[training]") {
  const Model model = random_model(2);
  const auto& task = model.task;
  const auto refused = [](const RegressionSetting& setting, const ContextBatches& own = {}) {
    return message_of([&] { RegressionTraining(setting, Softmax<float>{1}, own); });
  };
  CHECK(names(refused({task, 1}), "context_length", "1"));
  CHECK(names(refused({task, 4, RegressionParameters::temperature}), "key_query", "0 x 0"));
  CHECK(names(refused({task, 4}, {.batch = 0}), "batch"));
  CHECK(names(refused({task, 4, RegressionParameters::layer, {}, 0}), "heads", "0"));
  CHECK(names(refused({task, 4, RegressionParameters::scores, model.attention, 2}), "heads is too large", "2"));
  const Softmax<double> softmax{1};
  const RegressionTraining training({task, 4}, ErasedMap(softmax), batches(2));
  CHECK(refuses<std::invalid_argument>([&] { (void)training.layer(std::vector<double>(3)); }, {"parameters", "3"}));
  CHECK(refuses<std::invalid_argument>([&] { (void)training.layer(training.initial(), 1); }, {"head", "1", "0 to 0"}));
  training::Trainer wild(std::vector<double>(training.size(), 1e200), training.gradient(), {});
  CHECK(refuses<std::domain_error>([&] { wild.step(); }, {"diverged", "step 0"}));
}

}  // namespace regression_training
}  // namespace incontext::testing
