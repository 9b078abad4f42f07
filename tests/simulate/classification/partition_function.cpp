#include "incontext/simulate/classification/partition_function.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "classification/sphere.hpp"
#include "incontext/classification/circle_cells.hpp"
#include "incontext/classification/hemisphere_contrast.hpp"
#include "incontext/classification/inverse_partition_function.hpp"
#include "incontext/classification/largest_weight.hpp"
#include "incontext/classification/two_class_softmax.hpp"
#include "incontext/statistics/agreement.hpp"
#include "simulate/classification/contexts.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace classification_partition_function_test {

// Compares partition functions trial by trial with the definition, those of independent contexts with the exact laws,
// and those of balanced contexts of two classes and of the circle with theirs (|z| <= 5, fixed seeds). Each law is
// rejected for the other contexts.

namespace {

using namespace incontext;
using classification::QueryToken;
using simulate::BalanceMetric;
using simulate::ContextLaw;
using simulate::PartitionFunctionMetric;
using simulate::SphereTask;

constexpr std::uint64_t seed = 37;

/// The mean, over random queries of two classes, of a smooth function of the angle above the boundary.
template <class Function>
double query_mean(std::int64_t dimension, const Function& f) {
  using Rule = boost::math::quadrature::gauss<double, 15>;
  const auto density = [&](double a) { return std::pow(std::cos(a), static_cast<double>(dimension - 2)); };
  const double half = std::acos(0.0);
  return Rule::integrate([&](double a) { return density(a) * f(a); }, 0.0, half) / Rule::integrate(density, 0.0, half);
}

/// The largest relative deviation of ten trials from the definition, or from the definition with a slightly narrower
/// kernel.
template <class T>
double largest_deviation(const SphereTask& task, bool perturbed = false) {
  const std::vector<simulate::KernelReference<T>> kernels{{T(0), T(3)}, {T(2), T(5)}, {T(40), T(0.5)}};
  const simulate::PartitionFunctionTrial<T> trial{simulate::detail::draw_of<T>(task), kernels.data(), 3};
  CHECK(testing::lanes_agree(trial, seed));
  double largest = 0;
  const auto compare = [&](T value, double expected) {
    largest = testing::worse(largest, std::abs(static_cast<double>(value) / expected - 1));
  };
  for (std::uint64_t index = 0; index < 10; ++index) {
    const auto values = testing::values_of<1>(trial, seed, index);
    const auto drawn = simulate::draw_sphere_context<T>(task, seed, index);
    const auto context = testing::host_context(drawn);
    for (std::size_t i = 0; i < 3; ++i) {
      const double kappa = static_cast<double>(kernels[i].kappa) * (perturbed ? 1.001 : 1),
                   reference = static_cast<double>(kernels[i].reference);
      double sum = 0, squares = 0, top = 0, own = 0;
      for (std::size_t j = 0; j < drawn.labels.size(); ++j) {
        const double w = std::exp(kappa * (context.inputs.row(static_cast<Eigen::Index>(j)).dot(context.query) - 1));
        sum += w;
        squares += w * w;
        top = std::max(top, w);
        own += drawn.labels[j] == drawn.query_label ? w : 0;
      }
      const auto out = [&](PartitionFunctionMetric metric) {
        return values[simulate::detail::partition_function_metrics * i + static_cast<std::size_t>(metric)];
      };
      compare(out(PartitionFunctionMetric::partition_function), sum / reference);
      if (std::abs(sum / reference - 1) > 0.1) {
        compare(out(PartitionFunctionMetric::squared_deviation), std::pow(sum / reference - 1, 2));
      }
      compare(out(PartitionFunctionMetric::inverse), 1 / sum);
      compare(out(PartitionFunctionMetric::inverse_with_query), 1 / (1 + sum));
      compare(out(PartitionFunctionMetric::ipr), squares / (sum * sum));
      compare(out(PartitionFunctionMetric::largest_weight), top / sum);
      if (own > 1e-3 * sum) compare(out(PartitionFunctionMetric::label_share), own / sum);
    }
    std::vector<double> shares(static_cast<std::size_t>(task.classes), 0);
    for (const std::int64_t label : drawn.labels) {
      shares[static_cast<std::size_t>(label)] += 1.0 / static_cast<double>(task.context_length);
    }
    double square = 0;
    for (const double share : shares) square += share * share;
    const auto balance = [&](BalanceMetric metric) {
      return values[simulate::detail::partition_function_metrics * 3 + static_cast<std::size_t>(metric)];
    };
    compare(balance(BalanceMetric::largest_share), *std::max_element(shares.begin(), shares.end()));
    const double smallest = *std::min_element(shares.begin(), shares.end());
    CHECK(std::abs(static_cast<double>(balance(BalanceMetric::smallest_share)) - smallest) <= 1e-6);
    compare(balance(BalanceMetric::squared_shares), square);
    compare(balance(BalanceMetric::mean_point_length), simulate::mean_point_length(drawn));
  }
  return largest;
}

}  // namespace

