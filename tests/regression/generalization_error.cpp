#include "incontext/regression/generalization_error.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "regression/literal_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext::regression;
using namespace incontext::testing;

namespace {

using Parabola = InverseTemperatureParabola<double>;

struct Trial {
  Attention<double> attention;
  LinearTask<double> task;
};

Trial shifted_trial(Eigen::Index d) {
  RegressionCases cases(static_cast<std::uint64_t>(100 + d));
  return {cases.attention(d), cases.task(d)};
}

Trial centered_trial(Eigen::Index d) {
  Trial trial = shifted_trial(d);
  trial.attention.input_value.setZero();
  return {trial.attention, trial.task.with_input_mean(Vector<double>::Zero(d))};
}

/// Temperatures below the optimum, at it and above it; three fixed temperatures where there is no optimum.
std::array<double, 3> temperatures(const Parabola& error) {
  const double best = error.has_optimal_temperature() ? error.optimal_temperature() : 1.0;
  return {0.6 * best, best, 3.0 * best};
}

/// The error by its definition, over every value of a rule with the moments of normal inputs up to degree 5 (0 and
/// +- sqrt 3), of the task and of the noise up to degree 3 (+- 1): no squared error here has a higher degree in one of
/// them. No algebra is shared with the closed form, and nothing is random.
class EnumeratedError {
 public:
  EnumeratedError(const Trial& trial, std::int64_t context_length, ErrorConvention convention)
      : trial_(trial),
        convention_(convention),
        l_(context_length),
        d_(trial.task.dimension()),
        input_root_(trial.task.input_covariance().llt().matrixL()),
        task_root_(trial.task.task_covariance().llt().matrixL()),
        inputs_(d_, l_ + 1),
        noise_(Vector<double>::Zero(l_ + 1)) {}

  Parabola sum() {
    choose_task(0, trial_.task.task_mean(), 1.0);
    return {sums_.constant + trial_.task.noise_variance(), sums_.linear, sums_.quadratic};
  }

 private:
  void choose_task(Eigen::Index k, const Vector<double>& w, double weight) {
    if (k == d_) {
      task_ = w;
      return choose_noise(0, weight);
    }
    for (const double sign : {-1.0, 1.0}) choose_task(k + 1, w + sign * task_root_.col(k), weight / 2);
  }
  void choose_noise(Eigen::Index i, double weight) {
    if (i == l_) return choose_input(0, weight);
    for (const double sign : {-1.0, 1.0}) {
      noise_(i) = sign * std::sqrt(trial_.task.noise_variance());
      choose_noise(i + 1, weight / 2);
    }
  }
  void choose_input(Eigen::Index at, double weight) {
    if (at == d_ * (l_ + 1)) return add(weight);
    const Eigen::Index i = at / d_, k = at % d_;
    const Vector<double> before = k == 0 ? trial_.task.input_mean() : Vector<double>(inputs_.col(i));
    for (const double step : {-1.0, 0.0, 1.0}) {
      inputs_.col(i) = before + step * std::sqrt(3.0) * input_root_.col(k);
      choose_input(at + 1, weight * (step < 0 || step > 0 ? 1.0 / 6 : 2.0 / 3));
    }
    inputs_.col(i) = before;
  }
  /// The label minus the prediction without scores, and the change of the prediction per unit of inverse temperature.
  void add(double weight) {
    const bool query_too = convention_.query == QueryToken::included;
    const Eigen::Index keys = query_too ? l_ + 1 : l_;
    double mean_score = 0, offset = 0, slope = 0, mean_value = 0;
    const Vector<double> read = trial_.attention.key_query * inputs_.col(l_);
    for (Eigen::Index i = 0; i < keys; ++i) {
      const double label = i < l_ ? task_.dot(inputs_.col(i)) + noise_(i) : 0.0;
      const double value =
          (trial_.attention.input_value.dot(inputs_.col(i)) + trial_.attention.label_value * label) / double(keys);
      const double score = inputs_.col(i).dot(read);
      mean_score += score / double(keys);
      mean_value += value;
      slope += value * score;
      offset += value;
    }
    slope -= mean_value * mean_score;
    if (convention_.offset == Offset::removed) offset = 0;
    const double left = task_.dot(inputs_.col(l_)) - offset;
    sums_.constant += weight * left * left;
    sums_.linear += weight * left * slope;
    sums_.quadratic += weight * slope * slope;
  }

