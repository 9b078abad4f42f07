#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/matrix_contracts.hpp"

namespace incontext::regression {

namespace detail {

template <Real T>
void require_all_zero(std::string_view where, std::string_view parameter, const Vector<T>& vector,
                      std::string_view although = {}) {
  for (Eigen::Index i = 0; i < vector.size(); ++i) {
    if (!(vector(i) <= T(0.0) && vector(i) >= T(0.0))) {
      throw_invalid_argument(where, entry(parameter, i, 0) + " is not zero" + std::string(although), vector(i), "0");
    }
  }
}

}  // namespace detail

/// Accepts what the second order of true softmax attention and its reduced simulation are derived for: l >= 2, inputs
/// of mean 0, values of labels alone.
///
/// Source    docs/theory/regression.md#softmax-error.
/// Errors    std::invalid_argument for l < 2, shapes, and a mean of the inputs or an input_value; std::domain_error for
///           values that are not finite.
template <Real T, class M = Matrix<T>>
void require_softmax_domain(std::string_view where, const Attention<T, M>& attention, const LinearTask<T, M>& task,
                            std::int64_t context_length) {
  require_context_length(where, context_length);
  validate(attention, task.dimension(), where);
  detail::require_all_zero(where, "input_mean", task.input_mean());
  detail::require_all_zero(where, "input_value", attention.input_value);
}

INCONTEXT_COMPILED(regression_softmax_domain, require_softmax_domain<double>);
INCONTEXT_COMPILED(regression_softmax_domain, require_softmax_domain<double, DiagonalPlusLowRank<double>>);

}  // namespace incontext::regression
