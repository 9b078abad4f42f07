#pragma once

#include <Eigen/Cholesky>
#include <cstdint>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression::detail {

template <Real T>
void require_all_zero(std::string_view where, std::string_view parameter, const Vector<T>& vector) {
  for (Eigen::Index i = 0; i < vector.size(); ++i) {
    if (!(vector(i) <= T(0.0) && vector(i) >= T(0.0))) {
      throw_invalid_argument(where, entry(parameter, i, 0) + " is not zero", vector(i),
                             "0: true softmax is for centred inputs and values of labels alone");
    }
  }
}

/// What the errors of true softmax attention ask for: l >= 2, mu_x = 0, v_x = 0.
template <Real T>
void require_softmax_domain(std::string_view where, const Attention<T>& attention, const LinearTask<T>& task,
                            std::int64_t context_length) {
  require_context_length(where, context_length);
  validate(attention, task.dimension(), where);
  require_all_zero(where, "input_mean", task.input_mean());
  require_all_zero(where, "input_value", attention.input_value);
}

/// G = L^T M L, S = L L^T: the scores of white inputs, and P = L^T R L, what a white input's label is weighted with.
template <Real T>
struct WhiteAttention {
  Matrix<T> key_query, task;
};

template <Real T>
WhiteAttention<T> white_attention(const Attention<T>& attention, const LinearTask<T>& task) {
  const Matrix<T> root = Eigen::LLT<Matrix<T>>(task.input_covariance()).matrixL();
  return {root.transpose() * attention.key_query * root, root.transpose() * task.task_second_moment() * root};
}

}  // namespace incontext::regression::detail