  const Trial& trial_;
  ErrorConvention convention_;
  Eigen::Index l_, d_;
  Matrix<double> input_root_, task_root_, inputs_;
  Vector<double> noise_, task_;
  Parabola sums_{0.0, 0.0, 0.0};
};

/// The exact parabola with its linear and quadratic coefficients multiplied.
Parabola scaled(Parabola error, double linear, double quadratic) {
  error.linear *= linear;
  error.quadratic *= quadratic;
  return error;
}

}  // namespace

TEST_CASE("the error of approximate softmax attention is that of attention run as written") {
  const Eigen::Index l = GENERATE(2, 6, 15);
  const auto [attention, task] = shifted_trial(3);
  const Parabola theory = generalization_error(attention, task, l);
  const auto at = temperatures(theory);
  const auto measured = literal_errors(attention, task, l, at, {.seed = 11});
  CHECK(largest_z(measured, at, theory) <= 5.0);

  // Power: l in place of l - 1, and the term of relative size d / l left out.
  const double degrees = static_cast<double>(l - 1) / static_cast<double>(l);
  CHECK(largest_z(measured, at, scaled(theory, 1.0 / degrees, 1.0 / degrees)) > 5.0);
  const Parabola no_spread = generalization_error_leading_order(attention, task, 1'000'000'000);
  CHECK(largest_z(measured, at, {theory.constant, theory.linear, degrees * no_spread.quadratic}) > 5.0);
  // Power: the formula for the offset removed.
  CHECK(largest_z(measured, at, generalization_error(attention, task, l, {.offset = Offset::removed})) > 5.0);
}

TEST_CASE("removing the offset is the limit of small values and large scores") {
  const auto [attention, task] = shifted_trial(3);
  const Parabola theory = generalization_error(attention, task, 6, {.offset = Offset::removed});
  const auto at = temperatures(theory);
  const auto measured = literal_errors(value_scaled(attention, 1e-7), task, 6, at, {.seed = 12});
  CHECK(largest_z(measured, at, theory) <= 5.0);
  CHECK(largest_z(measured, at, generalization_error(attention, task, 6)) > 5.0);

  // The same limit taken in the closed form, to the order of t.
  const Parabola limit = generalization_error(value_scaled(attention, 1e-9), task, 6);
  CHECK(std::abs(limit.constant - theory.constant) <= 1e-7 * theory.constant);
  CHECK(std::abs(limit.linear - theory.linear) <= 1e-7 * std::abs(theory.linear));
  CHECK(std::abs(limit.quadratic - theory.quadratic) <= 1e-12 * theory.quadratic);
}

TEST_CASE("the error with the query among its keys is that of the literal model") {
  const Eigen::Index l = GENERATE(2, 5, 12);
  const auto [attention, task] = centered_trial(3);
  constexpr ErrorConvention included{.query = QueryToken::included};
  const Parabola theory = generalization_error(attention, task, l, included);
  const auto at = temperatures(theory);
  const auto measured = literal_errors(attention, task, l, at, {.query = QueryToken::included, .seed = 13});
  CHECK(largest_z(measured, at, theory) <= 5.0);
  CHECK(largest_z(measured, at, generalization_error(attention, task, l)) > 5.0);

  const Parabola removed =
      generalization_error(attention, task, l, {.query = QueryToken::included, .offset = Offset::removed});
  const auto scaled_values = literal_errors(value_scaled(attention, 1e-7), task, l, at,
                                            {.query = QueryToken::included, .trials = 100'000, .seed = 14});
  CHECK(largest_z(scaled_values, at, removed) <= 5.0);
  CHECK(largest_z(scaled_values, at, theory) > 5.0);
}

TEST_CASE("two and three examples: the coefficients are sums over every value of a rule for normal variables") {
  for (const auto& [d, l] : {std::pair{1, 2}, std::pair{1, 3}, std::pair{2, 2}, std::pair{2, 3}}) {
    for (const auto query : {QueryToken::excluded, QueryToken::included}) {
      Trial trial = query == QueryToken::included ? centered_trial(d) : shifted_trial(d);
      if (d == 2) trial.attention.key_query << 0.5, 2.0, -1.5, 1.0;  // far from symmetric
      for (const auto offset : {Offset::kept, Offset::removed}) {
        if (d * l > 4 && (query == QueryToken::excluded || offset == Offset::removed)) continue;  // a million values
        const ErrorConvention convention{.query = query, .offset = offset};
        const Parabola exact = EnumeratedError(trial, l, convention).sum();
        const Parabola theory = generalization_error(trial.attention, trial.task, l, convention);
        INFO("d " << d << ", l " << l << ", query " << static_cast<int>(query) << ", offset "
                  << static_cast<int>(offset));
        CHECK(std::abs(theory.constant / exact.constant - 1) <= 1e-12);
        CHECK(std::abs(theory.linear - exact.linear) <= 1e-12 * std::sqrt(exact.constant * exact.quadratic));
        CHECK(std::abs(theory.quadratic / exact.quadratic - 1) <= 1e-12);
      }
    }
  }
}

TEST_CASE("one input dimension and two examples agree with the literal errors") {
  const auto [attention, task] = centered_trial(1);
  const Parabola theory = generalization_error(attention, task, 2);
  const auto at = temperatures(theory);
  CHECK(largest_z(literal_errors(attention, task, 2, at, {.seed = 15}), at, theory) <= 5.0);
}

TEST_CASE("the leading order differs from the exact error by the factor (l - 1) / l alone") {
  const std::int64_t l = GENERATE(2, 7, 100, 1'000'000'000);
  const Offset offset = GENERATE(Offset::kept, Offset::removed);
  const auto [attention, task] = shifted_trial(4);
  const Parabola exact = generalization_error(attention, task, l, {.offset = offset});
  const Parabola leading = generalization_error_leading_order(attention, task, l, offset);
  const double degrees = static_cast<double>(l - 1) / static_cast<double>(l);
  CHECK(leading.constant == exact.constant);
  CHECK(std::abs(leading.linear * degrees - exact.linear) <= 1e-15 * std::sqrt(exact.constant * exact.quadratic));
  CHECK(std::abs(leading.quadratic * degrees - exact.quadratic) <= 1e-14 * exact.quadratic);
  CHECK(std::abs(leading.optimal_temperature() / exact.optimal_temperature() - 1.0) <= 1e-14);
}

TEST_CASE("the exact error tends to the leading order with its own offset, and not with the other one") {
  const auto [attention, task] = shifted_trial(3);
  for (const auto offset : {Offset::kept, Offset::removed}) {
    const Offset other = offset == Offset::kept ? Offset::removed : Offset::kept;
    for (const double temperature : {0.7, 3.0}) {
      double before = std::numeric_limits<double>::infinity();
      for (const std::int64_t l : {100, 1'000, 10'000, 100'000}) {
        const double exact = generalization_error(attention, task, l, {.offset = offset})(temperature);
        const double leading = generalization_error_leading_order(attention, task, l, offset)(temperature);
        const double off = std::abs(leading / exact - 1);
        CHECK(off < 0.11 * before);  // in proportion to 1/l
        before = off;
        CHECK(std::abs(generalization_error_leading_order(attention, task, l, other)(temperature) / exact - 1) > 0.01);
      }
    }
  }
  // With the offset kept, the limit without scores is E (y_q - v_x . mu - v_y w . mu)^2, and 1/l of a label's variance.
  Attention<double> silent = attention;
  silent.key_query.setZero();
  const std::int64_t l = 10'000;
  const Vector<double>& mu = task.input_mean();
  const Vector<double> left = (1 - attention.label_value) * task.task_mean() - attention.input_value;
  const Vector<double> read = attention.label_value * task.task_mean() + attention.input_value;
  const double v = attention.label_value;
  const Matrix<double>&s = task.input_covariance(), &w = task.task_covariance();
  const double limit = task.noise_variance() + std::pow(left.dot(mu), 2) + (1 - v) * (1 - v) * mu.dot(w * mu) +
                       task.task_mean().dot(s * task.task_mean()) + (s * w).trace();
  const double variance = read.dot(s * read) + v * v * ((s * w).trace() + task.noise_variance());
  const double kept = generalization_error_leading_order(silent, task, l, Offset::kept)(1.0);
  CHECK(std::abs(kept / (limit + variance / static_cast<double>(l)) - 1) < 1e-13);
}

TEST_CASE("a long context makes the query's own token and the offset's noise vanish") {
  const auto [attention, task] = centered_trial(3);
  const Parabola excluded = generalization_error(attention, task, 1'000'000'000);
  const Parabola included = generalization_error(attention, task, 1'000'000'000, {.query = QueryToken::included});
  CHECK(std::abs(included.constant / excluded.constant - 1.0) <= 1e-8);
  CHECK(std::abs(included.linear / excluded.linear - 1.0) <= 1e-7);
  CHECK(std::abs(included.quadratic / excluded.quadratic - 1.0) <= 1e-7);
}

TEST_CASE("attention that opposes the task has no optimal temperature") {
  auto [attention, task] = centered_trial(2);
  attention.key_query = -Matrix<double>::Identity(2, 2);
  const Parabola error = generalization_error(attention, task, 10, {.offset = Offset::removed});
  CHECK(error.linear < 0.0);
  CHECK_FALSE(error.has_optimal_temperature());
  CHECK(error.optimal_temperature() == std::numeric_limits<double>::infinity());
  CHECK(error.minimum() == error.constant);
}

TEST_CASE("generalization_error refuses what it cannot mean, and says which value") {
  const Trial trial = shifted_trial(2);
  const Attention<double>& attention = trial.attention;
  const LinearTask<double>& task = trial.task;
  CHECK_THROWS_AS(generalization_error(attention, task, 1), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { generalization_error(attention, task, 1); }, {"context_length", "value = 1"}));
  CHECK_THROWS_AS(generalization_error_leading_order(attention, task, 0), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { generalization_error_leading_order(attention, task, 0); },
                                  {"context_length", "value = 0"}));

  Attention<double> wide = attention;
  wide.key_query = Matrix<double>::Identity(3, 3);
  CHECK(refuses<std::logic_error>([&] { generalization_error(wide, task, 5); }, {"key_query", "3 x 3"}));
  Attention<double> broken = attention;
  broken.key_query(1, 0) = std::nan("");
  CHECK_THROWS_AS(generalization_error(broken, task, 5), std::domain_error);
  CHECK(refuses<std::logic_error>([&] { generalization_error(broken, task, 5); }, {"key_query(1, 0)", "nan"}));

  constexpr ErrorConvention included{.query = QueryToken::included};
  CHECK_THROWS_AS(generalization_error(attention, task, 5, included), std::invalid_argument);
  CHECK(refuses<std::logic_error>([&] { generalization_error(attention, task, 5, included); }, {"input_mean(0"}));
  const auto centered = task.with_input_mean(Vector<double>::Zero(2));
  CHECK(refuses<std::logic_error>([&] { generalization_error(attention, centered, 5, included); }, {"input_value(0"}));
}
