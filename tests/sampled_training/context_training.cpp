#include "incontext/sampled_training/context_training.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "incontext/classification/context_attention.hpp"
#include "incontext/classification/context_constructions.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/training/checkpoint.hpp"
#include "sampled_training/erased_map.hpp"
#include "simulate/classification/contexts.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {
namespace {

using training::ContextBatches;
using training::ContextLayer;
using training::ContextParameters;
using training::ContextTraining;

constexpr simulate::SphereTask small_task{3, 2, 6};
constexpr scoring::Softmax<double> plain_softmax{1};

ContextBatches batches(std::int64_t batch, int threads = 1) {
  return {.batch = batch, .seed = 5, .device = simulate::Device::serial, .threads = threads};
}

/// The largest difference between a batch's gradient and differences of its loss, relative to the largest entry.
template <class Map>
Worst gradient_error(const ContextLayer& layer, const Map& map, double sign = 1) {
  const ContextTraining training(layer, ErasedMap(map), batches(3));
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

}  // namespace

TEST_CASE("the gradient of one context is the closed form's, for linear and softmax attention", "[training]") {
  for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
    const ContextLayer layer{.task = small_task, .scale = 0.75, .query = query};
    const double keys = query == QueryToken::included ? 7 : 6;
    const scoring::LinearAttention<double> plain_linear{1};
    const ContextTraining softmax(layer, ErasedMap(plain_softmax), batches(1));
    const ContextTraining linear(layer, ErasedMap(plain_linear), batches(1));
    const std::vector<double> parameters = softmax.initial(0.7);
    const training::ContextHead head = softmax.heads(parameters)[0];
    Worst worst;
    for (std::int64_t step = 0; step < 5; ++step) {
      const auto context =
          host_context(simulate::draw_sphere_context<double>(small_task, 5, static_cast<std::uint64_t>(step)));
      const std::int64_t label =
          simulate::draw_sphere_context<double>(small_task, 5, static_cast<std::uint64_t>(step)).query_label;
      for (const auto kind : {classification::AttentionKind::softmax, classification::AttentionKind::linear}) {
        const bool is_linear = kind == classification::AttentionKind::linear;
        const double share = is_linear ? 1 / keys : 1;  // the library's linear attention is a mean over the keys
        const auto expected = classification::context_attention<double>({head.key_query, share * head.output}, kind,
                                                                        0.75, context, label, query);
        const auto batch = (is_linear ? linear.gradient() : softmax.gradient())(parameters, step);
        worst.add(std::abs(batch.loss - expected.loss), "loss, step ", step);
        const auto square = head.key_query.size();
        const Eigen::Map<const classification::Matrix<double>> by_scores(batch.gradient.data(), 5, 5),
            by_output(batch.gradient.data() + square, 5, 5);
        worst.add((by_scores.leftCols(3) - expected.key_query_gradient).cwiseAbs().maxCoeff(), "M, step ", step);
        worst.add((by_output.bottomRows(2) - share * expected.output_gradient).cwiseAbs().maxCoeff(), "P, step ", step);
        CHECK(by_scores.rightCols(2).isZero(0));
        CHECK(by_output.topRows(3).isZero(0));
      }
    }
    CHECK(worst <= 1e-12);
  }
}

TEST_CASE("gradients are differences of the loss, for every parametrization, several heads and a user's own map",
          "[training]") {
  for (const auto parameters : {ContextParameters::merged, ContextParameters::factored}) {
    const ContextLayer one{.task = small_task, .scale = 0.5, .parameters = parameters};
    const ContextLayer two{.task = small_task, .scale = 0.5, .heads = 2, .parameters = parameters};
    CHECK(gradient_error(two, scoring::Softmax<double>{0.5}) <= 1e-7);
    CHECK(gradient_error(two, scoring::LinearAttention<double>{1}) <= 1e-7);
    CHECK(gradient_error(two, scoring::SSA<double>{1, 1.5}) <= 1e-7);
    CHECK(gradient_error(one, scoring::NormSoftmax<double>{64}) <= 1e-7);
    CHECK(gradient_error(one, foreign::Asinh<double>(2)) <= 1e-7);
    CHECK(gradient_error(one, scoring::Softmax<double>{0.5}, -1) > 1);  // the check can fail
  }
}

