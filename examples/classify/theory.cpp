#include "examples/classify/theory.hpp"

#include <incontext/classification/cell_ratios.hpp>
#include <incontext/classification/circle_cells.hpp>
#include <incontext/classification/context_descent.hpp>
#include <incontext/classification/two_class_kernel_risk.hpp>
#include <incontext/classification/two_class_layer.hpp>
#include <incontext/classification/two_class_risk.hpp>
#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace incontext::examples::classify {

namespace {

namespace law = classification;

/// The number of draws for the cells of one context, and the number per cell with which the search for enough draws
/// begins.
constexpr std::int64_t cell_draws = 4096, draws_a_cell = 128;

constexpr double unknown_error = std::numeric_limits<double>::infinity();

bool is_adaptive(ClassificationRule rule) {
  return rule == ClassificationRule::adaptive || rule == ClassificationRule::adaptive_with_query;
}

law::QueryToken key_of(ClassificationRule rule) {
  return rule == ClassificationRule::adaptive_with_query ? law::QueryToken::included : law::QueryToken::excluded;
}

double two_class_loss(const SphereTask& at, const Classifier& by) {
  const auto [d, n] = std::pair{at.dimension, at.context_length};
  if (by.rule == ClassificationRule::linear) return law::linear_cross_entropy(d, n, by.gain);
  if (by.rule == ClassificationRule::kernel) return law::kernel_cross_entropy(d, by.kappa, n, by.gain);
  return law::adaptive_cross_entropy(d, by.kappa, n, by.gain, key_of(by.rule));
}

law::Matrix<double> rows_of(const std::vector<double>& numbers, std::int64_t rows) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMajor>(numbers.data(), rows, static_cast<Eigen::Index>(numbers.size()) / rows);
}

law::Vector<double> column_of(const std::vector<double>& numbers) {
  return Eigen::Map<const law::Vector<double>>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

/// The cell ratios of a context, by as many draws as its smallest cell needs.
law::CellRatios cells_about(const SphereContext<double>& drawn, std::int64_t classes, double kappa,
                            std::uint64_t seed) {
  for (std::int64_t draws = std::max(cell_draws, draws_a_cell * classes);; draws *= 16) {
    try {
      return law::cell_ratios(rows_of(drawn.prototypes, classes), column_of(drawn.query), kappa, draws, seed);
    } catch (const law::TooFewDraws&) {
      if (draws > 1000 * cell_draws) throw;
    }
  }
}

/// P_c / vol_c on the circle, where one integral gives it.
std::vector<double> circle_densities(const SphereContext<double>& drawn, std::int64_t classes, double kappa) {
  std::vector<double> angles, densities;
  for (std::size_t c = 0; c < static_cast<std::size_t>(classes); ++c) {
    angles.push_back(std::atan2(drawn.prototypes[2 * c + 1], drawn.prototypes[2 * c]));
  }
  const double query = std::atan2(drawn.query[1], drawn.query[0]);
  const auto cells = law::circle_cells<double>(angles, query, kappa, classes, 1.0);
  for (std::size_t c = 0; c < angles.size(); ++c) densities.push_back(cells.probability[c] / cells.volume[c]);
  return densities;
}

/// The limits of the logits as the context gets longer.
law::Vector<double> limit_logits(const SphereContext<double>& drawn, const Classifier& by, const SphereTask& at,
                                 std::uint64_t seed) {
  const auto k = static_cast<std::size_t>(at.classes);
  const bool is_linear = by.rule == ClassificationRule::linear, is_kernel = by.rule == ClassificationRule::kernel;
  std::vector<double> votes;
  if (at.dimension == 2 && !is_linear) {
    votes = circle_densities(drawn, at.classes, by.kappa);
  } else {
    const auto cells = cells_about(drawn, at.classes, is_linear ? 0.0 : by.kappa, seed);
    for (std::size_t c = 0; c < k; ++c) {
      votes.push_back(is_linear ? cells.mean_cosine[c].value : cells.density[c].value);
    }
  }
  const double kernel = is_kernel ? std::exp(law::log_kernel_mean(at.dimension, by.kappa) - by.kappa) : 1;
  const double total = is_adaptive(by.rule) ? column_of(votes).sum() : static_cast<double>(k) / kernel;
  return by.gain / total * column_of(votes);
}

}  // namespace

