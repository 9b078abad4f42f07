// Every closed form of classification at the limits of its arguments returns a number or refuses, within seconds.

#include <array>
#include <cstdint>
#include <vector>

#include "incontext/classification/circle_cells.hpp"
#include "incontext/classification/hemisphere_contrast.hpp"
#include "incontext/classification/inverse_partition_function.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/largest_weight.hpp"
#include "incontext/classification/long_context.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/classification/sparse_largest_weight.hpp"
#include "incontext/classification/sparse_neighborhood.hpp"
#include "incontext/classification/two_class_kernel_risk.hpp"
#include "incontext/classification/two_class_layer.hpp"
#include "incontext/classification/two_class_risk.hpp"
#include "incontext/classification/two_class_softmax.hpp"
#include "support/catch.hpp"
#include "support/extremes.hpp"

namespace extreme_arguments_slow_test {

namespace {

using namespace incontext::classification;
using incontext::testing::check_answers;
using Numbers = std::vector<double>;

const std::vector<std::int64_t> dimensions{1, 2, 3, 20, 1000, 1'000'000, 1'000'000'000'000'000};
const std::vector<std::int64_t> few_dimensions{2, 5, 1000, 1'000'000};
const std::vector<double> kappas{0, 1e-300, 1e-150, 1e-10, 0.1, 10, 1e4, 1e5, 1e10, 1e12, 1e15, 1e300, 1.7e308};
const std::vector<std::int64_t> lengths{1, 2, 1'000'000'000, 1'000'000'000'000'000};
const std::vector<double> angles{0, 1e-300, 1e-10, 0.5, 1.5707963};
const std::vector<double> factors{0, 1e-300, 1, -1e10, 1e150, 1e300};

double real(std::int64_t count) { return static_cast<double>(count); }

}  // namespace

TEST_CASE("kernels on the sphere return a number or refuse, for every dimension and kappa", "[slow]") {
  for (const std::int64_t d : dimensions) {
    check_answers("sphere_constants", {real(d)}, [&] {
      const auto c = sphere_constants<double>(d);
      return Numbers{c.density, c.mean_absolute, c.log_cap, c.cap};
    });
    for (const double kappa : kappas) {
      check_answers("log_kernel_mean", {real(d), kappa}, [&] { return Numbers{log_kernel_mean(d, kappa)}; });
      check_answers("kernel_mean", {real(d), kappa}, [&] { return Numbers{kernel_mean(d, -kappa)}; });
      check_answers("mean_resultant_length", {real(d), kappa},
                    [&] { return Numbers{mean_resultant_length(d, kappa)}; });
      check_answers("partition_function_excess", {real(d), kappa},
                    [&] { return Numbers{partition_function_excess(d, kappa)}; });
      check_answers("log_kernel_second_moment_ratio", {real(d), kappa},
                    [&] { return Numbers{log_kernel_second_moment_ratio(d, kappa)}; });
      for (const std::int64_t n : lengths) {
        for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
          for (const double sign : {1.0, -1.0}) {
            check_answers("partition_function_variation", {real(d), sign * kappa, real(n)},
                          [&] { return Numbers{partition_function_variation(d, sign * kappa, n, query)}; });
          }
        }
        check_answers("long_context", {real(d), kappa, real(n)}, [&] {
          const auto c = long_context(d, kappa, n);
          return Numbers{c.mean, c.variance, c.ipr, c.largest_weight};
        });
        check_answers("two_class_layer", {real(d), kappa, real(n)}, [&] {
          const auto c = two_class_layer(d, kappa, n);
          return Numbers{c.contrast_slope, c.noise_ratio,          c.linear_error,          c.kernel_error,
                         c.best_gain,      c.best_gain_with_query, c.mean_squared_contrast, c.variance_ratio};
        });
      }
    }
  }
}

TEST_CASE("laws of the partition function return a number or refuse, for every dimension, kappa and length", "[slow]") {
  for (const std::int64_t d : few_dimensions) {
    for (const double kappa : kappas) {
      for (const std::int64_t n : lengths) {
        for (const QueryToken query : {QueryToken::excluded, QueryToken::included}) {
          check_answers("inverse_partition_function", {real(d), kappa, real(n), real(query == QueryToken::included)},
                        [&] {
                          const auto c = inverse_partition_function(d, kappa, n, query);
                          return Numbers{c.mean, c.second_moment, c.variance, c.ipr};
                        });
          check_answers("expected_largest_weight", {real(d), kappa, real(n), real(query == QueryToken::included)},
                        [&] { return Numbers{expected_largest_weight(d, kappa, n, query)}; });
          for (const double angle : {1e-300, 0.5}) {
            check_answers("expected_adaptive_logit_difference",
                          {real(d), kappa, angle, real(n), real(query == QueryToken::included)},
                          [&] { return Numbers{expected_adaptive_logit_difference(d, kappa, angle, n, 1.0, query)}; });
          }
        }
      }
    }
  }
}

TEST_CASE("laws of two classes return a number or refuse, for every dimension, kappa, angle and factor", "[slow]") {
  for (const std::int64_t d : dimensions) {
    for (const double kappa : kappas) {
      for (const double angle : angles) {
        check_answers("hemisphere_contrast", {real(d), kappa, angle}, [&] {
          const auto c = hemisphere_contrast(d, kappa, angle);
          return Numbers{c.relative, c.logarithm, c.partition_function_variance};
        });
        for (const double factor : factors) {
          check_answers("kernel_logit_difference", {real(d), kappa, angle, factor}, [&] {
            const auto c = kernel_logit_difference(d, kappa, angle, 10, factor);
            return Numbers{c.mean, c.variance};
          });
          check_answers("adaptive_logit_difference", {real(d), kappa, angle, factor}, [&] {
            const auto c = adaptive_logit_difference(d, kappa, angle, 10, factor, QueryToken::included);
            return Numbers{c.limit, c.mean, c.variance};
          });
          check_answers("linear_logit_difference", {real(d), angle, factor}, [&] {
            const auto c = linear_logit_difference(d, angle, 10, factor);
            return Numbers{c.mean, c.variance};
          });
        }
      }
    }
  }
}

TEST_CASE("risks of two classes return a number or refuse, for every dimension, kappa, length and factor", "[slow]") {
  for (const std::int64_t d : dimensions) {
    for (const std::int64_t n : lengths) {
      check_answers("linear_accuracy", {real(d), real(n)}, [&] { return Numbers{linear_accuracy<double>(d, n)}; });
      check_answers("best_linear_rate", {real(d), real(n)}, [&] {
        const auto best = best_linear_rate<double>(d, n), leading = best_linear_rate_leading<double>(d, n);
        return Numbers{best.learning_rate, best.cross_entropy, leading.learning_rate, leading.cross_entropy};
      });
      for (const double factor : factors) {
        check_answers("linear_cross_entropy", {real(d), real(n), factor},
                      [&] { return Numbers{linear_cross_entropy(d, n, factor)}; });
      }
      for (const double kappa : kappas) {
        check_answers("kernel_accuracy", {real(d), kappa, real(n)},
                      [&] { return Numbers{kernel_accuracy(d, kappa, n)}; });
        for (const double factor : factors) {
          check_answers("kernel_cross_entropy", {real(d), kappa, real(n), factor},
                        [&] { return Numbers{kernel_cross_entropy(d, kappa, n, factor)}; });
          check_answers("adaptive_cross_entropy", {real(d), kappa, real(n), factor},
                        [&] { return Numbers{adaptive_cross_entropy(d, kappa, n, factor, QueryToken::included)}; });
        }
      }
    }
  }
}

TEST_CASE("cells of the circle and sparse neighborhoods return a number or refuse, for every argument", "[slow]") {
  for (const double query : {0.0, 1e-300, 3.0, -7.0, 1e6, 1e15, 1e300}) {
    for (const double kappa : kappas) {
      for (const double gain : {0.0, 1.0, -1e300, 1e300}) {
        for (const double second : {1.0, 1e-300, 1e-12}) {
          check_answers("circle_cells", {query, kappa, gain, second}, [&] {
            const std::array<double, 3> prototypes{0, second, 4};
            const auto c = circle_cells<double>(prototypes, query, kappa, 30, gain);
            Numbers all{c.mean_partition_function, c.partition_function_variance};
            for (const auto* part : {&c.volume, &c.probability, &c.balanced_weights, &c.balanced_classes}) {
              all.insert(all.end(), part->begin(), part->end());
            }
            return all;
          });
        }
      }
    }
  }
  for (const double lambda : {0.0, 1e-300, 1e-100, 1e-10, 1.0, 1e10, 1e15, 1e100, 1e300, 1.7e308}) {
    check_answers("sparse_neighborhood", {lambda}, [&] {
      const auto c = sparse_neighborhood(lambda);
      return Numbers{c.self_weight, c.ipr};
    });
    for (const std::int64_t d : {2, 3, 20, 100, 300, 301}) {
      check_answers("sparse_neighborhood", {real(d), lambda}, [&] {
        const auto c = sparse_neighborhood(d, lambda);
        return Numbers{c.self_weight, c.ipr};
      });
      check_answers("sparse_largest_weight", {real(d), lambda},
                    [&] { return Numbers{sparse_largest_weight(d, lambda)}; });
    }
  }
}

}  // namespace extreme_arguments_slow_test
