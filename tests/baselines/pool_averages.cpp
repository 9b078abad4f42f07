#include "incontext/baselines/pool_averages.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "incontext/baselines/descent_layers.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::pool_averages_test {

using namespace baselines;

namespace {

TaskVariances<double> unit_signal(std::int64_t dimension) { return {0.1, 1 / static_cast<double>(dimension)}; }

}  // namespace

TEST_CASE("a pool's entries have the mean and variance asked for, or its tasks the length", "[statistics]") {
  // 6 comparisons at |z| <= 5
  for (const std::int64_t dimension : {1, 4, 5}) {
    SampleMean entry, square;
    for (std::int64_t pool = 0; pool < 40; ++pool) {
      const Eigen::MatrixXd tasks = drawn_pool<double>(100, dimension, 0.3, {.seed = 8}, pool);
      REQUIRE(tasks.rows() == 100);
      REQUIRE(tasks.cols() == dimension);
      for (const double w : tasks.reshaped()) {
        entry.add(w);
        square.add(w * w);
      }
      const Eigen::MatrixXd round = drawn_pool<double>(100, dimension, 0.3, {.seed = 8, .law = PoolLaw::sphere}, pool);
      const double squared_length = 0.3 * static_cast<double>(dimension);
      CHECK((round.rowwise().squaredNorm().array() / squared_length - 1).abs().maxCoeff() < 1e-14);
      CHECK(round.cwiseProduct(tasks).minCoeff() >= 0);
    }
    CAPTURE(dimension);
    CHECK(std::abs(entry.z(0)) <= 5);
    CHECK(std::abs(square.z(0.3)) <= 5);
  }
}

TEST_CASE("a larger pool begins with a smaller one, and pools and seeds differ") {
  const Eigen::MatrixXd few = drawn_pool<double>(3, 5, 1.0), many = drawn_pool<double>(20, 5, 1.0);
  CHECK(many.topRows(3) == few);
  CHECK(drawn_pool<double>(3, 5, 1.0, {}, 1) != few);
  CHECK(drawn_pool<double>(3, 5, 1.0, {.seed = 2}) != few);
  CHECK((drawn_pool<double>(3, 5, 4.0) - 2 * few).norm() == 0);
}

TEST_CASE("the means over pools are those of errors that are kept") {
  const TaskVariances<double> task = unit_signal(6);
  const PoolDraws draws{.pools = 7, .seed = 3};
  const auto means = mean_pool_errors<double>(6, 4, {2, 9}, task, draws);
  REQUIRE(means.size() == 2);
  for (const std::size_t k : {0, 1}) {
    SampleMean seen, fresh;
    for (std::int64_t pool = 0; pool < 7; ++pool) {
      const TaskPool<double> one(drawn_pool<double>(4, 6, task.task_variance, draws, pool), task);
      seen.add(one.errors(k == 0 ? 2 : 9).seen);
      fresh.add(one.errors(k == 0 ? 2 : 9).fresh);
    }
    CHECK(relative(means[k].seen.mean, seen.mean()) < 1e-14);
    CHECK(relative(means[k].fresh.mean, fresh.mean()) < 1e-14);
    CHECK(relative(means[k].seen.standard_error, seen.standard_error()) < 1e-12);
    CHECK(relative(means[k].fresh.standard_error, fresh.standard_error()) < 1e-12);
  }
}

TEST_CASE("the limit is off by 14% at d = 8 and less than 2% at d = 64, as pools on the sphere say", "[statistics]") {
  // k = d, l = 1.5 d, noise a tenth of the signal: Lu et al. in their units
  double before = 1;
  for (const std::int64_t d : {8, 16, 32, 64}) {
    const TaskVariances<double> task = unit_signal(d);
    const auto found = mean_pool_errors<double>(d, d, {d * 3 / 2}, task, {.pools = 300, .law = PoolLaw::sphere})[0];
    const auto limit = pool_limit<double>(d, d, d * 3 / 2, task);
    CAPTURE(d, found.fresh.mean, found.fresh.standard_error, limit.fresh);
    CHECK(limit.fresh == Approx(0.68710).epsilon(1e-4));
    CHECK(limit.seen == Approx(0.41909).epsilon(1e-4));
    CHECK(found.fresh.mean - limit.fresh > 5 * found.fresh.standard_error);
    CHECK(found.seen.mean - limit.seen > 5 * found.seen.standard_error);
    const double off = found.fresh.mean / limit.fresh - 1;
    if (d == 8) CHECK(std::abs(off - 0.145) < 0.02);
    if (d == 64) CHECK(std::abs(off - 0.0163) < 0.002);
    CHECK(off < 0.65 * before);
    before = off;
  }
}

