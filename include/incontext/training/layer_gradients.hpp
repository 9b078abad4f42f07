#pragma once

#include <Eigen/Core>
#include <string_view>

#include "incontext/core/contracts.hpp"
#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/scoring/scoring.hpp"

/// Exact gradients of one attention layer O = a(Q K^T) V for any scoring map a.
namespace incontext::training {

using numerics::Matrix;

/// The three matrices of a layer: tokens and queries are rows, mapped by x -> x W.
///
/// Shapes    query, key: d x d_k; value: d x d_v
template <Real T>
struct LayerWeights {
  Matrix<T> query, key, value;
};

/// The results of one pass through a layer, and the gradients of a loss with respect to the layer's matrices.
///
/// Shapes    attention: q x n; output: q x d_v; gradients as LayerWeights
template <Real T>
struct LayerGradients {
  Matrix<T> attention, output;
  LayerWeights<T> gradient;
};

/// Gradients of a loss L with respect to a layer's matrices, from its gradient G = dL/dO at the output.
///
/// \f[ S = Q K^T,\quad A_i = a(S_i),\quad O = A V,\qquad D = G V^T,\quad dS_i = J_i^T D_i \f]
/// \f[ \frac{dL}{dW_Q} = X_q^T\, dS\, K,\qquad \frac{dL}{dW_K} = X^T dS^T Q,\qquad \frac{dL}{dW_V} = X^T A^T G \f]
///
/// The map reads the raw scores, so the temperature belongs to the map: Softmax{sqrt(d_k)} is the usual layer.
///
/// Source    derived: docs/theory/training.md#layer-gradients.
/// Shapes    (map, tokens X: n x d, queries X_q: q x d, layer, upstream G: q x d_v) -> as LayerGradients
/// Units     of the loss over those of each matrix.
/// Domain    finite matrices, map in its domain.
/// Limits    equal scores under softmax: dW_V = xbar (sum g)^T, dW_K and dW_Q linear in 1/tau. One-hot rows: dW_Q and
///           dW_K are 0.
/// Errors    std::invalid_argument for shapes, std::domain_error for values.
/// Accuracy  1e-12 of the largest entry: tests/training/layer_gradients.cpp.
template <scoring::Scoring Map, Real T = typename Map::value_type>
LayerGradients<T> layer_gradients(const Map& map, const Matrix<T>& tokens, const Matrix<T>& queries,
                                  const LayerWeights<T>& layer, const Matrix<T>& upstream);

// One pass through a layer of attention, without its scoring map.
namespace detail {

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

}  // namespace detail

template <scoring::Scoring Map, Real T>
LayerGradients<T> layer_gradients(const Map& map, const Matrix<T>& tokens, const Matrix<T>& queries,
                                  const LayerWeights<T>& layer, const Matrix<T>& upstream) {
  scoring::require_valid(map);
  detail::require_layer(tokens, queries, layer, upstream);
  detail::LayerPass<T> pass(tokens, queries, layer, upstream);
  const Eigen::Index n = tokens.rows();
  Matrix<T> attention(n, queries.rows());
  for (Eigen::Index i = 0; i < queries.rows(); ++i) {
    const scoring::Row<const T> scores(pass.scores.data() + i * n, n);
    const scoring::Row<T> slopes(pass.slopes.data() + i * n, n);
    weights(map, scores, scoring::Row<T>(attention.data() + i * n, n));
    vjp(map, scores, scoring::Row<const T>(slopes), slopes);
  }
  return pass.gradients(tokens, queries, upstream, attention);
}

}  // namespace incontext::training
