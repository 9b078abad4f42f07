#include "incontext/simulate/classification/classifiers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "classification/sphere.hpp"
#include "incontext/classification/circle_cells.hpp"
#include "incontext/classification/two_class_kernel_risk.hpp"
#include "incontext/classification/two_class_risk.hpp"
#include "incontext/simulate/classification/alignment_trial.hpp"
#include "incontext/simulate/classification/classification_contrasts.hpp"
#include "incontext/statistics/agreement.hpp"
#include "simulate/classification/contexts.hpp"
#include "support/agreement.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace classification_test {

// Trials against the closed forms of classification/context_descent.hpp on the same context, means against the theory
// of two classes and of long contexts (|z| <= 5, fixed seeds), and perturbed theories rejected.

namespace {

using namespace incontext;
using simulate::AlignmentMetric;
using simulate::ClassificationMetric;
using simulate::ClassificationRule;
using simulate::Classifier;
using simulate::ContextLaw;
using simulate::SphereTask;

constexpr std::uint64_t seed = 29;

const std::vector<Classifier> classifiers{{ClassificationRule::linear, 0, 30},
                                          {ClassificationRule::linear, 0, -3},
                                          {ClassificationRule::kernel, 2.5, 40},
                                          {ClassificationRule::kernel, 2.5, 4},
                                          {ClassificationRule::kernel, 0, 7},
                                          {ClassificationRule::adaptive, 7, 5},
                                          {ClassificationRule::adaptive, -2, -8},
                                          {ClassificationRule::adaptive, 0, 3},
                                          {ClassificationRule::adaptive, 60, 9},
                                          {ClassificationRule::adaptive_with_query, 7, 5},
                                          {ClassificationRule::adaptive_with_query, -3, -9},
                                          {ClassificationRule::adaptive_with_query, 0, 9},
                                          {ClassificationRule::adaptive_with_query, 60, 9}};

const std::vector<SphereTask> tasks{{2, 3, 36}, {3, 5, 40}, {5, 4, 8}, {7, 2, 50}, {3, 4, 21, ContextLaw::independent}};

template <class T>
std::vector<simulate::ClassificationPoint<T>> points() {
  std::vector<simulate::ClassificationPoint<T>> list;
  for (const Classifier& c : classifiers) list.push_back(simulate::detail::point_of<T>(c));
  return list;
}

constexpr std::size_t per_classifier = simulate::detail::classification_metrics;

std::vector<double> metrics(const classification::Prediction<double>& p, std::int64_t label) {
  Eigen::Index largest = 0;
  p.logits.maxCoeff(&largest);
  return {classification::cross_entropy(p, label),
          largest == label ? 1.0 : 0.0,
          classification::entropy(p),
          p.probabilities(label),
          p.sensitivity.norm(),
          p.probabilities(largest) > 0.9 ? 1.0 : 0.0,
          p.probabilities(largest) > 0.9 && largest != label ? 1.0 : 0.0};
}

/// The largest deviation of trials from the definition, relative to 1 + the size of the compared number.
template <class T>
double largest_deviation(const SphereTask& task, bool perturbed) {
  const auto list = points<T>();
  const simulate::ClassificationTrial<T> trial{simulate::detail::draw_of<T>(task), list.data(),
                                               static_cast<int>(list.size())};
  double largest = 0;
  for (std::uint64_t index = 0; index < 20; ++index) {
    const auto values = testing::values_of<1>(trial, seed, index);
    const auto drawn = simulate::draw_sphere_context<T>(task, seed, index);
    const auto context = testing::host_context(drawn);
    for (std::size_t i = 0; i < classifiers.size(); ++i) {
      Classifier exact = testing::rounded<T>(classifiers[i]);
      if (perturbed) exact.gain *= 1.001;
      const auto expected = metrics(testing::host_prediction(context, exact), drawn.query_label);
      for (std::size_t k = 0; k < per_classifier; ++k) {
        const double off =
            std::abs(static_cast<double>(values[per_classifier * i + k]) - expected[k]) / (1 + expected[k]);
        largest = testing::worse(largest, off);
      }
    }
  }
  return largest;
}

/// The largest deviation of the alignment between neighbors in the list of classifiers, and how many cosines were
/// compared.
template <class T>
std::pair<double, int> alignment_deviation(const SphereTask& task, bool perturbed) {
  std::vector<simulate::ClassificationPair<T>> pairs;
  for (std::size_t i = 0; i + 1 < classifiers.size(); ++i) {
    pairs.push_back({points<T>()[i], points<T>()[i + 1]});
  }
  const simulate::AlignmentTrial<T> trial{simulate::detail::draw_of<T>(task), pairs.data(),
                                          static_cast<int>(pairs.size())};
  CHECK(testing::lanes_agree(trial, seed));
  double largest = 0;
  int cosines = 0;
  for (std::uint64_t index = 0; index < 10; ++index) {
    const auto values = testing::values_of<1>(trial, seed, index);
    const auto context = testing::host_context(simulate::draw_sphere_context<T>(task, seed, index));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      Classifier first = testing::rounded<T>(classifiers[i]);
      if (perturbed) first.gain *= 1.01;
      const auto a = testing::host_prediction(context, first);
      const auto b = testing::host_prediction(context, testing::rounded<T>(classifiers[i + 1]));
      double cosine = 0, smallest = 1;
      for (Eigen::Index c = 0; c < a.sensitivity.rows(); ++c) {
        const double norms = a.sensitivity.row(c).norm() * b.sensitivity.row(c).norm();
        smallest = std::min(smallest, norms);
        if (norms > 0) cosine += a.sensitivity.row(c).dot(b.sensitivity.row(c)) / norms;
      }
      const double expected[] = {(a.probabilities - b.probabilities).norm(), cosine / static_cast<double>(task.classes),
                                 (a.sensitivity - b.sensitivity).norm()};
      for (std::size_t k = 0; k < 3; ++k) {
        const bool is_cosine = k == static_cast<std::size_t>(AlignmentMetric::cosine_similarity);
        if (is_cosine && smallest > 0 && smallest < 1e-3) continue;  // the direction of a vector that is nearly 0
        cosines += is_cosine ? 1 : 0;
        largest = testing::worse(
            largest, std::abs(static_cast<double>(values[simulate::detail::alignment_metrics * i + k]) - expected[k]) /
                         (1 + std::abs(expected[k])));
      }
    }
  }
  return {largest, cosines};
}

}  // namespace