TEST_CASE("partition function: a trial is the definition, to rounding") {
  for (const SphereTask& task : {SphereTask{2, 3, 30}, {4, 5, 15}, {3, 4, 22, ContextLaw::independent}}) {
    CHECK(largest_deviation<float>(task) <= 1e-4);
    CHECK(largest_deviation<double>(task) <= 2e-13);
    CHECK(largest_deviation<float>(task, true) > 1e-3);
    CHECK(largest_deviation<double>(task, true) > 1e-3);
  }
}

TEST_CASE("partition function: independent points have its exact law, that of its inverse and those of the weights") {
  const std::vector<double> kappas{1, 6};
  for (const std::int64_t d : {2, 5}) {
    const std::int64_t n = 30;
    const auto run =
        simulate::partition_function({d, 3, n, ContextLaw::independent}, kappas, {.seed = seed, .trials = 1 << 16});
    for (std::size_t i = 0; i < 2; ++i) {
      CAPTURE(d, kappas[i]);
      const auto z = [&](PartitionFunctionMetric metric, double theory) {
        return std::abs(testing::z_of(theory, run.at(i, metric)));
      };
      CHECK(z(PartitionFunctionMetric::partition_function, 1) <= 5);
      CHECK(z(PartitionFunctionMetric::squared_deviation, run.independent_variance[i]) <= 5);
      CHECK(std::abs(testing::z_of(1, run.variance_ratio(i))) <= 5);
      const auto law = [&](std::int64_t length, QueryToken query) {
        return classification::inverse_partition_function(d, kappas[i], length, query);
      };
      CHECK(z(PartitionFunctionMetric::inverse, law(n, QueryToken::excluded).mean) <= 5);
      CHECK(z(PartitionFunctionMetric::inverse_with_query, law(n, QueryToken::included).mean) <= 5);
      CHECK(z(PartitionFunctionMetric::ipr, law(n, QueryToken::excluded).ipr) <= 5);
      const auto largest = [&](std::int64_t length) {
        return classification::expected_largest_weight(d, kappas[i], length, QueryToken::excluded);
      };
      CHECK(z(PartitionFunctionMetric::largest_weight, largest(n)) <= 5);
      // Power: one point more or less.
      CHECK(z(PartitionFunctionMetric::inverse, law(n + 1, QueryToken::excluded).mean) > 5);
      CHECK(z(PartitionFunctionMetric::inverse_with_query, law(n + 1, QueryToken::included).mean) > 5);
      CHECK(z(PartitionFunctionMetric::ipr, law(n - 1, QueryToken::excluded).ipr) > 5);
      CHECK(z(PartitionFunctionMetric::largest_weight, largest(n - 1)) > 5);
    }
  }
}

TEST_CASE("partition function: two balanced classes keep the mean and lower the variance by the contrast") {
  const std::vector<double> kappas{1, 5};
  for (const std::int64_t d : {2, 3, 6}) {
    const auto run = simulate::partition_function({d, 2, 20}, kappas, {.seed = seed, .trials = 1 << 16});
    for (std::size_t i = 0; i < 2; ++i) {
      CAPTURE(d, kappas[i]);
      const double excess = classification::partition_function_excess(d, kappas[i]);
      const double contrast = query_mean(d, [&](double angle) {
        return std::pow(classification::hemisphere_contrast(d, kappas[i], angle).relative, 2);
      });
      CHECK(std::abs(testing::z_of(1, run.at(i, PartitionFunctionMetric::partition_function))) <= 5);
      CHECK(std::abs(testing::z_of((excess - contrast) / 20, run.at(i, PartitionFunctionMetric::squared_deviation))) <=
            5);
      if (d < 6) CHECK(testing::z_of(excess / 20, run.at(i, PartitionFunctionMetric::squared_deviation)) < -5);
    }
  }
}

