#include "incontext/simulate/classification/classification_grid.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "incontext/simulate/classification/classification_search.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/statistics/moments.hpp"
#include "simulate/classification/contexts.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace classification_grid_test {

// Compares grids with single classifiers on the same contexts, and searches with finer grids; checks the best
// classifiers of the sphere task by paired differences, and their losses against plain loops (|z| <= 5, fixed seeds).

namespace {

using namespace incontext;
using simulate::AxisPlace;
using simulate::ClassificationGrid;
using simulate::ClassificationMetric;
using simulate::ClassificationRule;
using simulate::Classifier;
using simulate::GridChart;
using simulate::log_grid;
using simulate::SphereTask;

constexpr std::uint64_t seed = 31;

simulate::ClassificationOptimum best_of(const SphereTask& task, const ClassificationGrid& grid, std::int64_t trials) {
  return simulate::classification_search(task, grid, {.seed = seed, .trials = trials, .threads = 1});
}

/// The loss of `a` minus that of `b` on the same contexts, in its standard errors. It takes any two rules, and computes
/// trial by trial.
double paired_z(const SphereTask& task, const Classifier& a, const Classifier& b, std::uint64_t trials) {
  const std::vector<simulate::ClassificationPoint<float>> list{simulate::detail::point_of<float>(a),
                                                               simulate::detail::point_of<float>(b)};
  const simulate::ClassificationTrial<float> trial{simulate::detail::draw_of<float>(task), list.data(), 2};
  double sum = 0, square = 0;
  for (std::uint64_t first = 0; first < trials; first += 64) {
    const auto values = testing::values_of<64>(trial, seed + 1, first);
    for (std::size_t lane = 0; lane < 64; ++lane) {
      const double difference = static_cast<double>(values[lane]) - static_cast<double>(values[5 * 64 + lane]);
      sum += difference;
      square += difference * difference;
    }
  }
  const auto n = static_cast<double>(trials);
  return sum / std::sqrt(square - sum * sum / n);
}

/// Losses on the circle for five classes of twenty points, by the standard library alone: points are drawn on the arcs
/// between the cells' ends.
std::vector<statistics::Estimate> plain_losses(const std::vector<Classifier>& list, std::size_t contexts) {
  std::mt19937_64 engine(11);
  std::uniform_real_distribution<double> uniform(0, 1);
  const double turn = 2 * std::acos(-1.0);
  std::vector<std::vector<double>> losses(list.size());
  for (std::size_t context = 0; context < contexts; ++context) {
    double at[5], scores[100];
    for (double& angle : at) angle = turn * uniform(engine);
    std::sort(at, at + 5);
    const auto draw = [&](std::size_t c) {
      const double before = c == 0 ? at[4] - turn : at[c - 1], after = c == 4 ? at[0] + turn : at[c + 1];
      return (before + at[c]) / 2 + (after - before) / 2 * uniform(engine);
    };
    const auto label = static_cast<std::size_t>(5 * uniform(engine));
    const double query = draw(label);
    for (std::size_t j = 0; j < 100; ++j) scores[j] = std::cos(draw(j / 20) - query);
    for (std::size_t i = 0; i < list.size(); ++i) {
      const bool is_linear = list[i].rule == ClassificationRule::linear;
      double votes[5] = {}, total = 0, sum = 0;
      for (std::size_t j = 0; j < 100; ++j) {
        const double weight = is_linear ? scores[j] : std::exp(list[i].kappa * (scores[j] - 1));
        votes[j / 20] += weight;
        total += weight;
      }
      const double scale = list[i].gain / (list[i].rule == ClassificationRule::adaptive ? total : 100);
      for (const double vote : votes) sum += std::exp(scale * (vote - votes[label]));
      losses[i].push_back(std::log(sum));
    }
  }
  std::vector<statistics::Estimate> estimates;
  for (const auto& values : losses) {
    estimates.emplace_back(statistics::moments_of(values.data(), static_cast<std::int64_t>(values.size())));
  }
  return estimates;
}

}  // namespace

