#pragma once

#include <Eigen/Cholesky>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"

namespace incontext::regression::detail {

/// The attention and the task in coordinates in which the inputs are white, x = L e with S = L L^T: `key_query` is
/// G = L^T M L, and `task` is P = L^T R L with R = E[w w^T].
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
