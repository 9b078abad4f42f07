#include "incontext/simulate/engine/run.hpp"

#include <cmath>
#include <csignal>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace run_test {

namespace {

using namespace incontext;
using simulate::Device;
using simulate::Options;

/// Two outputs per trial: a squared normal, whose mean is 1 and variance 2, and the trial's own number.
struct SquareTrial {
  using Scalar = double;
  std::int64_t poisoned = -1;  // this trial's first value is NaN
  std::int64_t rows = 1;

  INCONTEXT_HD int outputs() const { return 2; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return rows; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> trials, simulate::LaneArray<double, W> scratch,
                        simulate::LaneArray<double, W> values) const {
    Lanes<double, W> normal[2];
    random::normals(random::LaneStream(trials, random::StreamTag(0)), 0u, normal);
    scratch[0] = normal[0];
    for (int lane = 0; lane < W; ++lane) {
      const auto trial = static_cast<std::int64_t>(trials.first) + lane;
      values[0][lane] = trial == poisoned ? std::nan("") : scratch[0][lane] * scratch[0][lane];
      values[1][lane] = static_cast<double>(trial);
    }
  }
};
static_assert(simulate::Trial<SquareTrial>);

/// The same trial, with a bound on its rounding.
struct StatedTrial : SquareTrial {
  static constexpr double rounding_in_eps = 4;
};

simulate::Simulation run(const Options& options, const SquareTrial& trial = {}) {
  return simulate::run_on<simulate::detail::HostSystem>(Device::serial, trial, options);
}

}  // namespace

TEST_CASE("estimates have the rounding that their trial states in eps of its values, by default 1024") {
  const double eps = std::numeric_limits<double>::epsilon();
  const auto silent = run({.trials = 5000});
  const auto stated =
      simulate::run_on<simulate::detail::HostSystem>(Device::serial, StatedTrial{}, Options{.trials = 5000});
  // the root mean square of squared normals is sqrt(3); sums and merges in double add 104 eps
  CHECK(std::abs(silent.estimates[0].rounding / (1128 * eps * std::sqrt(3.0)) - 1) < 0.1);
  CHECK(std::abs(stated.estimates[0].rounding / (108 * eps * std::sqrt(3.0)) - 1) < 0.1);
  CHECK(stated.estimates[0].mean == silent.estimates[0].mean);
}

TEST_CASE("a run of a given number of trials runs exactly those") {
  for (const std::int64_t trials : {1, 2, 63, 64, 65, 1023, 1024, 1025, 5000, 100000}) {
    const auto result = run({.trials = trials});
    CHECK(result.trials == trials);
    CHECK_FALSE(result.interrupted);
    REQUIRE(result.estimates.size() == 2);
    CHECK(result.estimates[0].count == trials);
    CHECK(result.estimates[1].count == trials);
    CHECK(std::abs(result.estimates[1].mean - 0.5 * static_cast<double>(trials - 1)) <= 1e-9);
  }
}

TEST_CASE("the mean of squared normals is one, and a wrong mean is rejected") {
  const auto estimate = run({.seed = 5, .trials = 1 << 20}).estimates[0];
  CHECK(std::abs(estimate.mean - 1) <= 5 * estimate.standard_error);
  CHECK(std::abs(estimate.mean - 1.01) > 5 * estimate.standard_error);
  CHECK(std::abs(estimate.standard_error - std::sqrt(2.0 / (1 << 20))) <= 0.02 * estimate.standard_error);
}

TEST_CASE("different seeds give different, independent answers") {
  const auto a = run({.seed = 1, .trials = 4096}).estimates[0];
  const auto b = run({.seed = 2, .trials = 4096}).estimates[0];
  CHECK(a.mean != b.mean);
  CHECK(run({.seed = 1, .trials = 4096}).estimates[0].mean == a.mean);
}

