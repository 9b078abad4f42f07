#include "incontext/baselines/pool_posterior.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "incontext/baselines/ridge_risk.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing {

using namespace baselines;

namespace {

/// A context that is drawn with a pool of tasks, of which the first is right.
class DrawnPool {
 public:
  DrawnPool(std::int64_t examples, std::int64_t dimension, std::int64_t size, const TaskVariances<double>& variances,
            std::mt19937_64& engine)
      : variances_(variances) {
    std::normal_distribution<double> normal;
    const auto draw = [&](Eigen::Index rows, Eigen::Index columns) {
      return Eigen::MatrixXd::NullaryExpr(rows, columns, [&](Eigen::Index, Eigen::Index) { return normal(engine); })
          .eval();
    };
    inputs = draw(examples, dimension);
    tasks = std::sqrt(variances.task_variance) * draw(dimension, size);
    labels = inputs * tasks.col(0) + std::sqrt(variances.noise_variance) * draw(examples, 1).col(0);
  }

  /// exp(-|y - X w|^2 / (2 sigma^2)) of every task, normalized.
  Eigen::VectorXd posterior() const {
    const Eigen::VectorXd misfits = (labels.replicate(1, tasks.cols()) - inputs * tasks).colwise().squaredNorm();
    const Eigen::VectorXd odds = ((misfits(0) - misfits.array()) / (2 * variances_.noise_variance)).exp();
    return odds / odds.sum();
  }

  Eigen::MatrixXd inputs, tasks;
  Eigen::VectorXd labels;

 private:
  TaskVariances<double> variances_;
};

/// The weight of the right task of a pool of two at known inner products, as E 1 / (1 + e^L), L ~ N(S / 2, S), of which
/// the two functions of the library are means; by a sum over the normal variable.
double wrong_weight(double distance, double chi_square, double noise_variance, int power) {
  const double spread = distance * chi_square / noise_variance;
  double sum = 0;
  for (double g = -12; g <= 12; g += 1.0 / 32) {
    sum += std::exp(-g * g / 2) * std::pow(1 + std::exp(spread / 2 + std::sqrt(spread) * g), -power);
  }
  return sum / 32 / std::sqrt(2 * 3.14159265358979323846);
}

}  // namespace

TEST_CASE("a pool of two has this risk and this weight on drawn contexts, and not those of a fixed norm",
          "[statistics]") {
  const TaskVariances<double> variances{.noise_variance = 0.5, .task_variance = 1.0 / 6};
  constexpr std::int64_t examples = 4, dimension = 6;
  // 2 comparisons at |z| <= 5
  std::mt19937_64 engine(2306);
  SampleMean risk, weight, fixed_norm;
  for (int trial = 0; trial < 200'000; ++trial) {
    const DrawnPool pool(examples, dimension, 2, variances, engine);
    const Eigen::VectorXd posterior = pool.posterior();
    risk.add(variances.noise_variance + (pool.tasks.col(0) - pool.tasks * posterior).squaredNorm());
    weight.add(posterior(0));
    if (trial < 2000) {  // the near miss: chi^2_l in the log odds replaced by its mean l
      const double distance = (pool.tasks.col(0) - pool.tasks.col(1)).squaredNorm();
      fixed_norm.add(variances.noise_variance + distance * wrong_weight(distance, 4, variances.noise_variance, 2));
    }
  }
  CHECK(std::abs(risk.z(two_task_pool_risk(examples, dimension, variances))) <= 5);
  CHECK(std::abs(weight.z(two_task_pool_weight(examples, dimension, variances))) <= 5);
  CHECK_FALSE(std::abs(risk.z(fixed_norm.mean() + 5 * fixed_norm.standard_error())) <= 5);
  CHECK_FALSE(std::abs(weight.z(two_task_pool_weight<double>(5, dimension, variances))) <= 5);
}

TEST_CASE("the risk of a pool of two is the mean of the logistic law of its log odds") {
  // d = 2 and l = 2: both chi squares are exponential, -2 log of a uniform number
  const TaskVariances<double> variances{.noise_variance = 0.8, .task_variance = 0.3};
  double risk = 0, weight = 0, mass = 0;
  for (double a = -30; a <= 5; a += 0.125) {
    for (double b = -30; b <= 5; b += 0.125) {
      const double c = std::exp(a), e = std::exp(b), measure = c * e * std::exp(-(c + e) / 2);
      const double distance = 2 * variances.task_variance * c;
      mass += measure;
      risk += measure * distance * wrong_weight(distance, e, variances.noise_variance, 2);
      weight += measure * (1 - wrong_weight(distance, e, variances.noise_variance, 1));
    }
  }
  CHECK(relative(two_task_pool_risk(2, 2, variances), variances.noise_variance + risk / mass) < 1e-10);
  CHECK(relative(two_task_pool_weight(2, 2, variances), weight / mass) < 1e-10);
  CHECK_FALSE(relative(two_task_pool_risk(2, 3, variances), variances.noise_variance + risk / mass) < 1e-3);
}

