#include "incontext/baselines/reference_curves.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing::reference_curves_test {

using namespace baselines;

namespace {

template <class T>
const std::vector<T>& values_of(const std::vector<Curve<T>>& curves, const char* name) {
  for (const Curve<T>& curve : curves) {
    if (curve.name == name) return curve.values;
  }
  throw std::out_of_range(name);
}

const CurveSettings<double> setting{.dimension = 6,
                                    .noise_variance = 0.3,
                                    .task_variance = 1.5,
                                    .input_variance = 0.25,
                                    .layers = {0, 1, 2, 4},
                                    .looped = {1, 3}};
const std::vector<std::int64_t> lengths = {0, 1, 4, 6, 20, 300};

}  // namespace

TEST_CASE("every curve lies between the Bayes floor and the answer 0 and falls with the examples") {
  const auto curves = reference_curves(setting, lengths);
  CHECK(curves.size() == 10);
  const auto& floor = values_of(curves, "bayes");
  for (const Curve<double>& curve : curves) {
    CAPTURE(curve.name);
    REQUIRE(curve.values.size() == lengths.size());
    CHECK(curve.values[0] == 0.3 + 6 * 1.5 * 0.25);
    if (curve.name == "least_squares" || curve.name == "bayes_limit") continue;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      CHECK(curve.values[k] <= curve.values[0]);
      CHECK(curve.values[k] >= floor[k] * (1 - 1e-13));
      if (k > 0) CHECK(curve.values[k] <= curve.values[k - 1]);
    }
  }
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    CHECK(relative(values_of(curves, "layers_0")[k], values_of(curves, "no_context")[k]) < 1e-14);
    CHECK(relative(values_of(curves, "layers_1")[k], values_of(curves, "looped_1")[k]) < 1e-14);
  }
  for (std::size_t k = 1; k < lengths.size(); ++k) {
    CHECK(values_of(curves, "layers_4")[k] < values_of(curves, "layers_2")[k]);
    CHECK(values_of(curves, "looped_3")[k] < values_of(curves, "layers_2")[k]);
  }
}

TEST_CASE("the units are those of contexts drawn in them", "[statistics]") {
  // inputs N(0, I/4); errors against the label without noise, over d; 4 comparisons
  CurveSettings<double> units = setting;
  units.query_noise = false;
  units.per_dimension = true;
  const auto exact = values_of(reference_curves(units, {4, 20}), "bayes");
  const auto noisy = values_of(reference_curves(setting, {4, 20}), "bayes");
  const auto unscaled =
      values_of(reference_curves<double>(
                    {.dimension = 6, .noise_variance = 0.3, .task_variance = 1.5, .per_dimension = true}, {4, 20}),
                "bayes");
  std::mt19937_64 engine(2026);
  std::normal_distribution<double> normal;
  for (const int k : {0, 1}) {
    const int l = k == 0 ? 4 : 20;
    SampleMean error;
    for (int trial = 0; trial < 40000; ++trial) {
      const auto draw = [&](int rows, int columns, double variance) {
        return (std::sqrt(variance) *
                Eigen::MatrixXd::NullaryExpr(rows, columns, [&](Eigen::Index, Eigen::Index) { return normal(engine); }))
            .eval();
      };
      const Eigen::MatrixXd x = draw(l, 6, 0.25), query = draw(1, 6, 0.25), w = draw(6, 1, 1.5), e = draw(l, 1, 0.3);
      Eigen::MatrixXd ridge = x.transpose() * x;
      ridge.diagonal().array() += 0.3 / 1.5;
      const double miss = (query * (Eigen::MatrixXd(ridge.llt().solve(x.transpose() * (x * w + e))) - w)).value();
      error.add(miss * miss / 6);
    }
    CAPTURE(l, error.mean(), exact[k]);
    CHECK(std::abs(error.z(exact[k])) <= 5);
    CHECK(std::abs(error.z(noisy[k])) > 5);
    CHECK(std::abs(error.z(unscaled[k])) > 5);
  }
}