TEST_CASE("classification grid: every point is its classifier's loss and accuracy on the same contexts") {
  const SphereTask task{3, 4, 24};
  const simulate::Options options{.seed = seed, .trials = 600};
  for (const ClassificationGrid& grid :
       {ClassificationGrid{ClassificationRule::linear, {0}, {2, 30}},
        ClassificationGrid{ClassificationRule::kernel, {0, 1, 9}, {2, 50}},
        ClassificationGrid{ClassificationRule::adaptive, {-3, 0, 2, 40}, {3, 11}},
        ClassificationGrid{ClassificationRule::adaptive_with_query, {-3, 0, 2, 40}, {3, 11}},
        ClassificationGrid{ClassificationRule::adaptive, {-1, 0, 1}, {5, 20}, GridChart::slope}}) {
    const auto run = simulate::classification_grid(task, grid, options);
    std::vector<Classifier> list;
    for (const double kappa : grid.kappas) {
      for (const double gain : grid.gains) list.push_back(grid.classifier(kappa, gain));
    }
    const auto single = simulate::classification(task, list, options);
    for (std::size_t i = 0; i < list.size(); ++i) {
      CAPTURE(list[i].kappa, list[i].gain);
      const auto& loss = run.loss(i / grid.gains.size(), i % grid.gains.size());
      const auto& expected = single.at(i, ClassificationMetric::loss);
      CHECK(std::abs(loss.mean - expected.mean) <= 2e-6 * (1 + expected.mean));
      CHECK(std::abs(loss.standard_error - expected.standard_error) <= 1e-6 * (1 + expected.mean));
      CHECK(std::abs(run.accuracy(i / grid.gains.size()).mean - single.at(i, ClassificationMetric::accuracy).mean) <=
            2.0 / 600);  // a tie of float's may fall either way
    }
  }
}

TEST_CASE("classification grid: slope 0 is the linear rule, and its neighbors are close to it on either side") {
  const ClassificationGrid grid{ClassificationRule::adaptive, {-0.01, 0, 0.01}, {20}, GridChart::slope};
  const auto run = simulate::classification_grid<double>({4, 3, 30}, grid, {.seed = seed, .trials = 500});
  const double below = run.loss(0, 0).mean, linear = run.loss(1, 0).mean, above = run.loss(2, 0).mean;
  CHECK(std::abs((below + above) / 2 - linear) <= 1e-4);
  CHECK(std::abs(below - linear) <= 0.02);
  CHECK(below != above);
}

TEST_CASE("classification grid: paired differences are exact and far surer than the losses") {
  const SphereTask task{3, 5, 50};
  const ClassificationGrid grid{ClassificationRule::adaptive, {10, 11}, {5, 6}};
  const auto run = simulate::classification_grid(task, grid, {.seed = seed, .trials = 2000}, 0);
  CHECK(run.loss_difference(0, 0).mean == 0);
  for (std::size_t i = 1; i < 4; ++i) {
    const auto& difference = run.loss_difference(i / 2, i % 2);
    CHECK(std::abs(difference.mean - (run.loss(i / 2, i % 2).mean - run.loss(0, 0).mean)) <= 1e-6);
    // a difference has the rounding of its two losses, however small it is itself
    CHECK(difference.rounding >= run.loss(i / 2, i % 2).rounding + run.loss(0, 0).rounding);
    CHECK(difference.rounding > 0);
    CHECK(difference.standard_error < 0.3 * run.loss(0, 0).standard_error);
  }
}

TEST_CASE("classification grid: side by side or alone, on any device, the same bits") {
  const ClassificationGrid grid{ClassificationRule::adaptive_with_query, {-2, 0.5, 20}, {1, 9, 70}};
  const auto rows = simulate::detail::rows_of<float>(grid);
  const std::vector<float> gains(grid.gains.begin(), grid.gains.end());
  for (const SphereTask& task : {SphereTask{2, 5, 25}, {3, 6, 18}, {4, 3, 20, simulate::ContextLaw::independent}}) {
    const simulate::ClassificationGridTrial<float> trial{
        simulate::detail::draw_of<float>(task), rows.data(), 3, gains.data(), 3, 4};
    CHECK(testing::lanes_agree(trial, seed));
  }
  CHECK(testing::devices_agree([&](simulate::Device device, int threads) {
    return simulate::classification_grid({3, 5, 20}, grid,
                                         {.seed = 5, .trials = 1500, .device = device, .threads = threads})
        .run;
  }));
}