TEST_CASE("the weight of the right task is its mean over drawn pools, and not that of one task more", "[statistics]") {
  const TaskVariances<double> variances{.noise_variance = 0.1, .task_variance = 0.25};
  std::mt19937_64 engine(153);
  // 2 contexts, 3 sizes: 6 comparisons at |z| <= 5
  for (const auto& [examples, dimension] : {std::pair{8, 4}, std::pair{3, 5}}) {
    DrawnPool pool(examples, dimension, 1, variances, engine);
    const Eigen::VectorXd right = pool.tasks.col(0);
    for (const int size : {2, 6, 40}) {
      CAPTURE(examples, dimension, size);
      SampleMean weight;
      for (int trial = 0; trial < 40'000; ++trial) {
        const DrawnPool others(0, dimension, size, variances, engine);
        pool.tasks = others.tasks;
        pool.tasks.col(0) = right;
        weight.add(pool.posterior()(0));
      }
      const auto expected = [&](double k) {
        return right_task_weight(pool.inputs, pool.labels, right, variances, k).value;
      };
      CHECK(std::abs(weight.z(expected(size))) <= 5);
      CHECK_FALSE(std::abs(weight.z(expected(1.3 * size + 0.4 > size ? std::ceil(1.3 * size) : size + 1))) <= 5);
    }
  }
}

TEST_CASE("a right task that fits badly, but not too badly, has the weight that a sum over the other one gives") {
  const Eigen::MatrixXd input = Eigen::MatrixXd::Constant(1, 1, 3);
  const Eigen::VectorXd label = Eigen::VectorXd::Constant(1, 4.5);
  const TaskVariances<double> variances{.noise_variance = 1e-2, .task_variance = 0.5};
  for (const double right : {1.5, 1.35, 1.25}) {  // 0, 4.5 and 7.5 standard deviations off
    const double energy = std::pow(4.5 - 3 * right, 2) / (2 * variances.noise_variance);
    double weight = 0, mass = 0;
    for (double g = -9; g <= 9; g += 1.0 / 1024) {
      const double misfit =
          std::pow(4.5 - 3 * std::sqrt(variances.task_variance) * g, 2) / (2 * variances.noise_variance);
      weight += std::exp(-g * g / 2) / (1 + std::exp(energy - misfit));
      mass += std::exp(-g * g / 2);
    }
    CAPTURE(right, weight / mass);
    const Eigen::VectorXd task = Eigen::VectorXd::Constant(1, right);
    CHECK(relative(right_task_weight(input, label, task, variances, 2).value, weight / mass) < 1e-11);
  }
}

TEST_CASE("the two laws of a pool of two are one, averaged over contexts", "[statistics]") {
  const TaskVariances<double> variances{.noise_variance = 0.4, .task_variance = 0.3};
  std::mt19937_64 engine(77);
  SampleMean weight;
  for (int trial = 0; trial < 400; ++trial) {
    const DrawnPool pool(3, 4, 1, variances, engine);
    weight.add(right_task_weight(pool.inputs, pool.labels, pool.tasks.col(0), variances, 2).value);
  }
  CHECK(std::abs(weight.z(two_task_pool_weight(3, 4, variances))) <= 5);
  CHECK_FALSE(std::abs(weight.z(two_task_pool_weight(6, 4, variances))) <= 5);
}

TEST_CASE("memory ends where log k is the information, more sharply in larger systems", "[statistics]") {
  struct Row {
    std::int64_t examples, dimension;
    double below, above;  ///< bounds of the mean weight at half and at three halves of the information
  };
  for (const Row& row : {Row{8, 4, 0.85, 0.25}, Row{20, 20, 0.97, 0.10}}) {
    const TaskVariances<double> variances{.noise_variance = 0.1, .task_variance = 1.0 / double(row.dimension)};
    const WishartSpectrum<double> spectrum(row.examples, row.dimension);
    const double information = mutual_information(spectrum, variances);
    std::mt19937_64 engine(9);
    SampleMean below, at, above;
    for (int trial = 0; trial < 60; ++trial) {
      const DrawnPool pool(row.examples, row.dimension, 1, variances, engine);
      const auto weight = [&](double part) {
        const double size = std::round(std::exp(part * information));
        return right_task_weight(pool.inputs, pool.labels, pool.tasks.col(0), variances, size).value;
      };
      below.add(weight(0.5));
      at.add(weight(1.0));
      above.add(weight(1.5));
    }
    CAPTURE(row.examples, row.dimension, information, below.mean(), at.mean(), above.mean());
    CHECK(below.mean() > row.below);
    CHECK(above.mean() < row.above);
    CHECK(at.mean() > 0.3);
    CHECK(at.mean() < 0.8);
  }
}

