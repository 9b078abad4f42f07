#pragma once

#include <Eigen/Core>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/regression/matrix_contracts.hpp"

namespace incontext::training {

template <Real T>
struct LayerWeights;

template <Real T>
struct LayerGradients;

}  // namespace incontext::training

/// One pass through a layer of attention, without its scoring map.
namespace incontext::training::detail {

using numerics::Matrix;

template <Real T>
void require_layer(const Matrix<T>& tokens, const Matrix<T>& queries, const LayerWeights<T>& layer,
                   const Matrix<T>& upstream) {
  using regression::require_finite_entries;
  using regression::require_shape;
  constexpr std::string_view where = "training::layer_gradients";
  require_at_least(where, "rows of tokens", tokens.rows(), Eigen::Index{1});
  require_shape(where, "queries", queries, queries.rows(), tokens.cols());
  require_shape(where, "layer.query", layer.query, tokens.cols(), layer.key.cols());
  require_shape(where, "layer.key", layer.key, tokens.cols(), layer.key.cols());
  require_shape(where, "layer.value", layer.value, tokens.cols(), layer.value.cols());
  require_shape(where, "upstream", upstream, queries.rows(), layer.value.cols());
  require_finite_entries(where, "tokens", tokens);
  require_finite_entries(where, "queries", queries);
  require_finite_entries(where, "layer.query", layer.query);
  require_finite_entries(where, "layer.key", layer.key);
  require_finite_entries(where, "layer.value", layer.value);
  require_finite_entries(where, "upstream", upstream);
}

/// All that does not depend on the map: projections, raw scores (those of a query are a column) and dL/dA.
template <Real T>
struct LayerPass {
  Matrix<T> q, k, v, scores, slopes;

  LayerPass(const Matrix<T>& tokens, const Matrix<T>& queries, const LayerWeights<T>& layer, const Matrix<T>& upstream)
      : q(queries * layer.query), k(tokens * layer.key), v(tokens * layer.value) {
    scores = k * q.transpose();
    slopes = v * upstream.transpose();
  }

  LayerGradients<T> gradients(const Matrix<T>& tokens, const Matrix<T>& queries, const Matrix<T>& upstream,
                              const Matrix<T>& weights) const {
    return {.attention = weights.transpose(),
            .output = weights.transpose() * v,
            .gradient = {.query = queries.transpose() * slopes.transpose() * k,
                         .key = tokens.transpose() * slopes * q,
                         .value = tokens.transpose() * weights * upstream}};
  }
};

}  // namespace incontext::training::detail