TEST_CASE("a target relative error is met with a pilot and one more stage") {
  // The second output's relative error falls like 0.58 / sqrt(n), the first's like 1.41 / sqrt(n): the first decides.
  const auto result = run({.seed = 3, .relative_error = 0.005});
  CHECK(result.estimates[0].relative_error() <= 0.005);
  CHECK(result.trials >= 80000);
  CHECK(result.trials <= 90000);
  CHECK(result.trials % simulate::chunk_trials == 0);
  CHECK(run({.seed = 3, .relative_error = 0.5}).trials == 16 * simulate::chunk_trials);
  CHECK(run({.seed = 3, .trials = 20000, .relative_error = 0.005}).trials == 20000);
}

TEST_CASE("a relative error that 2^50 trials do not reach is refused with the number needed and the error in reach") {
  const auto refused = [](double relative_error) {
    return testing::message_of([&] { run({.seed = 3, .relative_error = relative_error}); });
  };
  // The first output's relative error is 1.41 / sqrt(n): 2.1e24 trials by the pilot; 2^50 trials reach 4.3e-8.
  const std::string far = refused(1e-12);
  CAPTURE(far);
  CHECK(far.find("relative_error needs 2") != std::string::npos);
  CHECK(far.find("e+24 trials by its pilot run, more than 2^50") != std::string::npos);
  CHECK(far.find("needs at least 4.") != std::string::npos);
  CHECK(far.find("e-08, or a limit on the trials)") != std::string::npos);
  CHECK(refused(1e-300).find("relative_error is below the rounding of a trial's values") != std::string::npos);
  CHECK(run({.seed = 3, .trials = 20000, .relative_error = 1e-300}).trials == 20000);
}

TEST_CASE("two stages reproduce one run of the same length") {
  const auto staged = run({.seed = 3, .relative_error = 0.005});
  const auto direct = run({.seed = 3, .trials = staged.trials});
  CHECK(staged.estimates[0].mean == direct.estimates[0].mean);
  CHECK(staged.estimates[0].standard_error == direct.estimates[0].standard_error);
}

TEST_CASE("a trial that is not finite is counted and left out") {
  const auto estimate = run({.trials = 5000}, SquareTrial{.poisoned = 1234}).estimates[0];
  CHECK(estimate.non_finite == 1);
  CHECK(estimate.count == 4999);
  CHECK(std::isfinite(estimate.mean));
}

TEST_CASE("progress is reported before the first wave and after every wave, and ends at the planned number") {
  std::int64_t calls = 0;
  std::int64_t last = -1;
  const auto result = run({.trials = 200000, .progress = [&](const simulate::Progress& progress) {
                             CHECK(progress.done > last);
                             CHECK(progress.planned == 200000);
                             CHECK((progress.done == 0) == (calls == 0));
                             last = progress.done;
                             ++calls;
                           }});
  CHECK(calls >= 3);
  CHECK(last == result.trials);
}

TEST_CASE("the first wave already keeps within the memory of a wave") {
  for (const auto& [rows, first] : {std::pair<std::int64_t, std::int64_t>{1, 8}, {2500, 3}, {1 << 13, 1}}) {
    CAPTURE(rows);
    std::int64_t done = 0;
    const auto see = [&](const simulate::Progress& progress) { done = done == 0 ? progress.done : done; };
    run({.trials = 8192, .progress = see}, SquareTrial{.rows = rows});
    CHECK(done == first * simulate::chunk_trials);
  }
}

TEST_CASE("Ctrl-C keeps what was reached") {
  const auto interrupted_run = [] {
    const simulate::InterruptGuard guard;
    return run({.seed = 9, .trials = 10000000, .progress = [](const simulate::Progress& progress) {
                  if (progress.done >= 20000) std::raise(SIGINT);
                }});
  };
  const auto result = interrupted_run();
  CHECK(result.interrupted);
  CHECK(result.trials >= 20000);
  CHECK(result.trials < 10000000);
  CHECK(result.estimates[0].count == result.trials);
  CHECK(result.estimates[0].mean == run({.seed = 9, .trials = result.trials}).estimates[0].mean);
}