TEST_CASE("classification: a trial is the closed forms' prediction of its context, to rounding") {
  for (const SphereTask& task : tasks) {
    CAPTURE(task.dimension, task.classes);
    CHECK(largest_deviation<float>(task, false) <= 2e-5);
    CHECK(largest_deviation<double>(task, false) <= 2e-13);
    CHECK(largest_deviation<float>(task, true) > 1e-4);
  }
}

TEST_CASE("classification: an estimate's rounding bounds its error in single precision, also at large gains") {
  constexpr std::int64_t trials = 64;
  testing::Worst largest_share;
  std::vector<Classifier> wide = classifiers;
  wide.insert(wide.end(), {{ClassificationRule::linear, 0, 1e6},
                           {ClassificationRule::adaptive, 40, 1e5},
                           {ClassificationRule::kernel, 300, 1e4}});
  for (const SphereTask& task : tasks) {
    const auto run = simulate::classification<float>(task, wide, {.seed = seed, .trials = trials});
    for (std::size_t i = 0; i < wide.size(); ++i) {
      std::vector<double> exact(per_classifier, 0.0);
      for (std::uint64_t index = 0; index < trials; ++index) {
        const auto drawn = simulate::draw_sphere_context<float>(task, seed, index);
        const auto values = metrics(testing::host_prediction(testing::host_context(drawn), wide[i]), drawn.query_label);
        for (std::size_t k = 0; k < per_classifier; ++k) exact[k] += values[k] / trials;
      }
      for (std::size_t k = 0; k < per_classifier; ++k) {
        const auto metric = static_cast<ClassificationMetric>(k);  // a tie may be decided either way, and 0.9
        if (metric == ClassificationMetric::accuracy || metric >= ClassificationMetric::confidence) continue;
        const auto& estimate = run.run.estimates[per_classifier * i + k];
        const double off = std::abs(estimate.mean - exact[k]);
        CAPTURE(task.dimension, task.classes, i, k, estimate.mean, estimate.rounding);
        CHECK(off <= estimate.rounding);
        largest_share.add(off / estimate.rounding, "i ", i, ", k ", k);
      }
    }
  }
  CHECK(largest_share > 0.005);
}

