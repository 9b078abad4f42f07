#include "incontext/baselines/task_pool.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "baselines/gauss_hermite.hpp"
#include "incontext/baselines/descent_layers.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

namespace incontext::testing::task_pool_test {

using namespace baselines;

namespace {

/// Features, query and label of one context of a given task with inputs of a given factor of their covariance.
struct Context {
  Eigen::VectorXd features, query;
  double label;

  template <class Draw>
  Context(const Eigen::VectorXd& task, const Eigen::MatrixXd& factor, double noise_variance, std::int64_t examples,
          Draw&& draw) {
    const Eigen::Index d = task.size();
    const double noise = std::sqrt(noise_variance), l = static_cast<double>(examples);
    const auto input = [&] {
      const Eigen::VectorXd normals = Eigen::VectorXd::NullaryExpr(d, [&](Eigen::Index) { return draw(); });
      return (factor * normals).eval();
    };
    features = Eigen::VectorXd::Zero(d + 1);
    for (std::int64_t i = 0; i < examples; ++i) {
      const Eigen::VectorXd x = input();
      const double y = x.dot(task) + noise * draw();
      features.head(d) += y * x / l;
      features(d) += y * y / l;
    }
    query = input();
    label = query.dot(task) + noise * draw();
  }

  double squared_error(const Eigen::MatrixXd& layer) const { return std::pow(label - query.dot(layer * features), 2); }
};

Eigen::MatrixXd random_tasks(Eigen::Index count, Eigen::Index dimension, double variance, std::mt19937_64& engine) {
  std::normal_distribution<double> normal;
  return Eigen::MatrixXd::NullaryExpr(count, dimension,
                                      [&](Eigen::Index, Eigen::Index) { return std::sqrt(variance) * normal(engine); });
}

Eigen::MatrixXd identity(Eigen::Index d) { return Eigen::MatrixXd::Identity(d, d); }

}  // namespace

TEST_CASE("the error of a layer on a pool is that of exact cubature of the definition, and the best layer's is least") {
  const double noise = 0.3;
  for (const std::int64_t examples : {1, 2}) {
    for (const Eigen::Index count : {1, 3}) {
      std::mt19937_64 engine(21);
      const Eigen::MatrixXd tasks = random_tasks(count, 2, 0.7, engine);
      const auto moments = pool_moments<double>(tasks, noise, examples);
      const Eigen::MatrixXd best = best_layer(moments);
      // Per variable: inputs and noise to degree 4, the query and its noise to degree 2.
      std::vector<int> points(static_cast<std::size_t>(3 * examples), 3);
      points.insert(points.end(), {2, 2, 2});
      const auto error = [&](const Eigen::MatrixXd& layer) {
        long double sum = 0;
        for (Eigen::Index k = 0; k < count; ++k) {
          each_node(points, [&](double weight, const std::vector<double>& values) {
            std::size_t next = 0;
            const Context one(tasks.row(k), identity(2), noise, examples, [&] { return values[next++]; });
            sum += weight * one.squared_error(layer);
          });
        }
        return static_cast<double>(sum) / static_cast<double>(count);
      };
      const double least = error(best);
      CAPTURE(examples, count);
      CHECK(relative(layer_error(best, moments), least) < 1e-13);
      CHECK(relative(TaskPool<double>(tasks, {noise, 0.7}).errors(examples).seen, least) < 1e-13);
      for (int trial = 0; trial < 20; ++trial) {
        const Eigen::MatrixXd other = best + 0.05 * random_tasks(2, 3, 1, engine);
        CHECK(relative(layer_error(other, moments), error(other)) < 1e-13);
        CHECK(error(other) > least);
      }
    }
  }
}

TEST_CASE("the error of a layer on new tasks, of any covariance, is that of exact cubature of the definition") {
  std::mt19937_64 engine(22);
  Eigen::Matrix2d task_factor, input_factor;
  task_factor << 0.9, 0, -0.4, 0.5;
  input_factor << 1.2, 0, 0.6, 0.7;
  const double noise = 0.2;
  for (const std::int64_t examples : {1, 2}) {
    const auto moments = normal_task_moments<double>(task_factor * task_factor.transpose(),
                                                     input_factor * input_factor.transpose(), noise, examples);
    // Per variable: the task, inputs and noise to degree 4, the query and its noise to degree 2.
    std::vector<int> points(static_cast<std::size_t>(2 + 3 * examples), 3);
    points.insert(points.end(), {2, 2, 2});
    for (int trial = 0; trial < 3; ++trial) {
      const Eigen::MatrixXd layer = random_tasks(2, 3, 0.2, engine);
      long double sum = 0;
      each_node(points, [&](double weight, const std::vector<double>& values) {
        std::size_t next = 2;
        const Eigen::VectorXd task = task_factor * Eigen::Vector2d(values[0], values[1]);
        const Context one(task, input_factor, noise, examples, [&] { return values[next++]; });
        sum += weight * one.squared_error(layer);
      });
      CAPTURE(examples, trial);
      CHECK(relative(layer_error(layer, moments), static_cast<double>(sum)) < 1e-13);
    }
  }
}

TEST_CASE("drawn contexts have the errors of the pool's layer, and not ones 6% larger", "[statistics]") {
  // 6 comparisons at |z| <= 5
  const TaskVariances<double> task{0.1, 1.0 / 8};
  for (const Eigen::Index count : {3, 8, 40}) {
    std::mt19937_64 engine(23);
    std::normal_distribution<double> normal;
    const auto draw = [&] { return normal(engine); };
    const Eigen::MatrixXd tasks = random_tasks(count, 8, task.task_variance, engine);
    const TaskPool<double> pool(tasks, task);
    const auto exact = pool.errors(12);
    const Eigen::MatrixXd layer = best_layer(pool_moments<double>(tasks, task.noise_variance, 12));
    SampleMean seen, fresh;
    for (int trial = 0; trial < 60'000; ++trial) {
      const Eigen::VectorXd own = tasks.row(trial % count);
      seen.add(Context(own, identity(8), 0.1, 12, draw).squared_error(layer));
      const Eigen::VectorXd other = random_tasks(8, 1, task.task_variance, engine);
      fresh.add(Context(other, identity(8), 0.1, 12, draw).squared_error(layer));
    }
    CAPTURE(count, seen.mean(), fresh.mean());
    CHECK(std::abs(seen.z(exact.seen)) <= 5);
    CHECK(std::abs(fresh.z(exact.fresh)) <= 5);
    CHECK_FALSE(std::abs(seen.z(1.06 * exact.seen)) <= 5);
    CHECK_FALSE(std::abs(fresh.z(1.06 * exact.fresh)) <= 5);
  }
}

TEST_CASE("one eigendecomposition has the errors of the normal equations, for few and many tasks") {
  Worst worst;
  const TaskVariances<double> task{0.3, 0.7};
  for (const Eigen::Index d : {1, 5, 12}) {
    for (const Eigen::Index count : {1, 2, 4, 5, 6, 40}) {
      std::mt19937_64 engine(24);
      const Eigen::MatrixXd tasks = random_tasks(count, d, 0.7, engine);
      const TaskPool<double> pool(tasks, task);
      for (const std::int64_t examples : {1, 7, 300}) {
        const auto moments = pool_moments<double>(tasks, 0.3, examples);
        const Eigen::MatrixXd layer = best_layer(moments);
        const auto fresh = normal_task_moments<double>(0.7 * identity(d), identity(d), 0.3, examples);
        const auto errors = pool.errors(examples);
        worst.add(std::abs(errors.seen - layer_error(layer, moments)) / moments.label, "seen ", d, " ", count);
        worst.add(std::abs(errors.fresh - layer_error(layer, fresh)) / layer_error(layer, fresh), "fresh ", d, " ",
                  count);
      }
    }
  }
  CHECK(worst <= 1e-12);
}

TEST_CASE("a layer of all tasks is one layer of descent, and a pool in a plane learns nothing beyond it") {
  for (const std::int64_t examples : {1, 10, 500}) {
    const WishartSpectrum<double> spectrum(examples, 6);
    const auto all = normal_task_moments<double>(0.2 * identity(6), identity(6), 0.3, examples);
    const auto descent = optimal_layers<double>(spectrum, {0.3, 0.2}, 1);
    CHECK(relative(layer_error(best_layer(all), all), descent.risk) < 1e-13);
    CHECK(relative(best_layer(all)(0, 0), descent.learning_rates[0]) < 1e-13);
    CHECK(best_layer(all).col(6).norm() == 0);
  }
  // tasks +-e_1 and +-e_2: the mean of w s is 0, and the layer is known
  Eigen::MatrixXd plane = Eigen::MatrixXd::Zero(4, 6);
  plane(0, 0) = plane(1, 1) = 1;
  plane(2, 0) = plane(3, 1) = -1;
  const double gain = 0.5 / (1.3 / 8 + 1.125 * 0.5);
  const auto errors = TaskPool<double>(plane, {0.3, 0.2}).errors(8);
  CHECK(relative(errors.seen, 1.3 - 2 * gain * 0.5) < 1e-14);
  const double feature = 1.5 / 8 + 1.125 * 0.2;
  CHECK(relative(errors.fresh, 1.5 - 4 * gain * 0.2 + 2 * gain * gain * feature) < 1e-14);
  CHECK(errors.fresh > 0.3 + 4 * 0.2);
}

TEST_CASE("bad pools are refused by name") {
  const Eigen::MatrixXd tasks = Eigen::MatrixXd::Ones(3, 2), none(0, 2), zero = Eigen::MatrixXd::Zero(3, 2);
  Eigen::MatrixXd bad = tasks;
  bad(2, 1) = NAN;
  using Pool = TaskPool<double>;
  CHECK(refuses<std::invalid_argument>([&] { Pool(none, {0.1, 1}); }, {"tasks.rows()"}));
  CHECK(refuses<std::domain_error>([&] { Pool(bad, {0.1, 1}); }, {"tasks", "nan"}));
  CHECK(refuses<std::domain_error>([&] { Pool(tasks, {-0.1, 1}); }, {"noise_variance"}));
  CHECK(refuses<std::domain_error>([&] { Pool(tasks, {0.1, -1}); }, {"task_variance"}));
  CHECK(refuses<std::domain_error>([&] { Pool(zero, {0.0, 1}); }, {"mean squared label"}));
  CHECK(refuses<std::invalid_argument>([&] { Pool(tasks, {0.1, 1}).errors(0); }, {"examples"}));
  CHECK(refuses<std::invalid_argument>([&] { pool_moments<double>(tasks, 0.1, 0); }, {"examples"}));
  CHECK(refuses<std::domain_error>([&] { best_layer(pool_moments<double>(zero, 0.0, 3)); }, {"features"}));
  CHECK(refuses<std::invalid_argument>([&] { normal_task_moments<double>(identity(2), identity(3), 0.1, 3); },
                                       {"input_covariance.rows()"}));
  CHECK(refuses<std::domain_error>([&] { normal_task_moments<double>(identity(2), identity(2), NAN, 3); },
                                   {"noise_variance"}));
  const auto moments = pool_moments<double>(tasks, 0.1, 3);
  CHECK(refuses<std::invalid_argument>([&] { layer_error<double>(identity(2), moments); }, {"layer.cols()"}));
}

TEST_CASE("a pool whose features are linearly dependent is refused: one task, or equal ones, without noise") {
  const TaskVariances<double> quiet{.noise_variance = 0, .task_variance = 0.2}, noisy{0.1, 0.2};
  const Eigen::MatrixXd one = Eigen::MatrixXd::Random(1, 5), equal = one.replicate(2, 1);
  Eigen::MatrixXd different = equal;
  different(1, 2) += 0.5;
  for (const Eigen::MatrixXd& tasks : {one, equal}) {
    CHECK(refuses<std::domain_error>([&] { TaskPool<double>(tasks, quiet).errors(12); }, {"linearly dependent"}));
    CHECK(refuses<std::domain_error>([&] { best_layer(pool_moments<double>(tasks, 0.0, 12)); }, {"features"}));
    CHECK(std::isfinite(TaskPool<double>(tasks, noisy).errors(12).fresh));
  }
  CHECK(std::isfinite(TaskPool<double>(different, quiet).errors(12).fresh));
}

}  // namespace incontext::testing::task_pool_test
