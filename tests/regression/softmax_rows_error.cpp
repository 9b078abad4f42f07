// True softmax on the rows of a data set: every context enumerated.

#include "incontext/regression/softmax_rows_error.hpp"

#include <cmath>
#include <vector>

#include "incontext/regression/any_law_error.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "regression/enumerated_contexts.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

using namespace incontext;
using namespace incontext::regression;
using namespace incontext::testing;
using scoring::Softmax;
using scoring::SSA;
using scoring::SSMax;

namespace {

struct Labeling {
  Vector<double> task_mean;
  Matrix<double> task_covariance;
  double noise;
  Vector<double> labels;  // of the rows themselves
};

struct Errors {
  double of_law, of_labels;
};

/// The definition: weights by the map, over every context and every query.
template <class Map>
Errors enumerated(const Attention<double>& attention, const Matrix<double>& rows, const Labeling& law, std::int64_t l,
                  const Map& map) {
  Errors sum{0, 0};
  double count = 0;
  const double v = attention.label_value;
  for_each_context(rows.rows(), l, [&](const std::vector<Eigen::Index>& context, Eigen::Index query) {
    Vector<double> scores(l), weight(l);
    for (Eigen::Index j = 0; j < l; ++j) {
      scores(j) = rows.row(context[static_cast<std::size_t>(j)]).dot(attention.key_query * rows.row(query).transpose());
    }
    scoring::weights(map, scores, weight);
    Vector<double> attended = Vector<double>::Zero(rows.cols());
    double label = 0;
    for (Eigen::Index j = 0; j < l; ++j) {
      const auto row = context[static_cast<std::size_t>(j)];
      attended += weight(j) * rows.row(row).transpose();
      label += weight(j) * law.labels(row);
    }
    const Vector<double> missed = v * attended - rows.row(query).transpose();
    const double at_mean = attention.input_value.dot(attended) + law.task_mean.dot(missed);
    sum.of_law +=
        law.noise * (1 + v * v * weight.squaredNorm()) + at_mean * at_mean + missed.dot(law.task_covariance * missed);
    const double off = attention.input_value.dot(attended) + v * label - law.labels(query);
    sum.of_labels += off * off;
    count += 1;
  });
  return {sum.of_law / count, sum.of_labels / count};
}

}  // namespace

TEST_CASE("true softmax on rows: equal to the enumeration of every context, hot and cold, for every map") {
  const std::int64_t l = GENERATE(2, 3, 4);
  RegressionCases cases(500);
  const Matrix<double> rows = (cases.matrix(5, 2).array() + 0.5).matrix();  // not centered
  const Attention<double> attention = cases.attention(2);
  Labeling law{cases.vector(2), cases.covariance(2), 0.375, cases.vector(5)};
  const auto check = [&](const auto& map) {
    const Errors truth = enumerated(attention, rows, law, l, map);
    const auto by_law =
        softmax_any_law_error<double>(attention, rows, law.task_mean, law.task_covariance, law.noise, l, map);
    const auto by_labels = softmax_labeled_rows_error<double>(attention, rows, law.labels, l, map);
    INFO("off " << by_law.value / truth.of_law - 1 << ", " << by_labels.value / truth.of_labels - 1 << ", estimate "
                << by_law.error_estimate / by_law.value << ", slope of scores " << map.elementwise(l).slope(1.0));
    CHECK(std::abs(by_law.value / truth.of_law - 1) < 1e-12);
    CHECK(std::abs(by_labels.value / truth.of_labels - 1) < 1e-12);
    CHECK(by_law.error_estimate < 1e-12 * by_law.value);
  };
  for (const double temperature : {1e-4, 0.03, 0.3, 1.0, 10.0, 1e6}) check(Softmax<double>{temperature});
  check(SSMax<double>{-0.7, 0.2});
  check(SSA<double>{1.0, 1.5});
  // one known task
  law.task_covariance.setZero();
  check(Softmax<double>{0.5});
  // Power: without replacement of the mean, and with one example more.
  const Softmax<double> map{0.3};
  const double truth = enumerated(attention, rows, law, l, map).of_law;
  const auto other = [&](std::int64_t length, const Vector<double>& mean) {
    return softmax_any_law_error<double>(attention, rows, mean, law.task_covariance, law.noise, length, map).value;
  };
  CHECK(std::abs(other(l + 1, law.task_mean) / truth - 1) > 1e-4);
  CHECK(std::abs(other(l, 1.01 * law.task_mean) / truth - 1) > 1e-4);
}

TEST_CASE("hot softmax on rows is approximate softmax on rows, with the offset kept") {
  RegressionCases cases(501);
  const Matrix<double> rows = cases.matrix(40, 3);
  const Attention<double> attention = cases.attention(3);
  const Vector<double> mean = cases.vector(3);
  const Matrix<double> covariance = cases.covariance(3);
  const auto approximate = any_law_error<double>(attention, InputRows<double>(rows), mean, covariance, 0.25, 30);
  const double hot =
      softmax_any_law_error<double>(attention, rows, mean, covariance, 0.25, 30, Softmax<double>{1e4}).value;
  CHECK(std::abs(hot - approximate(1e4)) < 1e-3 * std::abs(approximate(1e4) - approximate.constant));
}

TEST_CASE("softmax on rows refuses what it cannot mean") {
  RegressionCases cases(502);
  const Matrix<double> rows = cases.matrix(4, 2);
  const Attention<double> attention = cases.attention(2);
  const Softmax<double> map{1.0};
  const Vector<double> labels = Vector<double>::Ones(3);
  CHECK(refuses<std::logic_error>([&] { softmax_labeled_rows_error<double>(attention, rows, labels, 5, map); },
                                  {"labels", "3 x 1"}));
  CHECK(refuses<std::logic_error>(
      [&] { softmax_labeled_rows_error<double>(attention, rows, Vector<double>(Vector<double>::Ones(4)), 1, map); },
      {"context_length", "value = 1"}));
  CHECK(refuses<std::logic_error>(
      [&] {
        softmax_labeled_rows_error<double>(attention, rows, Vector<double>(Vector<double>::Ones(4)), 5,
                                           Softmax<double>{0.0});
      },
      {"temperature", "value = 0;"}));
}