std::optional<Known> two_class_theory(const SphereTask& at, const Classifier& by, ClassificationMetric metric) {
  const bool is_linear = by.rule == ClassificationRule::linear;
  if (at.classes != 2 || by.gain <= 0 || (!is_linear && by.kappa <= 0)) return std::nullopt;
  const double n = static_cast<double>(at.context_length);
  // Measured: because the noise of the context is not exactly Gaussian, the linear rule's loss differs from this theory
  // by less than 0.4/n of it, and its share of wrong answers by less than 0.6/n of that share.
  if (metric == ClassificationMetric::loss) {
    const double loss = two_class_loss(at, by);
    return Known{loss, is_linear ? 0.4 / n * loss : unknown_error};
  }
  if (metric != ClassificationMetric::accuracy) return std::nullopt;
  if (!is_linear) return Known{law::kernel_accuracy(at.dimension, by.kappa, at.context_length), unknown_error};
  const double accuracy = law::linear_accuracy<double>(at.dimension, at.context_length);
  return Known{accuracy, 0.6 / n * (1 - accuracy)};
}

BestRate two_class_best_rate(std::int64_t dimension, std::int64_t context_length) {
  const auto best = law::best_linear_rate<double>(dimension, context_length);
  return {best.learning_rate, best.cross_entropy};
}

double predicted_rate(const SphereTask& at) {
  const double two_classes = law::best_linear_rate_leading<double>(at.dimension, 2 * at.context_length).learning_rate;
  return two_classes * std::sqrt(static_cast<double>(at.classes) / 4);
}

double predicted_gain(const SphereTask& at, const Classifier& by) {
  const auto two = law::two_class_layer(at.dimension, by.kappa, 2 * at.context_length);
  const double k = std::sqrt(static_cast<double>(at.classes) / 4);
  if (by.rule != ClassificationRule::adaptive_with_query) return k * two.best_gain;
  return k * (2 * two.best_gain_with_query - two.best_gain);  // twice the context, half the query's share
}

LongContextMetrics long_context_metrics(const Simulator& simulator, const SphereTask& task, const Classifier& by,
                                        std::int64_t contexts) {
  const SphereTask least{task.dimension, task.classes, task.classes};
  std::map<ClassificationMetric, std::vector<double>> values;
  for (std::int64_t i = 0; i < contexts; ++i) {
    if (simulator.stopped()) return {};
    const auto number = static_cast<std::uint64_t>(i);
    const SphereContext<double> drawn = simulator.context(least, number);
    const auto logits = limit_logits(drawn, by, task, number);
    const auto p = law::predict<double>(logits, law::Matrix<double>::Zero(logits.size(), task.dimension));
    Eigen::Index largest = 0;
    logits.maxCoeff(&largest);
    values[ClassificationMetric::loss].push_back(law::cross_entropy(p, drawn.query_label));
    values[ClassificationMetric::accuracy].push_back(largest == drawn.query_label ? 1 : 0);
    values[ClassificationMetric::entropy].push_back(law::entropy(p));
    values[ClassificationMetric::probability].push_back(p.probabilities(drawn.query_label));
  }
  LongContextMetrics result;
  for (const auto& [metric, all] : values) {
    result[metric] = statistics::Estimate(statistics::moments_of(all.data(), contexts));
  }
  return result;
}

KernelVotes kernel_votes(const SphereContext<double>& drawn, const SphereTask& task, const std::vector<double>& query,
                         double kappa) {
  const law::Context<double> context{rows_of(drawn.inputs, task.context_length), drawn.labels, column_of(query),
                                     task.classes};
  const auto sums = law::kernel_descent(context, kappa, static_cast<double>(task.context_length)).logits;
  return {{sums.data(), sums.data() + sums.size()}, sums.sum()};
}

double loss_of(const std::vector<double>& votes, double gain, std::int64_t label) {
  const law::Vector<double> logits = gain * column_of(votes);
  return law::cross_entropy(law::Prediction<double>{logits, {}, {}}, label);
}

}  // namespace incontext::examples::classify
