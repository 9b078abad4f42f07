#pragma once

#include <Eigen/Core>
#include <span>

#include "incontext/numerics/linear_algebra.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/training/learned_map.hpp"

namespace incontext::training::detail {

using numerics::Matrix;

/// Causal attention of several heads over a block of sequences, forward and back. Token t of a sequence sees the tokens
/// up to t, so that its row of scores has t + 1 entries.
///
/// Shapes    queries, keys, values, mixed: width x tokens; scores, attention: length x (length per sequence and head),
///           a query's row is a column; slopes: length x length, by_keys: width of a head x length, scratch: length
template <TrainableMap Map>
struct CausalAttention {
  using T = typename Map::value_type;

  Matrix<T> queries, keys, values, mixed;
  Matrix<T> scores, attention;
  Matrix<T> slopes, by_keys;  ///< of backward(), one head and sequence at a time
  Eigen::Matrix<T, Eigen::Dynamic, 1> scratch;
  int map_parameters = 0;
  Eigen::Index length = 0;

  void forward(std::span<const Map> maps, const T* trained, int parameters, Eigen::Index sequence_length) {
    map_parameters = parameters;
    length = sequence_length;
    const Eigen::Index count = queries.cols() / length * std::ssize(maps);
    scores.resize(length, length * count);
    attention.setZero(length, length * count);
    mixed.resize(queries.rows(), queries.cols());
    each_head(maps, trained, [&](const Map& map, const T* own, Eigen::Index row, Eigen::Index token, Eigen::Index at) {
      auto head_scores = scores.middleCols(at, length);
      head_scores.noalias() = block(keys, row, token).transpose() * block(queries, row, token);
      for (Eigen::Index t = 0; t < length; ++t) {
        map.apply(own, scoring::Row<const T>(&scores(0, at + t), t + 1), scoring::Row<T>(&attention(0, at + t), t + 1));
      }
      block(mixed, row, token).noalias() = block(values, row, token) * attention.middleCols(at, length);
    });
  }

  /// Replaces queries, keys and values with the gradients by them, and adds the gradient by the maps' trained numbers.
  void backward(std::span<const Map> maps, const T* trained, const Matrix<T>& by_mixed, T* by_trained) {
    slopes.resize(length, length);
    scratch.resize(length);
    each_head(maps, trained, [&](const Map& map, const T* own, Eigen::Index row, Eigen::Index token, Eigen::Index at) {
      const auto upstream = by_mixed.block(row, token, head_width(), length);
      slopes.noalias() = block(values, row, token).transpose() * upstream;
      for (Eigen::Index t = 0; t < length; ++t) {
        map.pull_back(own, scoring::Row<const T>(&scores(0, at + t), t + 1), scoring::Row<T>(&slopes(0, t), t + 1),
                      scoring::Row<T>(scratch.data(), t + 1), by_trained + (own - trained));
        slopes.col(t).tail(length - t - 1).setZero();
      }
      block(values, row, token).noalias() = upstream * attention.middleCols(at, length).transpose();
      by_keys.noalias() = block(queries, row, token) * slopes.transpose();
      block(queries, row, token) = block(keys, row, token) * slopes;
      block(keys, row, token) = by_keys;
    });
  }

 private:
  [[nodiscard]] Eigen::Index head_width() const { return head_width_; }
  [[nodiscard]] auto block(Matrix<T>& of, Eigen::Index row, Eigen::Index token) const {
    return of.block(row, token, head_width(), length);
  }

  /// Calls visit(map, its trained numbers, first row, first token, first column of scores) for every sequence and head.
  template <class Visit>
  void each_head(std::span<const Map> maps, const T* trained, const Visit& visit) {
    const Eigen::Index heads = std::ssize(maps);
    head_width_ = queries.rows() / heads;
    for (Eigen::Index s = 0; s < queries.cols() / length; ++s) {
      for (Eigen::Index h = 0; h < heads; ++h) {
        visit(maps[static_cast<std::size_t>(h)], trained + h * map_parameters, h * head_width_, s * length,
              (s * heads + h) * length);
      }
    }
  }

  Eigen::Index head_width_ = 0;
};

}  // namespace incontext::training::detail