TEST_CASE("classification grid: row by row or all at once, the same bits, whatever the threads") {
  const ClassificationGrid grid{ClassificationRule::adaptive, log_grid(0.1, 50, 21), {2, 6, 40}};
  const SphereTask task{3, 4, 12};
  const auto rows = simulate::detail::rows_of<float>(grid);
  const std::vector<float> gains(grid.gains.begin(), grid.gains.end());
  for (const int reference : {-1, 7}) {
    const simulate::Options options{.seed = 5, .trials = 2500, .device = simulate::Device::serial};
    const simulate::ClassificationGridTrial<float> trial{
        simulate::detail::draw_of<float>(task), rows.data(), 21, gains.data(), 3, reference};
    const auto expected = simulate::run_on<simulate::detail::HostSystem>(simulate::Device::serial, trial, options);
    CHECK(testing::devices_agree([&](simulate::Device device, int threads) {
      if (device == simulate::Device::serial) return expected;
      return simulate::detail::run_grid<float>(
                 task, grid, {.seed = 5, .trials = 2500, .device = device, .threads = threads}, reference)
          .run;
    }));
    CHECK(testing::same_bits(expected, simulate::detail::run_grid<float>(task, grid, options, reference).run));
  }
}

TEST_CASE("classification search: it finds the least loss of a fine grid, to a tenth of the noise") {
  const SphereTask task{2, 3, 60};
  const auto found = best_of(task, {ClassificationRule::adaptive, log_grid(1, 300, 9), log_grid(1, 100, 7)}, 2048);
  CHECK(found.is_inside());
  const ClassificationGrid fine{ClassificationRule::adaptive, log_grid(1, 300, 120), log_grid(1, 100, 120)};
  const auto run = simulate::classification_grid(task, fine, {.seed = seed, .trials = 2048});
  double least = 9;
  for (std::size_t i = 0; i < 120 * 120; ++i) least = std::min(least, run.run.estimates[i].mean);
  CHECK(found.loss.mean <= least + 0.1 * found.loss.standard_error);
  CHECK(found.loss.mean >= least - 0.1 * found.loss.standard_error);
  CHECK(found.zooms > 0);
}

TEST_CASE("classification search: one axis is searched to its tolerance where noise lets it") {
  const ClassificationGrid grid{ClassificationRule::linear, {0}, log_grid(1, 1000, 13)};
  const auto found = simulate::classification_search({5, 5, 100}, grid, {.seed = seed, .trials = 4096},
                                                     {.tolerance = 0.05, .zooms = 12});
  CHECK(found.kappa_place == AxisPlace::fixed);
  CHECK(found.gain_place == AxisPlace::inside);
  if (found.end != simulate::SearchEnd::noise) CHECK(found.gain_step <= 0.05 * found.best.gain);
  // The theory's table of observed rates has 61; on contexts that the search has not seen a tenth less and a tenth more
  // lose to it, so that the optimum is between.
  const std::vector<double> about{0.9 * 61, 61, 1.1 * 61};
  const auto fresh = simulate::classification_grid({5, 5, 100}, {ClassificationRule::linear, {0}, about},
                                                   {.seed = seed + 1, .trials = 1 << 16}, 1);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) {
    CHECK(fresh.loss_difference(0, i).mean > 5 * fresh.loss_difference(0, i).standard_error);
  }
  CHECK(found.best.gain > about[0]);
  CHECK(found.best.gain < about[2]);
  const auto none = simulate::classification_search({5, 5, 100}, grid, {.seed = seed, .trials = 1024}, {.zooms = 0});
  CHECK(none.zooms == 0);
  CHECK(none.end == simulate::SearchEnd::zooms);
}

