#include "examples/classify/theory.hpp"

#include <incontext/classification/adaptive_onset.hpp>
#include <incontext/classification/any_kernel.hpp>
#include <incontext/classification/cell_ratios.hpp>
#include <incontext/classification/circle_attention.hpp>
#include <incontext/classification/circle_cells.hpp>
#include <incontext/classification/context_attention.hpp>
#include <incontext/classification/context_constructions.hpp>
#include <incontext/classification/context_descent.hpp>
#include <incontext/classification/inverse_partition_function.hpp>
#include <incontext/classification/largest_weight.hpp>
#include <incontext/classification/two_class_kernel_risk.hpp>
#include <incontext/classification/two_class_layer.hpp>
#include <incontext/classification/two_class_margin.hpp>
#include <incontext/classification/two_class_risk.hpp>
#include <incontext/classification/two_class_risk_range.hpp>
#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "examples/support/classification_rules.hpp"

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

/// Whether the kernel and adaptive rules' approximations are near enough to be shown beside a simulation.
bool is_in_range(const SphereTask& at, const Classifier& by) {
  constexpr double largest_error = 0.05;
  const auto [d, n] = std::pair{at.dimension, at.context_length};
  const double error = by.rule == ClassificationRule::kernel
                           ? law::kernel_cross_entropy_error(d, by.kappa, n, by.gain)
                           : law::adaptive_cross_entropy_error(d, by.kappa, n, by.gain, key_of(by.rule));
  return error <= largest_error;
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

/// Angles of a context's prototypes, and of its query.
std::vector<double> prototype_angles(const SphereContext<double>& drawn) {
  std::vector<double> angles;
  for (std::size_t c = 0; c < drawn.prototypes.size(); c += 2) {
    angles.push_back(std::atan2(drawn.prototypes[c + 1], drawn.prototypes[c]));
  }
  return angles;
}
double query_angle(const SphereContext<double>& drawn) { return std::atan2(drawn.query[1], drawn.query[0]); }

/// P_c / vol_c on the circle, where it is one integral.
std::vector<double> circle_densities(const SphereContext<double>& drawn, std::int64_t classes, double kappa) {
  std::vector<double> densities;
  const auto cells = law::circle_cells<double>(prototype_angles(drawn), query_angle(drawn), kappa, classes, 1.0);
  for (std::size_t c = 0; c < cells.volume.size(); ++c) densities.push_back(cells.probability[c] / cells.volume[c]);
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
  if (!is_linear && !is_in_range(at, by)) return std::nullopt;
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

MarginLaw two_class_margin(const SphereTask& at, const Classifier& by) {
  const auto [d, n] = std::pair{at.dimension, at.context_length};
  constexpr std::int64_t endless = 1000000000000;
  if (by.rule == ClassificationRule::linear) {
    const auto own = law::linear_margin(d, n, by.gain), far = law::linear_margin(d, endless, by.gain);
    return {own.mean, far.mean, own.mean_square, far.mean_square};
  }
  const auto far = law::kernel_margin(d, by.kappa, endless, by.gain);
  if (by.rule == ClassificationRule::kernel) {
    const auto own = law::kernel_margin(d, by.kappa, n, by.gain);
    return {own.mean, far.mean, own.mean_square, far.mean_square};
  }
  const double mean = law::mean_adaptive_margin(d, by.kappa, n, by.gain, key_of(by.rule));
  return {mean, far.mean / std::exp(law::log_kernel_mean(d, by.kappa) - by.kappa), {}, {}};
}

IndependentLaw independent_law(std::int64_t d, double kappa, std::int64_t n) {
  const auto without = law::inverse_partition_function(d, kappa, n, law::QueryToken::excluded);
  const auto with = law::inverse_partition_function(d, kappa, n, law::QueryToken::included);
  const double v = law::partition_function_excess(d, kappa), count = static_cast<double>(n);
  const double mass = count * std::exp(law::log_kernel_mean(d, kappa) - kappa);
  return {v / count,
          without.mean,
          with.mean,
          without.ipr,
          law::expected_largest_weight(d, kappa, n, law::QueryToken::excluded),
          1 / mass,
          (1 + v) / count,
          std::sqrt(without.variance) / without.mean};
}

CircleVotes circle_votes(const SphereContext<double>& drawn, const SphereTask& at, double kappa) {
  const auto angles = prototype_angles(drawn);
  const auto cells = law::circle_cells<double>(angles, query_angle(drawn), kappa, at.context_length, 1.0);
  return {cells.mean_partition_function, cells.partition_function_variance,
          cells.balanced_weights[static_cast<std::size_t>(drawn.query_label)]};
}

CircleAttention circle_attention(const SphereContext<double>& drawn, const SphereTask& at, double kappa) {
  const auto angles = prototype_angles(drawn);
  const auto own = static_cast<std::size_t>(drawn.query_label);
  const auto with = [&](law::QueryToken query) {
    return law::circle_attention<double>(angles, query_angle(drawn), kappa, at.context_length, query)[own];
  };
  return {with(law::QueryToken::excluded), with(law::QueryToken::included)};
}

CellLaw cell_law(const SphereContext<double>& drawn, const SphereTask& at, double kappa, std::uint64_t seed) {
  const auto cells = cells_about(drawn, at.classes, kappa, seed);
  const auto own = static_cast<std::size_t>(drawn.query_label);
  const double whole = std::exp(law::log_kernel_mean(at.dimension, kappa) - kappa);
  return {cells.density[own].value * whole, cells.mean_cosine[own].value};
}

VariationLaw variation_law(std::int64_t d, double kappa, std::int64_t n) {
  const double independent = law::partition_function_variation(d, kappa, n, law::QueryToken::excluded);
  const std::int64_t even = n + n % 2;
  return {independent, independent * std::sqrt(law::two_class_layer(d, kappa, even).variance_ratio)};
}

std::optional<double> onset_ratio(std::int64_t classes) {
  if (classes < 3) return {};
  return law::adaptive_onset_ratio<double>(classes);
}

BestRate two_class_best_rate(std::int64_t dimension, std::int64_t context_length) {
  const auto best = law::best_linear_rate<double>(dimension, context_length);
  return {best.learning_rate, best.cross_entropy};
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
    const bool is_confident = p.probabilities(largest) > simulate::confident_probability;
    values[ClassificationMetric::confidence].push_back(is_confident ? 1 : 0);
    values[ClassificationMetric::confident_error].push_back(is_confident && largest != drawn.query_label ? 1 : 0);
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

std::int64_t predicted_class(const SphereContext<double>& drawn, const SphereTask& task, const Classifier& by,
                             const std::vector<double>& query) {
  std::vector<double> votes(static_cast<std::size_t>(task.classes));
  const std::size_t d = query.size();
  for (std::size_t j = 0; j < drawn.labels.size(); ++j) {
    double score = 0;
    for (std::size_t i = 0; i < d; ++i) score += drawn.inputs[j * d + i] * query[i];
    const bool is_linear = by.rule == ClassificationRule::linear;
    votes[static_cast<std::size_t>(drawn.labels[j])] += is_linear ? score : std::exp(by.kappa * (score - 1));
  }
  const auto best =
      by.gain < 0 ? std::min_element(votes.begin(), votes.end()) : std::max_element(votes.begin(), votes.end());
  return best - votes.begin();
}

std::int64_t class_of(const SphereContext<double>& drawn, const std::vector<double>& point) {
  const std::size_t d = point.size();
  std::size_t best = 0;
  double largest = -2;
  for (std::size_t c = 0; c * d < drawn.prototypes.size(); ++c) {
    double product = 0;
    for (std::size_t i = 0; i < d; ++i) product += drawn.prototypes[c * d + i] * point[i];
    best = product > largest ? c : best;
    largest = std::max(largest, product);
  }
  return static_cast<std::int64_t>(best);
}

std::vector<double> circle_shares(const SphereContext<double>& drawn) {
  const auto angles = prototype_angles(drawn);
  return law::circle_cells<double>(angles, 0.0, 0.0, static_cast<std::int64_t>(angles.size()), 1.0).volume;
}

AttentionAlignment attention_alignment(const SphereContext<double>& drawn, const SphereTask& task,
                                       const Classifier& attention, const Classifier& step) {
  const auto context = context_of(drawn, task);
  const bool is_linear = attention.rule == ClassificationRule::linear;
  const auto [d, k, n] = std::tuple{task.dimension, task.classes, task.context_length};
  const auto weights = is_linear ? law::linear_construction(d, k, n, attention.gain)
                                 : law::softmax_construction(d, k, attention.kappa, attention.gain);
  const double scale = is_linear ? 1 : 1 / std::sqrt(static_cast<double>(d + k));
  const auto pass =
      law::context_attention(law::merged(weights), is_linear ? law::AttentionKind::linear : law::AttentionKind::softmax,
                             scale, context, drawn.query_label, law::QueryToken::included);
  const auto rule =
      step.rule == ClassificationRule::linear
          ? law::linear_descent(context, step.gain)
          : law::adaptive_descent(context, step.kappa, step.gain,
                                  step.rule == ClassificationRule::adaptive ? law::SelfTerm::none : law::SelfTerm::dot);
  const auto apart = law::alignment(pass.prediction, rule);
  return {apart.prediction_distance, apart.cosine, apart.sensitivity_distance};
}

double polynomial_votes(const SphereContext<double>& drawn, const SphereTask& task, KernelRoute route) {
  const auto context = context_of(drawn, task);
  const auto n = static_cast<double>(task.context_length);
  if (route == KernelRoute::activation) {
    const auto kernel = [](const law::Vector<double>& u, const law::Vector<double>& v) {
      return std::pow(1 + u.dot(v), 2);
    };
    const auto weights = law::linear_construction(task.dimension, task.classes, task.context_length, n);
    return law::kernel_attention_logits<double>(weights, kernel, context).sum();
  }
  const auto features = [](const law::Vector<double>& u) {
    law::Vector<double> image(1 + u.size() + u.size() * u.size());
    image << 1, std::sqrt(2.0) * u, (u * u.transpose()).reshaped();
    return image;
  };
  return law::linear_descent(law::feature_context<double>(context, features), n).logits.sum();
}

PolynomialLaw polynomial_law(std::int64_t dimension, std::int64_t context_length) {
  // t = u . v has E t^2 = 1/d and E t^4 = 3/(d (d + 2)), odd moments 0
  const auto d = static_cast<double>(dimension), n = static_cast<double>(context_length);
  const double mean = 1 + 1 / d;
  return {n * mean, n * (1 + 6 / d + 3 / (d * (d + 2)) - mean * mean)};
}

double attention_probability(const SphereContext<double>& drawn, const SphereTask& task, const Classifier& by,
                             const std::vector<double>& query, std::int64_t label) {
  const law::Context<double> context{rows_of(drawn.inputs, task.context_length), drawn.labels, column_of(query),
                                     task.classes};
  const auto [d, k, n] = std::tuple{task.dimension, task.classes, task.context_length};
  law::ContextWeights<double> weights;
  law::AttentionKind kind = law::AttentionKind::softmax;
  double scale = 1;
  if (by.rule == ClassificationRule::linear) {
    weights = law::linear_construction(d, k, n, by.gain);
    kind = law::AttentionKind::linear;
  } else if (by.rule == ClassificationRule::kernel) {
    weights = law::kernel_construction(d, k, n, by.kappa, by.gain);
    kind = law::AttentionKind::exponential;
  } else {
    weights = law::softmax_construction(d, k, by.kappa, by.gain);
    scale = 1 / std::sqrt(static_cast<double>(d + k));
  }
  // with label 0 as its value the query changes linear and exponential attention by nothing
  const bool is_key = by.rule != ClassificationRule::adaptive;
  const auto pass = law::context_attention(law::merged(weights), kind, scale, context, label,
                                           is_key ? law::QueryToken::included : law::QueryToken::excluded);
  return pass.prediction.probabilities[label];
}

double loss_of(const std::vector<double>& votes, double gain, std::int64_t label) {
  const law::Vector<double> logits = gain * column_of(votes);
  return law::cross_entropy(law::Prediction<double>{logits, {}, {}}, label);
}

}  // namespace incontext::examples::classify
