// Every template of the room, instantiated in every built-in real type: a member nobody calls still has to compile.

#include <cmath>
#include <limits>
#include <tuple>

#include "incontext/regression/any_law_error.hpp"
#include "incontext/regression/centered_ridge.hpp"
#include "incontext/regression/centered_ridge_risk.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/least_squares_task.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/moment_ratio.hpp"
#include "incontext/regression/pretrained_attention.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

namespace incontext::regression {

template class LinearTask<float>;
template class LinearTask<double>;
template class LinearTask<long double>;
template class InputRows<float>;
template class InputRows<double>;
template class InputRows<long double>;
template struct InverseTemperatureParabola<float>;
template struct InverseTemperatureParabola<double>;
template struct InverseTemperatureParabola<long double>;
template class detail::WhitenedContext<float>;
template class detail::WhitenedContext<double>;
template class detail::WhitenedContext<long double>;

namespace {

template <class T>
auto every_function() {
  using Estimate = MomentRatioEstimate<T>;
  return std::tuple{static_cast<T (*)(const Matrix<T>&, const Matrix<T>&)>(&trace_of_product<T>),
                    &validate<T>,
                    &generalization_error<T>,
                    &generalization_error_leading_order<T>,
                    &linear_attention_error<T>,
                    &any_law_error<T>,
                    &labeled_rows_error<T>,
                    &optimal_temperature<T>,
                    &optimal_temperature_isotropic<T>,
                    &pretrained_attention<T>,
                    &pretrained_attention_from_data<T>,
                    &centered_ridge<T>,
                    static_cast<T (*)(const RidgePosterior<T>&, const LinearTask<T>&)>(&centered_ridge_risk<T>),
                    static_cast<T (*)(const Matrix<T>&, const LinearTask<T>&)>(&centered_ridge_risk<T>),
                    &centered_ridge_risk_isotropic_limit<T>,
                    &centered_ridge_risk_equivalent<T>,
                    &require_regressable<T>,
                    &least_squares_task<T>,
                    &moment_ratio<T>,
                    &corrected_moment_ratio<T>,
                    static_cast<Estimate (*)(const Matrix<T>&, const Vector<T>&)>(&moment_ratio_from_scores<T>),
                    static_cast<Estimate (*)(const Matrix<T>&, SelfOnDiagonal)>(&moment_ratio_from_scores<T>),
                    static_cast<Estimate (*)(const Matrix<T>&, SelfInColumn)>(&moment_ratio_from_scores<T>)};
}

}  // namespace

}  // namespace incontext::regression

using namespace incontext::regression;
using namespace incontext::testing;

TEMPLATE_TEST_CASE("every closed form answers in every built-in real type", "", float, double, long double) {
  std::apply([](auto... function) { CHECK(((function != nullptr) && ...)); }, every_function<TestType>());

  RegressionCases cases(131);
  const auto task = cases.task(3);
  const auto attention = cases.attention(3);
  const double expected = generalization_error(attention, task, 9).optimal_temperature();
  const TestType best = generalization_error(as<TestType>(attention), as<TestType>(task), 9).optimal_temperature();
  CHECK(std::abs(static_cast<double>(best) - expected) <=
        100.0 * static_cast<double>(std::numeric_limits<float>::epsilon()) * expected);
  CHECK(centered_ridge_risk_equivalent(as<TestType>(task), 9).risk > TestType(0.375));
  CHECK(centered_ridge_risk<TestType>(as<TestType>(cases.matrix(9, 3)), as<TestType>(task)) > TestType(0.375));
}
