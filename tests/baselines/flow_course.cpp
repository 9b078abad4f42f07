#include "incontext/baselines/flow_course.hpp"

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "baselines/gauss_hermite.hpp"
#include "incontext/baselines/sgd_tasks.hpp"
#include "incontext/training/gradient_flow.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

namespace incontext::testing::flow_course_test {

using namespace baselines;

namespace {

const FlowSetting<double> setting{.dimension = 6, .context_length = 10, .task = {0.1, 1.0 / 6}, .start = 1e-3};

}  // namespace

TEST_CASE("descent on batches of drawn contexts follows the course, and not that of endless contexts", "[statistics]") {
  // 3 comparisons at |z| <= 5, over 8 runs; Euler's steps are off by less than a quarter of the standard error
  const FlowCourse<double> course(setting);
  FlowSetting<double> endless = setting;
  endless.context_length = 1'000'000'000;
  const FlowCourse<double> infinite(endless);
  const int d = 6, l = 10, batch = 100;
  const double rate = 0.005;
  const std::vector<double> times = {5, 7, 9};
  std::vector<SampleMean> gains(times.size());
  std::mt19937_64 engine(2501);
  std::normal_distribution<double> normal;
  const auto normals = [&](int rows, int columns) {
    return Eigen::MatrixXd::NullaryExpr(rows, columns, [&](Eigen::Index, Eigen::Index) { return normal(engine); })
        .eval();
  };
  for (int run = 0; run < 8; ++run) {
    double value = std::sqrt(std::sqrt(6.0) * setting.start);
    Eigen::MatrixXd merged = setting.start / value * Eigen::MatrixXd::Identity(d, d);
    for (int step = 0; step <= 1800; ++step) {
      for (std::size_t k = 0; k < times.size(); ++k) {
        if (step == std::lround(times[k] / rate)) gains[k].add(value * merged.trace() / d);
      }
      double value_slope = 0;
      Eigen::MatrixXd merged_slope = Eigen::MatrixXd::Zero(d, d);
      for (int b = 0; b < batch; ++b) {
        const Eigen::MatrixXd x = normals(l, d), task = normals(d, 1) / std::sqrt(6.0), query = normals(d, 1);
        const Eigen::VectorXd features = x.transpose() * (x * task + std::sqrt(0.1) * normals(l, 1)) / l;
        const double answer = query.col(0).dot(merged * features);
        const double error = query.col(0).dot(task.col(0)) + std::sqrt(0.1) * normal(engine) - value * answer;
        value_slope += error * answer / batch;
        merged_slope += value * error / batch * query.col(0) * features.transpose();
      }
      value += rate * value_slope;
      merged += rate * merged_slope;
    }
  }
  for (std::size_t k = 0; k < times.size(); ++k) {
    CAPTURE(times[k], gains[k].mean(), gains[k].standard_error(), course.gain(times[k]), infinite.gain(times[k]));
    CHECK(std::abs(gains[k].z(course.gain(times[k]))) <= 5);
    if (k > 0) CHECK_FALSE(std::abs(gains[k].z(infinite.gain(times[k]))) <= 5);
  }
}

TEST_CASE("the flow of all parameters on the mean loss, by exact cubature, follows the course") {
  // d = l = 2; the loss is a polynomial in v and U, with coefficients that are moments of the features
  const FlowSetting<double> at{.dimension = 2, .context_length = 2, .task = {0.3, 0.7}, .start = 1e-2};
  Eigen::Matrix2d answers = Eigen::Matrix2d::Zero(), features = answers;
  double label = 0;
  // Per variable: the task to degree 2, inputs 4, noise 2
  each_node({3, 3, 3, 3, 3, 3, 3, 3}, [&](double weight, const std::vector<double>& values) {
    const Eigen::Vector2d task = std::sqrt(0.7) * Eigen::Vector2d(values[0], values[1]);
    Eigen::Vector2d h = Eigen::Vector2d::Zero();
    for (const std::size_t i : {2, 5}) {
      const Eigen::Vector2d x(values[i], values[i + 1]);
      h += (x.dot(task) + std::sqrt(0.3) * values[i + 2]) * x / 2;
    }
    answers += weight * task * h.transpose();
    features += weight * h * h.transpose();
    label += weight * task.squaredNorm();
  });
  const training::ExactLoss loss = [&](std::span<const double> parameters) {
    const double v = parameters[0];
    const Eigen::Map<const Eigen::Matrix2d> u(parameters.data() + 1);
    const double linear = u.cwiseProduct(answers).sum(), square = u.cwiseProduct(u * features).sum();
    training::LossAndGradient found{(label + 0.3) / 2 - v * linear + v * v * square / 2, {v * square - linear}};
    const Eigen::Matrix2d slope = v * v * u * features - v * answers;
    found.gradient.insert(found.gradient.end(), slope.data(), slope.data() + 4);
    return found;
  };
  const FlowCourse<double> course(at);
  const double v = std::sqrt(std::sqrt(2.0) * at.start), u = at.start / v;
  training::GradientFlow flow(loss, {v, u, 0, 0, u}, 1e-12);
  for (const double part : {0.05, 0.5, 0.9, 0.999}) {
    const double time = course.time_at(part);
    flow.advance_to(time);
    CAPTURE(part, time);
    CHECK(relative(2 * flow.loss(), course.risk(time)) < 1e-8);
    CHECK(relative(flow.parameters()[0] * flow.parameters()[1], part * course.final_gain()) < 1e-8);
  }
}

TEST_CASE("the course ends at the best layer, and its times are those of its gains") {
  for (const double start : {1e-12, 1e-3, 0.3, 0.6, 5.0}) {
    FlowSetting<double> at = setting;
    at.start = start;
    const FlowCourse<double> course(at);
    const OnePassSgd<double> sgd({.dimension = 6, .context_length = 10, .task = at.task});
    CAPTURE(start);
    CHECK(relative(course.gain(0), start) < 1e-15);
    CHECK(relative(course.final_gain(), sgd.best_gain()) < 1e-15);
    CHECK(relative(course.floor(), sgd.floor()) < 1e-15);
    CHECK(relative(course.risk(1000), sgd.floor()) < 1e-15);
    for (const double part : {0.9, 0.999, 1.001, 2.0}) {
      const bool is_reached = (part < 1) == (start < course.final_gain());
      if (!is_reached) {
        CHECK(refuses([&] { course.time_at(part); }, {"part"}));
        continue;
      }
      const double time = course.time_at(part);
      if (time >= 0) CHECK(relative(course.gain(time), part * course.final_gain()) < 1e-13);
    }
  }
  const FlowCourse<double> course(setting);
  CHECK(relative(course.growth_rate(), 2 * std::sqrt(6.0) / 6) < 1e-15);
  CHECK(relative(course.half_time(), 7.76572) < 1e-6);
  const double width = 2 / course.growth_rate();
  CHECK(relative(course.gain(course.half_time() + width) / course.final_gain(), 1 / (1 + std::exp(-2))) < 1e-13);
}

TEST_CASE("bad courses are refused by name") {
  const auto refused = [](auto change, std::string_view name) {
    FlowSetting<double> bad = setting;
    change(bad);
    return names(message_of([&] { FlowCourse<double>{bad}; }), name);
  };
  CHECK(refused([](auto& s) { s.dimension = 0; }, "dimension"));
  CHECK(refused([](auto& s) { s.context_length = 0; }, "context_length"));
  CHECK(refused([](auto& s) { s.task.noise_variance = NAN; }, "noise_variance"));
  CHECK(refused([](auto& s) { s.task.task_variance = 0; }, "task_variance"));
  CHECK(refused([](auto& s) { s.start = 0; }, "start"));
  const FlowCourse<double> course(setting);
  CHECK(refuses([&] { course.gain(-1); }, {"time", "-1"}));
  CHECK(refuses([&] { course.risk(NAN); }, {"time"}));
  CHECK(refuses([&] { course.time_at(0); }, {"part"}));
  CHECK(refuses([&] { course.time_at(1); }, {"part"}));
}

}  // namespace incontext::testing::flow_course_test