TEST_CASE("limits of the pools: no context, no prior, one task, many examples") {
  const TaskVariances<double> variances{.noise_variance = 0.5, .task_variance = 0.25};
  CHECK(relative(two_task_pool_risk(0, 6, variances), 0.5 + 0.25 * 6 / 2) < 1e-12);
  CHECK(relative(two_task_pool_weight(0, 6, variances), 0.5) < 1e-12);
  CHECK(two_task_pool_risk<double>(3, 2, {0.5, 0.0}) == 0.5);
  CHECK(relative(two_task_pool_weight<double>(3, 2, {0.5, 0.0}), 0.5) < 1e-12);
  CHECK(two_task_pool_risk(100'000, 5, variances) < 0.5 + 1e-6);
  CHECK(two_task_pool_weight(100'000, 5, variances) > 1 - 1e-6);
  // a pool is known, and its tasks are two: the risk is below that of the prior
  CHECK(two_task_pool_risk(4, 6, variances) < bayes_risk<double>(WishartSpectrum<double>(4, 6), variances));
  const Eigen::MatrixXd none(0, 3), inputs = Eigen::MatrixXd::Identity(2, 3);
  const Eigen::Vector3d right(1, -1, 0.5);
  const Eigen::VectorXd labels = inputs * right;
  for (const double size : {1.0, 2.0, 7.0, 1e12}) {
    CHECK(relative(right_task_weight(none, Eigen::VectorXd(0), right, variances, size).value, 1 / size) < 1e-11);
    CHECK(relative(right_task_weight(inputs, labels, Eigen::Vector3d::Zero(), {0.5, 0.0}, size).value, 1 / size) <
          1e-11);
  }
  CHECK(right_task_weight(inputs, labels, right, {1e-12, 0.25}, 5).value > 1 - 1e-4);
}

TEST_CASE("float and long double agree with double on a pool of two") {
  const double risk = two_task_pool_risk<double>(4, 6, {0.5, 0.25});
  CHECK(relative(two_task_pool_risk<float>(4, 6, {0.5F, 0.25F}), risk) < 1e-5);
  CHECK(relative(static_cast<double>(two_task_pool_risk<long double>(4, 6, {0.5L, 0.25L})), risk) < 1e-13);
}

TEST_CASE("pools refuse bad sizes, variances and shapes by name") {
  const TaskVariances<double> variances{.noise_variance = 0.5, .task_variance = 0.25};
  const Eigen::MatrixXd inputs = Eigen::MatrixXd::Identity(2, 3);
  const Eigen::VectorXd labels = Eigen::VectorXd::Ones(2), right = Eigen::VectorXd::Ones(3);
  CHECK(refuses<std::invalid_argument>([&] { two_task_pool_risk(-1, 2, variances); }, {"examples", "-1"}));
  CHECK(refuses<std::invalid_argument>([&] { two_task_pool_weight(1, 0, variances); }, {"dimension", "0"}));
  CHECK(refuses<std::domain_error>([] { two_task_pool_risk<double>(1, 2, {0, 1}); }, {"noise_variance", "0"}));
  CHECK(refuses<std::domain_error>([] { two_task_pool_risk<double>(1, 2, {1, -1}); }, {"task_variance", "-1"}));
  const auto weight = [&](const Eigen::VectorXd& y, const Eigen::VectorXd& w, double size) {
    return right_task_weight(inputs, y, w, variances, size);
  };
  CHECK(refuses<std::invalid_argument>([&] { weight(right, right, 2); }, {"labels", "3"}));
  CHECK(refuses<std::invalid_argument>([&] { weight(labels, labels, 2); }, {"right_task", "2"}));
  CHECK(refuses<std::domain_error>([&] { weight(labels, right, 0); }, {"pool_size", "0"}));
  CHECK(refuses<std::domain_error>([&] { weight(labels, right, 2.5); }, {"pool_size", "2.5"}));
  CHECK(refuses<std::domain_error>([&] { weight(labels, right, NAN); }, {"pool_size", "nan"}));
  CHECK(refuses<std::domain_error>([&] { weight(100 * labels, right, 2); }, {"more likely under the prior"}));
  CHECK(refuses<std::domain_error>([&] { weight(labels * NAN, right, 2); }, {"entry", "nan"}));
}

}  // namespace incontext::testing