TEST_CASE("partition function: attention's weight on the right one of two classes is exact at ten points") {
  for (const std::int64_t d : {2, 4}) {
    CAPTURE(d);
    const double kappa = 4;
    const auto run = simulate::partition_function({d, 2, 10}, {kappa}, {.seed = seed, .trials = 1 << 16});
    const auto share = [&](std::int64_t n) {
      return 0.5 +
             0.5 * query_mean(d, [&](double angle) {
               return classification::expected_adaptive_logit_difference(d, kappa, angle, n, 1.0, QueryToken::excluded);
             });
    };
    CHECK(std::abs(testing::z_of(share(10), run.at(0, PartitionFunctionMetric::label_share))) <= 5);
    CHECK(std::abs(testing::z_of(share(4), run.at(0, PartitionFunctionMetric::label_share))) > 5);
  }
}

TEST_CASE(
    "partition function: on the circle the mean given prototypes and query is that of the cells, not of free points") {
  const SphereTask task{2, 5, 100};
  const double kappa = 10;
  const std::vector<simulate::KernelReference<double>> kernel{{kappa, 1.0}};
  const simulate::PartitionFunctionTrial<double> trial{simulate::detail::draw_of<double>(task), kernel.data(), 1};
  testing::SampleMean cells, squares, free;
  const double independent = 100 * std::exp(classification::log_kernel_mean(2, kappa) - kappa);
  for (std::uint64_t index = 0; index < 2000; ++index) {
    const auto drawn = simulate::draw_sphere_context<double>(task, seed, index);
    std::vector<double> prototypes;
    for (std::size_t c = 0; c < 5; ++c) {
      prototypes.push_back(std::atan2(drawn.prototypes[2 * c + 1], drawn.prototypes[2 * c]));
    }
    const auto law =
        classification::circle_cells<double>(prototypes, std::atan2(drawn.query[1], drawn.query[0]), kappa, 100, 1.0);
    const double drawn_sum = testing::values_of<1>(trial, seed, index)[0];
    cells.add((drawn_sum - law.mean_partition_function) / std::sqrt(law.partition_function_variance));
    squares.add(std::pow(drawn_sum - law.mean_partition_function, 2) / law.partition_function_variance);
    free.add(drawn_sum);
  }
  CHECK(std::abs(cells.z(0)) <= 5);
  CHECK(std::abs(squares.z(1)) <= 5);
  CHECK(free.z(independent) > 5);
}

TEST_CASE(
    "partition function: balanced contexts are denser around queries, as the theory's table, not as free points") {
  const std::vector<double> kappas{1, 10, 100};
  const SphereTask task{2, 5, 100}, free{2, 5, 100, ContextLaw::independent};
  const simulate::Options options{.seed = seed, .trials = 1 << 14};
  const auto circle = simulate::partition_function(task, kappas, options),
             points = simulate::partition_function(free, kappas, options);
  const double mean[] = {1.083, 1.267, 1.40}, variance[] = {10.0, 9.7, 7.5};  // to their last digit
  const auto is_mean = [](const statistics::Estimate& estimate, double value) {
    return std::abs(estimate.mean - value) <= 5 * estimate.standard_error + 0.005;
  };
  const auto is_ratio = [](const statistics::Estimate& estimate, double value) {
    return std::abs(estimate.mean - value) <= 5 * estimate.standard_error + 0.05;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    CAPTURE(kappas[i]);
    const auto& sum = circle.at(i, PartitionFunctionMetric::partition_function);
    CHECK(is_mean(sum, mean[i]));
    CHECK(is_ratio(circle.variance_ratio(i), variance[i]));
    CHECK(sum.mean < 2.0 * 4 / 5);  // the limit of narrow kernels
    // Power: the law of independent points is rejected, though independent points pass it.
    CHECK(!is_mean(sum, 1));
    CHECK(!is_ratio(circle.variance_ratio(i), 1));
    CHECK(is_mean(points.at(i, PartitionFunctionMetric::partition_function), 1));
    CHECK(is_ratio(points.variance_ratio(i), 1));
  }
  CHECK(std::abs(circle.variation(0) - 0.19) <= 0.01);
  CHECK(std::abs(std::sqrt(circle.independent_variance[0]) - 0.19) > 0.1);
}