TEST_CASE("curves of pretraining are those of its functions, between their limits, in any unit") {
  CurveSettings<double> pretrained = setting;
  pretrained.pretraining_tasks = {2, 50};
  pretrained.sgd_tasks = {30, 3'000};
  pretrained.pool_draws = {.pools = 20, .seed = 5};
  const std::vector<std::int64_t> at = {0, 4, 30};
  const auto curves = reference_curves(pretrained, at);
  REQUIRE(curves.size() == 16);
  const TaskVariances<double> task = standardized(pretrained);
  for (const std::int64_t tasks : pretrained.pretraining_tasks) {
    const auto means = mean_pool_errors<double>(6, tasks, {4, 30}, task, pretrained.pool_draws);
    for (const bool is_seen : {false, true}) {
      const std::string name = "pool_" + std::to_string(tasks) + (is_seen ? "_seen" : "");
      const Curve<double>& curve = *std::find_if(curves.begin(), curves.end(), [&](auto& c) { return c.name == name; });
      REQUIRE(curve.standard_errors.size() == 3);
      CHECK(curve.values[0] == 0.3 + 6 * task.task_variance);
      CHECK(curve.standard_errors[0] == 0);
      for (const std::size_t k : {1, 2}) {
        const auto& mean = is_seen ? means[k - 1].seen : means[k - 1].fresh;
        CHECK(curve.values[k] == mean.mean);
        CHECK(curve.standard_errors[k] == mean.standard_error);
      }
    }
  }
  for (const std::size_t k : {1, 2}) {
    const double best = values_of(curves, "layers_1")[k], zero = values_of(curves, "no_context")[k];
    CHECK(values_of(curves, "pool_50")[k] > best);
    CHECK(values_of(curves, "pool_2")[k] > values_of(curves, "pool_50")[k]);
    CHECK(values_of(curves, "pool_2_seen")[k] < values_of(curves, "pool_50_seen")[k]);
    CHECK(values_of(curves, "sgd_3000")[k] > best);
    CHECK(values_of(curves, "sgd_30")[k] > values_of(curves, "sgd_3000")[k]);
    CHECK(values_of(curves, "sgd_30")[k] < zero);
    const OnePassSgd<double> sgd({.dimension = 6, .context_length = at[k], .task = task});
    CHECK(values_of(curves, "sgd_3000")[k] == best_constant_rate(sgd, 3'000).risk);
  }
  pretrained.query_noise = false;
  pretrained.per_dimension = true;
  const auto clean = reference_curves(pretrained, at);
  for (std::size_t c = 0; c < curves.size(); ++c) {
    for (const std::size_t k : {0, 1, 2}) {
      CHECK(relative(6 * clean[c].values[k] + 0.3, curves[c].values[k]) < 1e-14);
      if (!curves[c].standard_errors.empty()) {
        CHECK(relative(6 * clean[c].standard_errors[k], curves[c].standard_errors[k]) < 1e-14);
      }
    }
  }
}

TEST_CASE("curves of averaging, neighbors and mixers are those of their functions, where they are asked for") {
  CurveSettings<double> more = setting;
  more.averaging = true;
  more.neighbors = {1, 5};
  more.mixers = {MixerKind::linear_attention, MixerKind::gated_delta_net};
  const std::vector<std::int64_t> at = {0, 3, 20};
  const auto curves = reference_curves(more, at);
  CHECK(curves.size() == 15);
  const TaskVariances<double> task = standardized(more);
  const SequenceMixers<double> mixers(isotropic_mixer_task(6, 0.3, task.task_variance));
  for (const char* name : {"averaging", "neighbors_1", "neighbors_5", "gated_delta_net"}) {
    CHECK(values_of(curves, name)[0] == 0.3 + 6 * task.task_variance);
  }
  for (const std::size_t k : {1, 2}) {
    CHECK(values_of(curves, "averaging")[k] == averaging_risk(at[k], 6, task));
    CHECK(values_of(curves, "neighbors_5")[k] == nearest_neighbors_risk(at[k], 6, 5, task));
    CHECK(values_of(curves, "gated_delta_net")[k] == mixers.best(MixerKind::gated_delta_net, at[k]).risk);
    CHECK(relative(values_of(curves, "linear_attention")[k], values_of(curves, "layers_1")[k]) < 1e-9);
  }
}

TEST_CASE("the limit is left out where a variance is 0, and bad settings are refused by name") {
  for (const bool noiseless : {false, true}) {
    const auto curves = reference_curves<double>(
        {.dimension = 2, .noise_variance = noiseless ? 0.0 : 1.0, .task_variance = noiseless ? 1.0 : 0.0}, {3});
    CHECK(curves.size() == 3);
  }
  const auto refused = [](auto change, std::vector<std::int64_t> at, std::string_view named) {
    CurveSettings<double> bad = setting;
    change(bad);
    return names(message_of([&] { reference_curves(bad, at); }), named);
  };
  CHECK(refused([](auto& s) { s.dimension = 0; }, {1}, "dimension"));
  CHECK(refused([](auto& s) { s.noise_variance = -0.1; }, {1}, "noise_variance"));
  CHECK(refused([](auto& s) { s.task_variance = NAN; }, {1}, "task_variance"));
  CHECK(refused([](auto& s) { s.input_variance = 0; }, {1}, "input_variance"));
  CHECK(refused([](auto& s) { s.layers = {65}; }, {1}, "layers"));
  CHECK(refused([](auto& s) { s.pretraining_tasks = {3, 0}; }, {1}, "pretraining_tasks[1]"));
  CHECK(refused([](auto& s) { s.neighbors = {3, 0}; }, {0}, "neighbors[1]"));
  CHECK(refused([](auto& s) { s.sgd_tasks = {-2}; }, {0}, "sgd_tasks[0]"));
  CHECK(refused(
      [](auto& s) {
        s.sgd_tasks = {1};
        s.task_variance = 0;
      },
      {1}, "task_variance"));
  CHECK(refused(
      [](auto& s) {
        s.pretraining_tasks = {3};
        s.pool_draws.pools = 1;
      },
      {1}, "pools"));
  CHECK(refused([](auto&) {}, {4, -1}, "lengths[1]"));
  CHECK(refused([](auto&) {}, {2'000'000}, "examples"));
}

}  // namespace incontext::testing::reference_curves_test