TEST_CASE("classification search: an optimum at an edge says so, and the valley at both") {
  const auto low = best_of({3, 3, 30}, {ClassificationRule::linear, {0}, {1, 2, 3}}, 1024);
  CHECK(low.gain_place == AxisPlace::highest);
  CHECK(!low.is_inside());
  // In twenty dimensions the optimum of softmax moves along c kappa = const toward the linear rule.
  const ClassificationGrid selection{ClassificationRule::adaptive, log_grid(0.5, 16, 6), log_grid(4, 256, 7)};
  const auto valley = best_of({20, 5, 100}, selection, 4096);
  CHECK(valley.kappa_place == AxisPlace::lowest);
  CHECK(!valley.is_inside());
  const ClassificationGrid narrow{ClassificationRule::adaptive, {0.1, 0.2, 0.4}, log_grid(4, 256, 7)};
  const auto corner = best_of({20, 5, 100}, narrow, 1024);
  CHECK(corner.gain_place == AxisPlace::highest);
}

TEST_CASE("classification search: on the circle softmax beats the kernel, the kernel a fixed width, that linear") {
  const SphereTask task{2, 5, 100};
  const auto gains = log_grid(1, 1000, 13);
  const auto softmax = best_of(task, {ClassificationRule::adaptive, log_grid(1, 1000, 10), gains}, 4096);
  const auto kernel = best_of(task, {ClassificationRule::kernel, log_grid(1, 1000, 10), gains}, 4096);
  const auto fixed = best_of(task, {ClassificationRule::adaptive, {1}, gains}, 4096);
  const auto linear = best_of(task, {ClassificationRule::linear, {0}, gains}, 4096);
  CHECK(paired_z(task, softmax.best, kernel.best, 1 << 13) < -5);
  CHECK(paired_z(task, kernel.best, fixed.best, 1 << 13) < -5);
  CHECK(paired_z(task, fixed.best, linear.best, 1 << 13) < -5);
  // Their losses, on contexts that no search has used, are those of plain loops; the loss of each rule is rejected for
  // the next.
  const std::vector<Classifier> best{softmax.best, kernel.best, fixed.best, linear.best};
  const auto fresh = simulate::classification(task, best, {.seed = seed + 2, .trials = 1 << 16});
  const auto plain = plain_losses(best, 1 << 16);
  const auto z = [&](std::size_t i, std::size_t j) {
    const auto& a = fresh.at(i, ClassificationMetric::loss);
    return (a.mean - plain[j].mean) / std::hypot(a.standard_error, plain[j].standard_error);
  };
  for (std::size_t i = 0; i < 4; ++i) {
    CAPTURE(i);
    CHECK(std::abs(z(i, i)) <= 5);
    if (i > 0) CHECK(z(i, i - 1) > 5);
  }
}

TEST_CASE("classification search: in twenty dimensions a little elimination is best, and selection loses to linear") {
  const SphereTask task{20, 5, 100};
  const ClassificationGrid chart{
      ClassificationRule::adaptive, {-1.2, -0.6, 0, 0.6}, log_grid(20, 400, 7), GridChart::slope};
  const auto found = best_of(task, chart, 1 << 12);
  CHECK(found.is_inside());
  CHECK(found.best.kappa < 0);
  CHECK(found.best.gain < 0);
  const ClassificationGrid sides{ClassificationRule::adaptive, {-0.3, 0, 0.3}, {125}, GridChart::slope};
  const auto run = simulate::classification_grid(task, sides, {.seed = seed, .trials = 1 << 15}, 1);
  const auto z = [&](std::size_t i) {
    return run.loss_difference(i, 0).mean / run.loss_difference(i, 0).standard_error;
  };
  CHECK(z(0) < -5);
  CHECK(z(2) > 5);
}

