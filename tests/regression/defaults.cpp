#include <cmath>
#include <cstdint>

#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/generalization_error.hpp"
#include "incontext/regression/linear_attention_error.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/optimal_temperature.hpp"
#include "incontext/regression/softmax_error.hpp"
#include "incontext/regression/softmax_error_gradient.hpp"
#include "incontext/scoring/softmax.hpp"
#include "regression/regression_cases.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

TEST_CASE("an isotropic task and layer are the identities where nothing is given", "[defaults]") {
  const regression::IsotropicTask<double> task;
  CHECK(task.input_variance == 1);
  CHECK(task.task_variance == 1);
  CHECK(task.noise_variance == 0);
  const regression::IsotropicAttention<double> attention;
  CHECK(attention.key_query_scale == 1);
  CHECK(attention.label_value == 1);
}

TEST_CASE("gradients are at the temperature 1 where none is given", "[defaults]") {
  const auto [attention, task] = label_model(3, 2);
  const std::int64_t l = 7;
  const auto off = [](double found, double expected) { return std::abs(found / expected - 1); };
  CHECK(off(regression::generalization_error_gradient(attention, task, l).error,
            regression::generalization_error(attention, task, l)(1.0)) <= 1e-12);
  CHECK(off(regression::linear_attention_error_gradient(attention, task, l).error,
            regression::linear_attention_error(attention, task, l)(1.0)) <= 1e-12);
  const scoring::Softmax<double> map{1};
  CHECK(off(regression::softmax_error_gradient(attention, task, l, map).error,
            regression::softmax_error(attention, task, l, map).value) <= 1e-7);
}

}  // namespace incontext::testing