TEST_CASE("only the output learns where the scores are fixed", "[training]") {
  const ContextLayer layer{.task = small_task, .parameters = ContextParameters::merged_output};
  const ContextTraining training(layer, ErasedMap(plain_softmax), batches(4));
  training::Trainer trainer(training.initial(1), training.gradient(), {.rate = {.peak = 0.1}});
  const auto before = training.heads(trainer.parameters())[0];
  for (int step = 0; step < 3; ++step) trainer.step();
  const auto after = training.heads(trainer.parameters())[0];
  CHECK(after.key_query == before.key_query);
  CHECK(after.output != before.output);
}

TEST_CASE("threads and interruptions do not change a bit of a run", "[training]") {
  const ContextLayer layer{.task = {2, 3, 12}, .scale = 0.5, .parameters = ContextParameters::factored};
  const auto run = [&](simulate::Device device, int threads, int pause) {
    auto own = batches(200, threads);
    own.device = device;
    const ContextTraining training(layer, scoring::Softmax<float>{1}, own);
    const training::TrainerOptions options{.rate = {.peak = 0.05}};
    training::Trainer trainer(training.initial(0.5), training.gradient(), options);
    while (trainer.steps() < pause) trainer.step();
    const std::string file = "train_pause.checkpoint";
    training::save_checkpoint(file, "a run", trainer.state());
    training::Trainer again(training.initial(0.1), training.gradient(), options);
    again.resume(training::load_checkpoint(file, "a run"));
    std::remove(file.c_str());
    while (again.steps() < 12) again.step();
    return again.parameters();
  };
  const auto expected = run(simulate::Device::serial, 1, 0);
  CHECK(run(simulate::Device::serial, 1, 7) == expected);
  CHECK(run(simulate::Device::openmp, 1, 12) == expected);
  CHECK(run(simulate::Device::openmp, 3, 5) == expected);
}

TEST_CASE("linear attention reaches the loss of the best step of gradient descent, and not with the wrong sign",
          "[training]") {
  const ContextLayer layer{.task = {3, 5, 20}};
  const ContextTraining training(layer, scoring::LinearAttention<float>{1}, batches(256));
  const auto loss_of = [&](const std::vector<double>& parameters) { return training.evaluate(parameters, 16384)[0]; };
  double best = 1e9;
  for (double rate = 8; rate < 128; rate *= 1.1) {
    const auto merged = classification::merged(classification::linear_construction<double>(3, 5, 20, rate));
    std::vector<double> parameters;
    for (const classification::Matrix<double>& part :
         {merged.key_query, classification::Matrix<double>(21 * merged.output)}) {
      parameters.insert(parameters.end(), part.data(), part.data() + part.size());
    }
    best = std::min(best, loss_of(parameters).mean);
  }
  const auto trained = [&](double sign) {
    const training::GradientFunction gradient = [&, own = training.gradient()](std::span<const double> at,
                                                                               std::int64_t step) {
      auto batch = own(at, step);
      for (double& g : batch.gradient) g *= sign;
      return batch;
    };
    training::Trainer trainer(training.initial(0.5), gradient,
                              {.rate = {.peak = 0.05, .decay = training::RateDecay::cosine, .steps = 1500}});
    while (trainer.steps() < 1500) trainer.step();
    return loss_of(trainer.parameters());
  };
  const auto reached = trained(1);
  CHECK(reached.mean <= best + 0.004);
  CHECK(reached.mean >= best - 0.004);
  CHECK(trained(-1).mean > std::log(5.0));
}

TEST_CASE("training in context refuses what it cannot train, by name", "[training]") {
  const auto refused = [](const ContextLayer& layer, const ContextBatches& own = {}) {
    return message_of([&] { ContextTraining(layer, scoring::Softmax<float>{1}, own); });
  };
  CHECK(names(refused({.task = {3, 2, 7}}), "context_length", "7"));
  CHECK(names(refused({.task = {3, 2, 8, simulate::ContextLaw::independent}}), "law"));
  CHECK(names(refused({.task = small_task, .scale = 0}), "scale"));
  CHECK(names(refused({.task = small_task, .heads = 0}), "heads"));
  CHECK(names(refused({.task = small_task}, {.batch = 0}), "batch"));
  const ContextTraining training(ContextLayer{.task = small_task}, ErasedMap(plain_softmax), batches(2));
  CHECK(refuses<std::invalid_argument>([&] { (void)training.heads(std::vector<double>(3)); }, {"parameters", "3"}));
  training::Trainer wild(std::vector<double>(training.size(), 1e308), training.gradient(), {});
  CHECK(refuses<std::domain_error>([&] { wild.step(); }, {"diverged", "step 0"}));
}

}  // namespace incontext::testing