TEST_CASE("partition function: in ten dimensions balanced contexts are almost as dense as free points, in two not") {
  const auto run = [](std::int64_t d) {
    return simulate::partition_function({d, 5, 100}, {1, 4}, {.seed = seed, .trials = 1 << 14});
  };
  const auto wide = run(10), circle = run(2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(std::abs(wide.at(i, PartitionFunctionMetric::partition_function).mean - 1) <= 0.01);
    CHECK(std::abs(wide.variance_ratio(i).mean - 1) <= 0.05);
    CHECK(circle.at(i, PartitionFunctionMetric::partition_function).mean > 1.01);
    CHECK(circle.variance_ratio(i).mean > 1.05);
  }
}

TEST_CASE("partition function: free classes of the circle have Dirichlet shares") {
  // arcs are half sums of neighboring gaps of k points: E sum of squares = 1.5 / (k + 1) for k >= 3, and counting n
  // points adds (1 - that) / n
  const std::int64_t k = 5, n = 400;
  const auto run =
      simulate::partition_function({2, k, n, ContextLaw::independent}, {1}, {.seed = seed, .trials = 1 << 14});
  const double squares = 1.5 / 6, counted = squares + (1 - squares) / static_cast<double>(n);
  CHECK(std::abs(testing::z_of(counted, run.at(BalanceMetric::squared_shares))) <= 5);
  CHECK(std::abs(testing::z_of(squares, run.at(BalanceMetric::squared_shares))) > 5);
  CHECK(run.at(BalanceMetric::smallest_share).mean < 0.2);
  CHECK(run.at(BalanceMetric::largest_share).mean > 0.2);
}

TEST_CASE(
    "partition function: trials kept one by one are the run's; devices do not change the bits; bad input is refused") {
  const SphereTask task{3, 4, 16};
  const auto run = simulate::partition_function(task, {2}, {.seed = seed, .trials = 1100});
  const auto sample = simulate::partition_function_sample(task, {2}, {.seed = seed, .trials = 1100});
  double sum = 0;
  for (std::int64_t i = 0; i < 1100; ++i) sum += sample.sample.sorted(0)[i];
  CHECK(std::abs(sum / 1100 / run.at(0, PartitionFunctionMetric::partition_function).mean - 1) <= 1e-9);
  CHECK(sample.median(0, PartitionFunctionMetric::inverse) < run.at(0, PartitionFunctionMetric::inverse).mean);
  CHECK(testing::devices_agree([&](simulate::Device device, int threads) {
    return simulate::partition_function(task, {2, 9}, {.seed = 5, .trials = 1500, .device = device, .threads = threads})
        .run;
  }));
  CHECK_THROWS_AS(simulate::partition_function(task, {}, {.trials = 2}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::partition_function(task, {-1}, {.trials = 2}), std::domain_error);
  CHECK_THROWS_AS(simulate::partition_function({3, 4, 15}, {1}, {.trials = 2}), std::invalid_argument);
}

TEST_CASE(
    "partition function: a mean partition function that underflows is refused by kappa, and below that every value is "
    "a number") {
  const SphereTask task{50, 2, 4};
  const simulate::Options options{.seed = seed, .trials = 64};
  const auto message = [&](double kappa) {
    return testing::message_of([&] { (void)simulate::partition_function_sample(task, {1, kappa}, options); });
  };
  CHECK(message(1000) ==
        "incontext::simulate::partition_function_sample: kappa is too large: the mean partition function underflows "
        "(value = 1000; "
        "needs n "
        "A_d e^-kappa >= 2^-126)");
  CHECK(testing::names(message(1e39), "kappa is too large", "e+38", "at most 1e9"));
  CHECK(testing::names(message(std::nan("")), "kappa", "nan"));
  double kappa = 1;
  while (message(kappa * 1.05).empty()) kappa *= 1.05;
  CHECK(kappa > 100);
  for (const double value : simulate::partition_function_sample(task, {kappa}, options).sample.values) {
    CHECK(!std::isnan(value));
  }
  CHECK_NOTHROW(simulate::partition_function_sample<double>(task, {1000}, options));
}

}  // namespace classification_partition_function_test