TEST_CASE("a stop that was asked for does not outlive its guard") {
  {
    const simulate::InterruptGuard guard;
    std::raise(SIGINT);
    CHECK(simulate::InterruptGuard::requested());
  }
  const simulate::InterruptGuard guard;
  CHECK_FALSE(simulate::InterruptGuard::requested());
}

TEST_CASE("options that ask for nothing or for what cannot be are refused by name") {
  CHECK_THROWS_AS(simulate::validate(Options{}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::validate(Options{.trials = -1}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::validate(Options{.trials = 10, .threads = -2}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::validate(Options{.trials = std::int64_t{1} << 62}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::validate(Options{.trials = simulate::most_trials + 1}), std::invalid_argument);
  CHECK_NOTHROW(simulate::validate(Options{.trials = simulate::most_trials}));
  CHECK_THROWS_AS(simulate::validate(Options{.relative_error = -0.1}), std::domain_error);
  CHECK_THROWS_AS(simulate::validate(Options{.relative_error = std::nan("")}), std::domain_error);
  CHECK_NOTHROW(simulate::validate(Options{.relative_error = 0.1}));
  CHECK(testing::names(testing::message_of([&] { simulate::validate(Options{.trials = -7}); }), "trials", "-7"));
}

TEST_CASE("devices are known by name, and one that is not there is refused") {
  for (const Device device : {Device::automatic, Device::serial, Device::openmp, Device::tbb, Device::cuda}) {
    CHECK(simulate::device_named(simulate::name(device)) == device);
  }
  CHECK_THROWS_AS(simulate::device_named("gpu"), std::invalid_argument);
  CHECK(simulate::device_named("cuda:3") == Device::cuda);
  CHECK(simulate::gpu_named("cuda:3") == 3);
  CHECK(simulate::gpu_named("cuda") == 0);
  CHECK(simulate::gpu_named("cuda:all") == simulate::every_gpu);
  CHECK(simulate::name(Device::cuda, simulate::every_gpu) == "cuda:all");
  CHECK(simulate::name(Device::cuda, 3) == "cuda:3");
  CHECK(simulate::name(Device::cuda, 0) == "cuda");
  CHECK(simulate::name(Device::openmp, 3) == "openmp");
  for (const char* wrong : {"cuda:", "cuda:-1", "cuda:1x", "cuda:99999999999", "openmp:1"}) {
    CHECK_THROWS_AS(simulate::device_named(wrong), std::invalid_argument);
  }
  CHECK(simulate::is_available(simulate::resolve(Device::automatic)));
  if (!simulate::is_available(Device::cuda)) CHECK_THROWS_AS(simulate::resolve(Device::cuda), std::invalid_argument);
}

TEST_CASE("run takes the device of the options, gives the bits of run_on there, and validates the options first") {
  const auto expected = run({.seed = 3, .trials = 5000});
  for (const Device device : {Device::automatic, Device::serial, Device::openmp, Device::tbb}) {
    if (device != Device::automatic && !simulate::is_available(device)) continue;
    const auto result = simulate::run(SquareTrial{}, Options{.seed = 3, .trials = 5000, .device = device});
    CAPTURE(simulate::name(device));
    CHECK(result.device == simulate::resolve(device));
    CHECK(result.trials == 5000);
    CHECK(result.estimates[0].mean == expected.estimates[0].mean);
    CHECK(result.estimates[1].standard_error == expected.estimates[1].standard_error);
  }
  CHECK_THROWS_AS(simulate::run(SquareTrial{}, Options{}), std::invalid_argument);
  if (!simulate::is_available(Device::cuda)) {
    CHECK_THROWS_AS(simulate::run(SquareTrial{}, Options{.trials = 10, .device = Device::cuda}), std::invalid_argument);
  }
}

}  // namespace run_test