TEST_CASE("classification grid: even logarithms, and bad input is refused by name and value", "[bad-input]") {
  const auto grid = log_grid(1, 100, 3);
  CHECK(grid.size() == 3);
  CHECK(std::abs(grid[1] - 10) <= 1e-14);
  CHECK(grid[2] == 100);
  CHECK_THROWS_AS(log_grid(0, 1, 3), std::domain_error);
  CHECK_THROWS_AS(log_grid(2, 1, 3), std::domain_error);
  CHECK_THROWS_AS(log_grid(1, 2, 1), std::invalid_argument);
  const SphereTask task{3, 2, 4};
  const simulate::Options options{.trials = 4};
  const auto message = [&](const ClassificationGrid& bad) {
    return testing::message_of([&] { (void)simulate::classification_grid(task, bad, options); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(message({ClassificationRule::linear, {0}, {}}) ==
        "incontext::simulate::classification_grid: gains.size() is too small (value = 0; needs at least 1)");
  CHECK_THROWS_AS(simulate::classification_grid(task, {ClassificationRule::linear, {0}, {1}}, {.relative_error = 0.1}),
                  std::invalid_argument);
  CHECK(testing::names(message({ClassificationRule::adaptive, {2, 1}, {1}}), "kappas are not ascending", "1"));
  CHECK(testing::names(message({ClassificationRule::adaptive, {nan}, {1}}), "kappas is not finite", "nan"));
  CHECK(testing::names(message({ClassificationRule::adaptive, {1}, {-1, 1}}), "gains is not positive", "-1"));
  CHECK(testing::names(message({ClassificationRule::kernel, {-1, 1}, {1}}), "kappa is negative", "-1"));
  CHECK(testing::names(message({ClassificationRule::linear, {1, 2}, {1}}), "kappas of the linear rule", "2"));
  CHECK(testing::names(message({ClassificationRule::kernel, {1}, {1}, GridChart::slope}), "chart slope"));
  // Finite numbers that float does not hold, a slope's gain among them.
  CHECK(testing::names(message({ClassificationRule::kernel, {1, 1e39}, {1}}), "kappas is beyond", "e+38"));
  CHECK(testing::names(message({ClassificationRule::linear, {0}, {1, 1e39}}), "gains is beyond", "e+38"));
  CHECK(testing::names(message({ClassificationRule::adaptive, {-1, 1e-39}, {1}, GridChart::slope}), "gain is beyond",
                       "e+39", "less than 2^128 in size"));
  CHECK(
      testing::names(message({ClassificationRule::adaptive, {1e-20}, {1, 1e20}, GridChart::slope}), "gain is beyond"));
  CHECK(message({ClassificationRule::linear, {0}, {1, 3e38}}).empty());
  CHECK_NOTHROW(simulate::classification_grid<double>(task, {ClassificationRule::kernel, {1e39}, {1}}, options));
  CHECK_THROWS_AS(simulate::classification_search(task, {ClassificationRule::linear, {0}, {1, 1e39}}, options),
                  std::domain_error);
  const ClassificationGrid wide{ClassificationRule::adaptive, log_grid(1, 2, 1001), log_grid(1, 2, 1000)};
  CHECK(testing::names(message(wide), "kappas.size() is too large for the gains", "1001", "1e6"));
  const ClassificationGrid good{ClassificationRule::linear, {0}, {1, 2}};
  const auto reference = [&](std::int64_t index) {
    return testing::message_of([&] { (void)simulate::classification_grid(task, good, options, index); });
  };
  CHECK(reference(2) ==
        "incontext::simulate::classification_grid: reference is no point of the grid (value = 2; needs less than 2)");
  CHECK(testing::names(reference(-2), "reference is too small", "-2", "at least -1"));
  CHECK(reference(1).empty());
  CHECK(reference(simulate::no_reference).empty());
  CHECK_THROWS_AS(simulate::classification_search(task, good, options, {.tolerance = 0}), std::domain_error);
  CHECK_THROWS_AS(simulate::classification_search(task, good, options, {.tolerance = 1, .zooms = -1}),
                  std::invalid_argument);
  CHECK_THROWS_AS(simulate::classification_search(task, good, {.trials = 1}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::classification_search(task, good, {.trials = 4, .relative_error = 0.1}),
                  std::invalid_argument);
}

}  // namespace classification_grid_test
