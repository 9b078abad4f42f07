#include "incontext/simulate/regression/multihead_error.hpp"

#include <Eigen/Core>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "incontext/regression/multihead_error.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/statistics/agreement.hpp"
#include "models.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"

namespace multihead_error_test {

namespace {

using namespace incontext;
using Softmax = scoring::Softmax<double>;

regression::LinearTask<double> centered_task() {
  return testing::general_task().with_input_mean(regression::Vector<double>::Zero(3));
}

const Eigen::Vector3d scales(0.7, -0.4, 0.2), values(0.9, -0.5, -0.8);

}  // namespace

TEST_CASE("simulated layers of three heads agree with the exact error, and not with that of independent heads") {
  const auto keys = testing::general_attention().key_query;
  const auto run = simulate::multihead_error(keys, centered_task(), 12, scales, values, {.seed = 3, .trials = 1 << 17});
  std::vector<regression::Head<Softmax>> heads;
  for (const double scale : scales) heads.push_back({scale, {1.0}});
  auto exact = regression::multihead_error<double>(keys, centered_task(), 12, heads);
  CHECK(statistics::agree(exact(values), run.estimates.front()).within(5));
  for (Eigen::Index h = 0; h < 3; ++h) {
    for (Eigen::Index k = 0; k < 3; ++k) {
      if (h != k) exact.square(h, k) = 0;
    }
  }
  CHECK_FALSE(statistics::agree(exact(values), run.estimates.front()).within(5));
}

TEST_CASE("one head is softmax attention on the same draws") {
  auto attention = testing::general_attention();
  attention.input_value.setZero();
  attention.label_value = 0.8;
  const simulate::Options options{.seed = 5, .trials = 4096};
  const auto run =
      simulate::multihead_error<double>(attention.key_query, centered_task(), 9, Eigen::VectorXd::Constant(1, 0.5),
                                        Eigen::VectorXd::Constant(1, 0.8), options);
  const auto softmax = simulate::regression_error<double>(attention, centered_task(), 9, Softmax{2.0}, options);
  CHECK(testing::relative(run.estimates.front().mean, softmax.mean) < 1e-12);
}

TEST_CASE("values for other heads, and heads that are none, are refused by name") {
  const auto keys = testing::general_attention().key_query;
  const auto run = [&](const Eigen::VectorXd& at, const Eigen::VectorXd& read) {
    simulate::multihead_error(keys, centered_task(), 9, at, read, {.seed = 1, .trials = 16});
  };
  CHECK(testing::refuses<std::invalid_argument>([&] { run(Eigen::VectorXd(0), Eigen::VectorXd(0)); },
                                                {"simulate::multihead_error", "key_query_scales.size()"}));
  CHECK(testing::refuses<std::invalid_argument>([&] { run(scales, Eigen::Vector2d(1, 1)); }, {"values"}));
  CHECK(testing::refuses([&] { run(Eigen::Vector2d(1, std::nan("")), Eigen::Vector2d(1, 1)); }, {"key_query_scales"}));
}

}  // namespace multihead_error_test