TEST_CASE("classification: the alignment of a trial is that of the closed forms, to rounding") {
  for (const SphereTask& task : tasks) {
    CAPTURE(task.dimension, task.classes);
    const auto [single, single_cosines] = alignment_deviation<float>(task, false);
    const auto [full, full_cosines] = alignment_deviation<double>(task, false);
    INFO(single << " " << full << " " << single_cosines << " " << full_cosines << " "
                << alignment_deviation<float>(task, true).first);
    CHECK(single <= 1e-3);
    CHECK(full <= 1e-11);
    CHECK(single_cosines >= 40);
    CHECK(full_cosines >= 40);
    CHECK(alignment_deviation<float>(task, true).first > 2e-3);
    CHECK(alignment_deviation<double>(task, true).first > 2e-3);
  }
}

TEST_CASE("classification: side by side or alone, a trial has the same bits") {
  for (const SphereTask& task : tasks) {
    const auto list = points<float>();
    const simulate::ClassificationTrial<float> trial{simulate::detail::draw_of<float>(task), list.data(),
                                                     static_cast<int>(list.size())};
    CHECK(testing::lanes_agree(trial, seed));
  }
}

TEST_CASE("classification: two classes have the accuracy and loss of long contexts' Gaussian noise, and of no other") {
  for (const std::int64_t d : {2, 3, 6}) {
    const std::int64_t n = 600;
    const auto best = classification::best_linear_rate<double>(d, n);
    const double kappa = 1.5, gain = best.learning_rate / kappa;
    CAPTURE(d);
    const auto run = simulate::classification(
        {d, 2, n}, {{ClassificationRule::linear, 0, best.learning_rate}, {ClassificationRule::adaptive, kappa, gain}},
        {.seed = seed, .trials = 1 << 14});
    const auto& loss = run.at(0, ClassificationMetric::loss);
    const auto& accuracy = run.at(0, ClassificationMetric::accuracy);
    CHECK(std::abs(testing::z_of(classification::linear_accuracy<double>(d, n), accuracy)) <= 5);
    CHECK(std::abs(testing::z_of(classification::linear_cross_entropy(d, n, best.learning_rate), loss)) <= 5);
    const double theory =
        classification::adaptive_cross_entropy(d, kappa, n, gain, classification::QueryToken::excluded);
    CHECK(std::abs(testing::z_of(theory, run.at(1, ClassificationMetric::loss))) <= 5);
    // Power: half the context, and the noise forgotten.
    CHECK(std::abs(testing::z_of(classification::linear_accuracy<double>(d, n / 2), accuracy)) > 5);
    CHECK(std::abs(testing::z_of(classification::linear_cross_entropy(d, n / 2, best.learning_rate), loss)) > 5);
    CHECK(std::abs(testing::z_of(classification::linear_cross_entropy(d, 1000 * n, best.learning_rate), loss)) > 5);
  }
}

