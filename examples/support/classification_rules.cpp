#include "examples/support/classification_rules.hpp"

#include <incontext/classification/two_class_risk.hpp>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

namespace incontext::examples {

namespace {

using simulate::ClassificationGrid, simulate::ClassificationRule, simulate::GridChart, simulate::SphereTask;

constexpr double least_kappa = 0.02, most_kappa = 500;

std::vector<double> negatives(std::vector<double> values) {
  std::reverse(values.begin(), values.end());
  for (double& value : values) value = -value;
  return values;
}

std::vector<double> kappas_of(ClassificationRule rule, const std::optional<double>& kappa, Side side) {
  if (rule == ClassificationRule::linear) return {0};
  if (kappa) return {*kappa};
  if (side == Side::elimination) return negatives(log_spaced(least_kappa, 20, 11));
  return log_spaced(least_kappa, most_kappa, 15);
}

}  // namespace

std::vector<double> log_spaced(double low, double high, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(low * std::pow(high / low, static_cast<double>(i) / (count - 1)));
  return values;
}

double predicted_rate(const SphereTask& at) {
  const double two_classes =
      classification::best_linear_rate_leading<double>(at.dimension, 2 * at.context_length).learning_rate;
  return two_classes * std::sqrt(static_cast<double>(at.classes) / 4);
}

ClassificationGrid search_grid(const SphereTask& task, ClassificationRule rule, const GivenParameters& given,
                               Side side) {
  if (given.gain && *given.gain < 0) side = Side::elimination;
  ClassificationGrid grid{rule, kappas_of(rule, given.kappa, side), {}};
  const double rate = predicted_rate(task);
  if (given.gain) {
    grid.gains = {std::abs(*given.gain)};
  } else if (rule == ClassificationRule::linear) {
    grid.gains = log_spaced(rate / 30, rate * 30, 13);
  } else if (rule == ClassificationRule::kernel) {
    grid.gains = log_spaced(rate / 30, rate * 3000, 19);
  } else if (grid.kappas.size() == 1) {
    const double scale = std::max(std::abs(grid.kappas.front()), 1e-6);
    grid.gains = log_spaced(rate / 30 / scale, 100 * (rate / scale + 1), 21);
  } else {
    grid.chart = GridChart::slope;
    grid.gains = log_spaced(rate / 10, rate * 100, 15);
  }
  return grid;
}

classification::Context<double> context_of(const simulate::SphereContext<double>& drawn, const SphereTask& task) {
  using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto n = static_cast<Eigen::Index>(drawn.labels.size()), d = static_cast<Eigen::Index>(drawn.query.size());
  return {Eigen::Map<const ByRows>(drawn.inputs.data(), n, d), drawn.labels,
          Eigen::Map<const Eigen::VectorXd>(drawn.query.data(), d), task.classes};
}

}  // namespace incontext::examples
