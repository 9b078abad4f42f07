#include "incontext/simulate/engine/interrupt.hpp"

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#include "incontext/regression/pretrained_attention.hpp"
#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/simulate/classification/classification_grid.hpp"
#include "incontext/simulate/classification/classification_search.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/engine/sample.hpp"
#include "incontext/simulate/gradients/gradient_norms.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/simulate/rows/score_rows.hpp"
#include "support/catch.hpp"

namespace interrupt_test {

namespace {

using namespace incontext;
using simulate::detail::HostSystem;

/// Raises SIGINT in one of its trials, and then waits for the stop.
struct StoppingTrial {
  using Scalar = double;
  std::uint64_t stops_at;

  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 1; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W>,
                        simulate::LaneArray<double, W> values) const {
    Lanes<double, W> normal[2];
    random::normals(random::LaneStream(trials, random::StreamTag(0)), 0u, normal);
    values[0] = normal[0];
    if (trials.first <= stops_at && stops_at < trials.first + W) {
      std::raise(SIGINT);
      while (!simulate::stop_requested()) {
      }
      values[0] = 1e300;  // must not reach the estimate
    }
  }
};

/// Requests a stop as soon as a run begins.
simulate::Options stopped_at_once(std::int64_t trials) {
  return {.trials = trials, .progress = [](const simulate::Progress&) { std::raise(SIGINT); }};
}

}  // namespace

TEST_CASE("no stop is requested where there is no guard, or no signal") {
  CHECK_FALSE(simulate::stop_requested());
  const simulate::InterruptGuard guard;
  CHECK_FALSE(simulate::stop_requested());
  std::raise(SIGINT);
  CHECK(simulate::stop_requested());
}

TEST_CASE("a stop inside a wave discards the wave and keeps those before it, bit by bit") {
  const auto run = [](std::uint64_t stops_at, std::int64_t trials) {
    return simulate::run_on<HostSystem>(simulate::Device::serial, StoppingTrial{stops_at},
                                        {.seed = 4, .trials = trials});
  };
  const auto stopped = [&] {
    const simulate::InterruptGuard guard;
    return run(60000, 1 << 30);
  }();
  CHECK(stopped.interrupted);
  REQUIRE(stopped.trials > 0);
  CHECK(stopped.trials <= 60000);
  CHECK(stopped.trials % simulate::chunk_trials == 0);
  const auto whole = run(~std::uint64_t{0}, stopped.trials);
  CHECK(stopped.estimates[0].mean == whole.estimates[0].mean);
  CHECK(stopped.estimates[0].standard_error == whole.estimates[0].standard_error);
}

TEST_CASE("a stop inside the first wave leaves estimates of no trials") {
  const simulate::InterruptGuard guard;
  const auto result = simulate::run_on<HostSystem>(simulate::Device::serial, StoppingTrial{10}, {.trials = 1 << 20});
  CHECK(result.interrupted);
  CHECK(result.trials == 0);
  CHECK(result.estimates[0].count == 0);
}

TEST_CASE("a stop inside a sample leaves no trials, whose medians are NaN") {
  const simulate::InterruptGuard guard;
  const auto sample =
      simulate::sample_on<HostSystem>(StoppingTrial{10}, {.trials = 1000, .device = simulate::Device::serial});
  CHECK(sample.trials == 0);
  CHECK(std::isnan(sample.median(0)));
  CHECK(std::isnan(sample.largest_share(0)));
}

TEST_CASE("a stop inside a grid of classifiers and inside a search of one leaves estimates of no trials") {
  const simulate::SphereTask task{3, 2, 10};
  const simulate::ClassificationGrid grid{simulate::ClassificationRule::kernel, {0.5, 1}, {1, 2, 3}};
  {
    const simulate::InterruptGuard guard;
    const auto run = simulate::classification_grid(task, grid, stopped_at_once(5000));
    CHECK(run.run.interrupted);
    CHECK(run.run.trials == 0);
    CHECK(run.loss(1, 2).count == 0);
  }
  const simulate::InterruptGuard guard;  // a second signal under the first guard would end the test
  const auto found = simulate::classification_search(task, grid, stopped_at_once(5000));
  CHECK(found.grid.interrupted);
  CHECK(found.loss.count == 0);
}

TEST_CASE("a search that is stopped while it refines its grid returns the point found so far") {
  const simulate::SphereTask task{3, 2, 10};
  const simulate::ClassificationGrid grid{simulate::ClassificationRule::kernel, {0.5, 1, 2}, {1, 4, 16, 64}};
  const simulate::InterruptGuard guard;
  int runs = 0;
  const auto found =
      simulate::classification_search(task, grid, {.trials = 2048, .progress = [&](const simulate::Progress& progress) {
                                                     if (progress.done == 0 && ++runs == 2) std::raise(SIGINT);
                                                   }});
  CHECK(runs == 2);
  CHECK(found.loss.count == 2048);
  CHECK(std::isfinite(found.loss.mean));
  CHECK(found.best.kappa > 0);
}

TEST_CASE("one signal stops trials that would each take minutes") {
  const auto task = regression::LinearTask<double>::isotropic({.dimension = 20});
  const auto attention = regression::pretrained_attention(task, 100000000);
  const std::vector<scoring::ApproximateSoftmax<double>> maps{{1}};
  const simulate::Options options{.trials = 64, .threads = 2};
  const auto check_stops = [&](const auto& simulation) {
    const simulate::InterruptGuard guard;
    std::thread user([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      std::raise(SIGINT);
    });
    const simulate::Simulation result = simulation();
    user.join();
    CHECK(result.interrupted);
    CHECK(result.trials == 0);
    CHECK(result.seconds < 5);  // it takes a tenth of a second on an idle machine
  };
  for (const auto estimator : {simulate::Estimator::literal, simulate::Estimator::conditional}) {
    check_stops([&] { return simulate::regression_error(attention, task, 100000000, maps, options, {}, estimator); });
  }
  const simulate::ScoreRow row{simulate::ScoreLaw::normal, 1000000000};
  check_stops([&] { return simulate::score_rows<float>(row, {1}, options).run; });
  const simulate::GradientRow layer{2, 2000000000};
  check_stops([&] { return simulate::gradient_norms(layer, {1}, options).run; });
}

}  // namespace interrupt_test
