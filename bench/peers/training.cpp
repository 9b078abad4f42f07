#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/build.hpp"
#include "incontext/sampled_training/context_training.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"

// Our side of bench/compare training. Prints the workload first, then takes one order per line:
//   {"work": "linear" | "softmax", "steps": n, "seed": s, "threads": t}
// and answers with the seconds that the steps took and the mean loss of the last tenth of them. The workload has a
// batch of contexts with its loss and gradient, so that a peer can show that it computes the same.

namespace {

using namespace incontext;
using Json = nlohmann::json;

struct Work {
  const char* name;
  simulate::SphereTask task;
  double scale;
  std::int64_t batch;
  double rate;
};

constexpr std::int64_t check_batch = 8;
constexpr double initial_scale = 0.5;

const Work works[] = {{"linear", {5, 5, 100}, 1.0, 512, 0.01},
                      {"softmax", {3, 5, 100}, 0.35355339059327373, 256, 0.02}};

/// Calls visit(training) with the layer of a work on batches of a size.
template <class Visit>
auto with_training(const Work& work, const training::ContextBatches& batches, const Visit& visit) {
  const training::ContextLayer layer{.task = work.task, .scale = work.scale};
  if (std::string(work.name) == "linear") {
    return visit(training::ContextTraining(layer, scoring::LinearAttention<float>{1}, batches));
  }
  return visit(training::ContextTraining(layer, scoring::Softmax<float>{1}, batches));
}

Json context_of(const Work& work, std::int64_t index) {
  const auto context = simulate::draw_sphere_context<float>(work.task, 1, static_cast<std::uint64_t>(index));
  return {{"inputs", context.inputs},
          {"labels", context.labels},
          {"query", context.query},
          {"query_label", context.query_label}};
}

Json workload_of(const Work& work) {
  Json contexts = Json::array();
  for (std::int64_t i = 0; i < check_batch; ++i) contexts.push_back(context_of(work, i));
  return with_training(work, {.batch = check_batch, .seed = 1}, [&](const auto& training) -> Json {
    const auto parameters = training.initial(initial_scale);
    const auto at = training.gradient()(parameters, 0);
    return {{"dimension", work.task.dimension},
            {"classes", work.task.classes},
            {"context_length", work.task.context_length},
            {"scale", work.scale},
            {"batch", work.batch},
            {"rate", work.rate},
            {"parameters", parameters},
            {"check", {{"contexts", contexts}, {"loss", at.loss}, {"gradient", at.gradient}}}};
  });
}

Json train_for(const Work& work, const Json& order) {
  const std::int64_t steps = order.at("steps"), last = steps - steps / 10;
  const training::ContextBatches batches{.batch = work.batch, .seed = order.at("seed"), .threads = order.at("threads")};
  return with_training(work, batches, [&](const auto& training) -> Json {
    training::Trainer trainer(training.initial(initial_scale), training.gradient(),
                              {.rate = {.peak = work.rate}, .largest_gradient_norm = 10});
    training::StepRecord record;
    double loss = 0;
    const auto start = std::chrono::steady_clock::now();
    while (trainer.steps() < steps && trainer.step(&record)) {
      if (record.step >= last) loss += record.loss;
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return {{"steps", steps}, {"seconds", seconds.count()}, {"loss", loss / static_cast<double>(steps - last)}};
  });
}

Json answer(const Json& order) {
  for (const Work& work : works) {
    if (order.at("work") == work.name) return train_for(work, order);
  }
  throw std::invalid_argument("unknown work: " + order.at("work").dump());
}

}  // namespace

int main() {
  try {
    Json workload;
    for (const Work& work : works) workload[work.name] = workload_of(work);
    std::cout << Json{{"name", "incontext"},
                      {"version", bench::build_version},
                      {"commit", bench::build_commit()},
                      {"compiler", bench::build_compiler},
                      {"flags", bench::build_flags},
                      {"workload", workload}}
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(Json::parse(line)) << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "bench-peers-training: " << error.what() << '\n';
    return 2;
  }
}