TEST_CASE(
    "classification: in long contexts of the circle attention weighs cells by P over volume if balanced, by P if "
    "not") {
  const std::int64_t n = 4000;
  const double kappa = 6, gain = 5;
  for (const auto law : {ContextLaw::balanced, ContextLaw::independent}) {
    testing::SampleMean balanced, independent;
    const std::vector<simulate::ClassificationPoint<float>> point{{ClassificationRule::adaptive, 6.0f, 5.0f}};
    const SphereTask task{2, 4, n, law};
    const simulate::ClassificationTrial<float> trial{simulate::detail::draw_of<float>(task), point.data(), 1};
    for (std::uint64_t index = 0; index < 400; ++index) {
      const auto drawn = simulate::draw_sphere_context<float>(task, seed, index);
      const auto angle = [](const float* x) {
        return std::atan2(static_cast<double>(x[1]), static_cast<double>(x[0]));
      };
      std::vector<double> prototypes;
      for (std::size_t c = 0; c < 4; ++c) prototypes.push_back(angle(&drawn.prototypes[2 * c]));
      const auto cells = classification::circle_cells<double>(prototypes, angle(drawn.query.data()), kappa, n, gain);
      const auto label = static_cast<std::size_t>(drawn.query_label);
      const double p = static_cast<double>(testing::values_of<1>(trial, seed, index)[3]);
      const double b = cells.balanced_classes[label], i = cells.independent_classes[label];
      balanced.add((p - b) * (i - b));
      independent.add((p - i) * (b - i));
    }
    const bool is_balanced = law == ContextLaw::balanced;
    CAPTURE(is_balanced);
    CHECK(std::abs((is_balanced ? balanced : independent).z(0)) <= 5);
    CHECK(std::abs((is_balanced ? independent : balanced).z(0)) > 5);
  }
}

TEST_CASE("classification: for two classes elimination is selection, but for the query's own key") {
  const SphereTask task{2, 2, 4};
  const auto losses = [&](double kappa, double gain, std::uint64_t first) {
    return simulate::classification(
        task, {{ClassificationRule::adaptive, kappa, gain}, {ClassificationRule::adaptive_with_query, kappa, gain}},
        {.seed = first, .trials = 1 << 16});
  };
  const auto selection = losses(10, 5, 1), elimination = losses(-10, -5, 2);
  const auto z = [&](std::size_t point, ClassificationMetric metric) {
    const auto &a = selection.at(point, metric), &b = elimination.at(point, metric);
    return (a.mean - b.mean) / std::hypot(a.standard_error, b.standard_error);
  };
  for (const auto metric : {ClassificationMetric::loss, ClassificationMetric::accuracy, ClassificationMetric::entropy,
                            ClassificationMetric::sensitivity}) {
    CHECK(std::abs(z(0, metric)) <= 5);
  }
  CHECK(std::abs(z(1, ClassificationMetric::loss)) > 5);
}

TEST_CASE("classification: with a narrow kernel the query's own key turns sensitivities, not predictions") {
  const std::vector<simulate::ClassifierPair> pairs{
      {{ClassificationRule::adaptive_with_query, 30, 8}, {ClassificationRule::adaptive, 30, 8}},
      {{ClassificationRule::adaptive_with_query, 30, 8}, {ClassificationRule::adaptive_with_query, 30, 8}}};
  const auto run = simulate::classification_alignment({2, 5, 100}, pairs, {.seed = seed, .trials = 4096});
  CHECK(run.at(0, AlignmentMetric::predictions_difference).mean < 0.1);
  CHECK(run.at(0, AlignmentMetric::cosine_similarity).mean < 0.5);
  CHECK(run.at(1, AlignmentMetric::predictions_difference).mean == 0);
  CHECK(run.at(1, AlignmentMetric::cosine_similarity).mean > 0.999);
}

TEST_CASE("classification: trials kept one by one are the run's") {
  const std::vector<Classifier> one{{ClassificationRule::kernel, 3, 20}};
  const simulate::Options options{.seed = seed, .trials = 1500};
  const auto run = simulate::classification({3, 3, 30}, one, options);
  const auto sample = simulate::classification_sample({3, 3, 30}, one, options);
  double sum = 0;
  for (std::int64_t i = 0; i < 1500; ++i) sum += sample.sample.sorted(0)[i];
  CHECK(std::abs(sum / 1500 / run.at(0, ClassificationMetric::loss).mean - 1) <= 1e-9);
  CHECK(sample.median(0, ClassificationMetric::loss) < run.at(0, ClassificationMetric::loss).mean);
}

TEST_CASE("classification: devices and threads do not change the bits") {
  const std::vector<Classifier> some{classifiers[0], classifiers[3], classifiers[9]};
  CHECK(testing::devices_agree([&](simulate::Device device, int threads) {
    return simulate::classification({4, 5, 20}, some, {.seed = 5, .trials = 1500, .device = device, .threads = threads})
        .run;
  }));
}

