#pragma once

#include <Eigen/Cholesky>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression::detail {

/// G = L^T M L, S = L L^T: the scores of white inputs, and P = L^T R L, what a white input's label is weighted with.
template <Real T>
struct WhiteAttention {
  Matrix<T> key_query, task;
};

template <Real T>
WhiteAttention<T> white_attention(const Attention<T>& attention, const LinearTask<T>& task) {
  const Matrix<T> root = Eigen::LLT<Matrix<T>>(task.input_covariance()).matrixL();
  return {product<T>(product<T>(root.transpose(), attention.key_query), root),
          product<T>(product<T>(root.transpose(), task.task_second_moment()), root)};
}

}  // namespace incontext::regression::detail
