#include <sys/resource.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/support/build.hpp"
#include "bench/support/workload.hpp"
#include "incontext/random/normal.hpp"
#include "incontext/simulate/regression/regression_error.hpp"

// Our side of bench/compare simulation. Prints the workload and its exact errors first, then takes one order per line, as
// in bench/peers/protocol.py:
//   {"work": "literal" | "conditional" | "sufficient_statistics", "trials": n, "seed": s, "threads": t}
//   {"work": "sampler", "precision": "float" | "double" | "words" | "box_muller"}, the last two: its parts alone, in float

namespace {

using namespace incontext;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

Json describe(const bench::Workload& workload) {
  Json rows = Json::array();
  for (Eigen::Index i = 0; i < workload.attention.key_query.rows(); ++i) {
    Json row = Json::array();
    for (Eigen::Index j = 0; j < workload.attention.key_query.cols(); ++j) {
      row.push_back(workload.attention.key_query(i, j));
    }
    rows.push_back(row);
  }
  Json errors = Json::array();
  for (const double temperature : workload.temperatures) errors.push_back(workload.error(temperature));
  return {{"dimension", workload.task.dimension()},
          {"context_length", workload.context_length},
          {"input_stddev", std::sqrt(workload.task.input_covariance()(0, 0))},
          {"task_stddev", std::sqrt(workload.task.task_covariance()(0, 0))},
          {"noise_stddev", std::sqrt(workload.task.noise_variance())},
          {"key_query", rows},
          {"temperatures", workload.temperatures},
          {"optimal_temperature", workload.error.optimal_temperature()},
          {"errors", errors},
          {"normals_per_trial", workload.normals_per_trial()}};
}

simulate::Estimator estimator_named(const std::string& work) {
  if (work == "conditional") return simulate::Estimator::conditional;
  if (work == "sufficient_statistics") return simulate::Estimator::sufficient_statistics;
  return simulate::Estimator::literal;
}

Json run_trials(const bench::Workload& workload, const Json& order) {
  simulate::Options options;
  options.trials = order.at("trials");
  options.seed = order.at("seed");
  options.threads = order.at("threads");
  options.device = simulate::Device::openmp;
  const auto maps = simulate::at_temperatures<scoring::ApproximateSoftmax<double>>(workload.temperatures);
  const auto start = Clock::now();
  const auto run = simulate::regression_error<float>(workload.attention, workload.task, workload.context_length, maps,
                                                     options, {}, estimator_named(order.at("work")));
  const double seconds = seconds_since(start);
  Json means = Json::array();
  Json errors = Json::array();
  for (const auto& estimate : run.estimates) {
    means.push_back(estimate.mean);
    errors.push_back(estimate.standard_error);
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"trials", run.trials},
          {"seconds", seconds},
          {"us_per_trial", 1e6 * seconds / static_cast<double>(run.trials)},
          {"means", means},
          {"standard_errors", errors},
          {"peak_kib", usage.ru_maxrss}};
}

constexpr int lanes = 64;
constexpr int blocks = 64;

/// Nanoseconds per number where fill(out, block) writes one block, on one thread into a buffer that stays in the cache,
/// measured for a tenth of a second.
template <class T, int per_block, class Fill>
double nanoseconds(const Fill& fill) {
  alignas(64) static T buffer[blocks][per_block][lanes];
  std::uint32_t block = 0;
  const auto start = Clock::now();
  double seconds = 0;
  while (seconds < 0.1) {
    for (int round = 0; round < 100; ++round) {
      for (auto& out : buffer) fill(out, block++);
      asm volatile("" : : "r"(&buffer) : "memory");  // as if the buffer were read
    }
    seconds = seconds_since(start);
  }
  return 1e9 * seconds / (static_cast<double>(block) * per_block * lanes);
}

/// A number of the sampler, or one of its two parts alone.
double time_sampler(const std::string& part) {
  const random::LaneStream<lanes> stream({1, 0}, random::StreamTag(0));
  const auto normals = [&](auto& out, std::uint32_t block) { random::normals(stream, block, out); };
  if (part == "float") return nanoseconds<float, 4>(normals);
  if (part == "double") return nanoseconds<double, 2>(normals);
  if (part == "words") {
    return nanoseconds<std::uint32_t, 4>([&](auto& out, std::uint32_t block) { stream.words(block, out); });
  }
  if (part != "box_muller") throw std::invalid_argument("bench-peers-simulation: no such part of the sampler: " + part);
  static std::uint32_t words[4][lanes];
  stream.words(0, words);
  return nanoseconds<float, 4>([](auto& out, std::uint32_t) {
    for (int pair = 0; pair < 4; pair += 2) {
      for (int lane = 0; lane < lanes; ++lane) {
        random::box_muller(words[pair][lane], words[pair + 1][lane], out[pair][lane], out[pair + 1][lane]);
      }
    }
    asm volatile("" : : "r"(&words) : "memory");
  });
}

}  // namespace

int main() {
  try {
    const auto workload = bench::make_workload();
    std::cout << Json{{"name", "incontext"},
                      {"version", bench::build_version},
                      {"how", "literal trials in float32, 64 side by side, OpenMP"},
                      {"commit", bench::build_commit()},
                      {"compiler", bench::build_compiler},
                      {"flags", bench::build_flags},
                      {"workload", describe(workload)}}
              << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      const Json order = Json::parse(line);
      if (order.at("work") == "sampler") {
        std::cout << Json{{"ns_per_normal", time_sampler(order.at("precision"))}} << std::endl;
      } else {
        std::cout << run_trials(workload, order) << std::endl;
      }
    }
  } catch (const std::exception& error) {
    std::cerr << "bench-peers-simulation: " << error.what() << '\n';
    return 2;
  }
}