TEST_CASE("classification: bad input is refused by name and value", "[bad-input]") {
  const simulate::Options options{.trials = 2};
  const auto message = [&](const Classifier& classifier) {
    return testing::message_of([&] { (void)simulate::classification({3, 2, 4}, {classifier}, options); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(message({ClassificationRule::kernel, -1, 1}) ==
        "incontext::simulate::classification: kappa is negative: no kernel (value = -1; needs 0 <= value)");
  CHECK(testing::names(message({ClassificationRule::adaptive, inf, 1}), "kappa is not finite", "inf"));
  CHECK(testing::names(message({ClassificationRule::linear, 0, nan}), "gain is not finite", "nan"));
  // Finite numbers that float does not hold.
  CHECK(
      message({ClassificationRule::adaptive, 1e39, 1}) ==
      "incontext::simulate::classification: kappa is beyond the scalar's range (value = 9.9999999999999994e+38; needs "
      "less than 2^128 in size)");
  CHECK(testing::names(message({ClassificationRule::adaptive, -1e39, 1}), "kappa is beyond", "e+38"));
  CHECK(testing::names(message({ClassificationRule::linear, 0, -1e39}), "gain is beyond", "e+38"));
  CHECK(message({ClassificationRule::linear, 0, 3e38}).empty());
  CHECK_NOTHROW(simulate::classification<double>({3, 2, 4}, {{ClassificationRule::linear, 0, 1e39}}, options));
  CHECK_THROWS_AS(simulate::classification_sample({3, 2, 4}, {{ClassificationRule::adaptive, 1e39, 1}}, options),
                  std::domain_error);
  CHECK_THROWS_AS(simulate::classification_alignment(
                      {3, 2, 4}, {{classifiers[0], {ClassificationRule::adaptive, 2, 1e39}}}, options),
                  std::domain_error);
  CHECK_THROWS_AS(simulate::classification({3, 2, 4}, {}, options), std::invalid_argument);
  CHECK_THROWS_AS(simulate::classification({3, 2, 5}, {classifiers[0]}, options), std::invalid_argument);
  CHECK_THROWS_AS(simulate::classification({3, 2, 4}, {classifiers[0]}, {.trials = 0}), std::invalid_argument);
  CHECK_THROWS_AS(simulate::classification_alignment({3, 2, 4}, {}, options), std::invalid_argument);
  CHECK_THROWS_AS(
      simulate::classification_alignment({3, 2, 4}, {{{ClassificationRule::kernel, -1, 1}, classifiers[0]}}, options),
      std::domain_error);
}

TEST_CASE("contrasts are the differences of two rules, with a smaller error than on contexts of their own") {
  const SphereTask task{3, 4, 40};
  const std::vector<Classifier> rules{{ClassificationRule::linear, 0, 30},
                                      {ClassificationRule::adaptive, 7, 5},
                                      {ClassificationRule::adaptive, 7, 5.5}};
  const simulate::Options options{.seed = seed, .trials = 1 << 14};
  const auto run = simulate::classification_contrasts<double>(task, rules, {{1, 0}, {2, 1}}, options);
  for (std::size_t pair = 0; pair < 2; ++pair) {
    const auto check = [&](ClassificationMetric metric, const statistics::Estimate& difference) {
      const auto &first = run.at(pair + 1, metric), &second = run.at(pair, metric);
      CHECK(std::abs(difference.mean - (first.mean - second.mean)) <= 1e-12);
      CHECK(difference.standard_error < std::hypot(first.standard_error, second.standard_error));
    };
    check(ClassificationMetric::loss, run.loss_difference(pair));
    check(ClassificationMetric::accuracy, run.accuracy_difference(pair));
    // the rules differ, so that a contrast of a rule with itself, which is 0, fails here
    CHECK(std::abs(run.loss_difference(pair).mean) > 3 * run.loss_difference(pair).standard_error);
  }
}

}  // namespace classification_test
