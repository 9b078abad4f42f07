#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/support/build.hpp"
#include "incontext/simulate/classification/classification_search.hpp"

// Our side of bench/compare classification. Prints the workload first, then takes one order per line:
//   {"work": "grid" | "search", "trials": n, "seed": s, "threads": t}
// A grid returns all losses and accuracies, a search the best point of a coarse grid that it refines.

namespace {

using namespace incontext;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using simulate::ClassificationRule;

const simulate::SphereTask task{5, 5, 100};

simulate::ClassificationGrid grid_of(std::int64_t kappas, std::int64_t gains) {
  return {ClassificationRule::adaptive, simulate::log_grid(0.1, 300, kappas), simulate::log_grid(1, 3000, gains)};
}

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Json run_grid(const simulate::Options& options) {
  const auto grid = grid_of(100, 100);
  const auto start = Clock::now();
  const auto run = simulate::classification_grid(task, grid, options);
  const double seconds = seconds_since(start);
  std::vector<double> losses, errors, accuracies;
  for (std::size_t i = 0; i < run.kappas * run.gains; ++i) {
    losses.push_back(run.run.estimates[i].mean);
    errors.push_back(run.run.estimates[i].standard_error);
  }
  for (std::size_t i = 0; i < run.kappas; ++i) accuracies.push_back(run.accuracy(i).mean);
  return {{"trials", run.run.trials},
          {"seconds", seconds},
          {"loss", losses},
          {"standard_error", errors},
          {"accuracy", accuracies}};
}

Json run_search(const simulate::Options& options) {
  const auto start = Clock::now();
  const auto found = simulate::classification_search(task, grid_of(12, 12), options);
  return {{"trials", options.trials},   {"seconds", seconds_since(start)},
          {"kappa", found.best.kappa},  {"gain", found.best.gain},
          {"loss", found.loss.mean},    {"standard_error", found.loss.standard_error},
          {"inside", found.is_inside()}};
}

Json answer(const Json& order) {
  simulate::Options options;
  options.trials = order.at("trials");
  options.seed = order.at("seed");
  options.threads = order.at("threads");
  return order.at("work") == "search" ? run_search(options) : run_grid(options);
}

}  // namespace

int main() {
  try {
    const auto grid = grid_of(100, 100);
    std::cout << Json{{"name", "incontext"},
                      {"version", bench::build_version},
                      {"commit", bench::build_commit()},
                      {"compiler", bench::build_compiler},
                      {"flags", bench::build_flags},
                      {"workload",
                       {{"dimension", task.dimension},
                        {"classes", task.classes},
                        {"context_length", task.context_length},
                        {"kappas", grid.kappas},
                        {"gains", grid.gains}}}}
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << answer(Json::parse(line)) << std::endl;
  } catch (const std::exception& error) {
    std::cerr << "bench-peers-classification: " << error.what() << '\n';
    return 2;
  }
}