TEST_CASE("the limit is the mean over pools of large sizes, of few and many tasks", "[statistics]") {
  // what is left is of order 1/d
  const std::int64_t d = 300;
  const TaskVariances<double> task = unit_signal(d);
  for (const std::int64_t tasks : {60, 300, 1500}) {
    const auto found = mean_pool_errors<double>(d, tasks, {150, 1200}, task, {.pools = 2});
    for (const std::size_t k : {0, 1}) {
      const auto limit = pool_limit<double>(d, tasks, k == 0 ? 150 : 1200, task);
      CAPTURE(tasks, k);
      CHECK(relative(found[k].seen.mean, limit.seen) < 0.02);
      CHECK(relative(found[k].fresh.mean, limit.fresh) < 0.02);
      const auto other = pool_limit<double>(d, tasks * 5 / 4, k == 0 ? 150 : 1200, task);
      CHECK(relative(found[k].fresh.mean, other.fresh) > 0.02 * (tasks < 1000 ? 1 : 0));
    }
  }
}

TEST_CASE("the limit has its own limits") {
  // many tasks: 1 - 1/(1 + q); long contexts: the part of the space that the pool does not span
  const double q = 0.5 * (1 + 0.25 / 50);
  const auto many = pool_limit<double>(100, 1'000'000'000, 200, {0.25, 0.5});
  CHECK(relative(many.fresh, 0.25 + 50 * q / (1 + q)) < 1e-6);
  CHECK(relative(many.seen, many.fresh) < 1e-6);
  const auto few = pool_limit<double>(100, 40, 1'000'000'000, {0.25, 0.5});
  CHECK(relative(few.fresh, 0.25 + 50 * 0.6) < 1e-6);
  CHECK(relative(few.seen, 0.25) < 1e-5);
}

TEST_CASE("generalizing takes some tasks: one fewer does not suffice, and long contexts need about the dimension") {
  const TaskVariances<double> task = unit_signal(16);
  const WishartSpectrum<double> spectrum(32, 16);
  const double floor = optimal_layers(spectrum, task, 1).risk;
  for (const double share : {0.05, 0.3}) {
    const std::int64_t tasks = tasks_to_generalize<double>(16, 32, task, share);
    CAPTURE(share, tasks);
    CHECK(mean_pool_errors<double>(16, tasks, {32}, task)[0].fresh.mean <= (1 + share) * floor);
    CHECK(mean_pool_errors<double>(16, tasks - 1, {32}, task)[0].fresh.mean > (1 + share) * floor);
  }
  CHECK(tasks_to_generalize<double>(16, 32, task, 100.0) == 1);
  const std::int64_t turn = tasks_to_generalize<double>(40, 40'000, unit_signal(40), 0.2);
  CAPTURE(turn);
  CHECK(turn >= 38);
  CHECK(turn <= 60);
}

TEST_CASE("bad pools, limits and shares are refused by name") {
  const TaskVariances<double> task{0.1, 1};
  CHECK(refuses<std::invalid_argument>([] { drawn_pool<double>(0, 2, 1.0); }, {"tasks", "value = 0"}));
  CHECK(refuses<std::invalid_argument>([] { drawn_pool<double>(1, 0, 1.0); }, {"dimension"}));
  CHECK(refuses<std::invalid_argument>([] { drawn_pool<double>(5'000'000'000, 1, 1.0); }, {"tasks", "4e9"}));
  CHECK(refuses<std::invalid_argument>([] { drawn_pool<double>(1, 1, 1.0, {}, -1); }, {"pool"}));
  CHECK(refuses<std::domain_error>([] { drawn_pool<double>(1, 1, -1.0); }, {"task_variance"}));
  CHECK(refuses<std::invalid_argument>([&] { mean_pool_errors<double>(2, 3, {4}, task, {.pools = 1}); }, {"pools"}));
  CHECK(refuses<std::invalid_argument>([&] { mean_pool_errors<double>(2, 3, {4, 0}, task); }, {"lengths[1]"}));
  CHECK(refuses<std::domain_error>([&] { mean_pool_errors<double>(2, 3, {4}, {-1, 1}); }, {"noise_variance"}));
  CHECK(refuses<std::invalid_argument>([&] { pool_limit<double>(0, 3, 4, task); }, {"dimension"}));
  CHECK(refuses<std::invalid_argument>([&] { pool_limit<double>(2, 0, 4, task); }, {"tasks"}));
  CHECK(refuses<std::invalid_argument>([&] { pool_limit<double>(2, 3, 0, task); }, {"examples"}));
  CHECK(refuses<std::domain_error>([&] { pool_limit<double>(2, 3, 4, {0.1, 0}); }, {"task_variance"}));
  CHECK(refuses<std::domain_error>([&] { tasks_to_generalize<double>(2, 4, task, 0.0); }, {"share"}));
  CHECK(refuses<std::invalid_argument>([&] { tasks_to_generalize<double>(0, 4, task, 0.1); }, {"dimension"}));
}

}  // namespace incontext::testing::pool_averages_test
