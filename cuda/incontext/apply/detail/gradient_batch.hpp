#pragma once

#include <cstdint>

#include "incontext/apply/detail/gradient_streams.hpp"
#include "incontext/apply/detail/problem.hpp"
#include "incontext/apply/detail/softmax_batch.hpp"
#include "incontext/apply/detail/tile.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/pack.hpp"
#include "incontext/core/pack_functions.hpp"

/// The backward pass of attention by blocks. A batch of queries first finds its normalizers and its means a . g, then
/// its own gradients; a batch of keys then meets every query, whose numbers it finds in memory of O(queries). Weights
/// are computed again from the scores each time, so that no matrix of them is held.
namespace incontext::apply::detail {
inline namespace INCONTEXT_PACKS {

/// What is kept of a query: an array for each member.
template <class T>
struct QueryNumbers {
  T* rate;       // phi(z) in octaves is rate shape(z)
  T* reference;  // the largest phi, in octaves
  T* share;      // 1 / the sum of powers relative to it
  T* mean;       // a . g
  T* by_shape;
  T* by_other;
};

/// Attention's matrices and their gradients as a system sees them; plain data. problem.out is not used.
template <class T>
struct GradientProblem {
  Problem<T> problem;
  MatrixView<const T> cotangent;
  MatrixView<T> to_queries;
  MatrixView<T> to_keys;
  MatrixView<T> to_values;
  QueryNumbers<T> kept;
};

/// a = 2^(rate shape - reference) share.
template <class T>
INCONTEXT_HD inline Pack<T> weight_of(const Pack<T>& shape, const Pack<T>& rate, const Pack<T>& reference,
                                      const Pack<T>& share) {
  const Pack<T> lowest = pack_of(elementary::lowest_power<T>);
  const Pack<T> octaves = shape * rate - reference;
  return elementary::exp2_of<T>(octaves < lowest ? lowest : octaves) * share;
}

template <class T, int packs>
INCONTEXT_HD void fill_packs(Pack<T> (&to)[packs], const T& value) {
  for (int p = 0; p < packs; ++p) to[p] = pack_of(value);
}

/// The rows of a matrix that lie in the lanes.
template <int lanes, class T>
INCONTEXT_HD void write_lanes(MatrixView<T> out, std::int64_t first, const T* sums) {
  for (int l = 0; l < lanes && first + l < out.rows; ++l) {
    for (std::int64_t c = 0; c < out.columns; ++c) out(first + l, c) = sums[c * lanes + l];
  }
}

template <class Stream, int packs>
struct QueryGradientBatch {
  using T = typename Stream::T;
  using Softmax = SoftmaxBatch<Stream, packs>;
  static constexpr int lanes = lanes_of<T, packs>;
  static constexpr int width = pack_width<T>;
  Stream stream;
  GradientProblem<T> all;

  std::int64_t scratch() const {
    return lanes * (2 * all.problem.queries.columns + all.problem.values.columns + 2 * key_block);
  }

  INCONTEXT_HD void operator()(std::int64_t batch, T* memory) const {
    const Problem<T>& problem = all.problem;
    const std::int64_t first = batch * lanes;
    T* const queries = memory;
    T* const sums = queries + lanes * problem.queries.columns;
    T* const cotangent = sums + lanes * problem.queries.columns;
    T* const scores = cotangent + lanes * problem.values.columns;
    T* const pulls = scores + lanes * key_block;
    load_queries<lanes>(problem.queries, first, queries);
    load_queries<lanes>(all.cotangent, first, cotangent);
    clear(sums, lanes * problem.queries.columns);
    const Softmax softmax{stream, problem};
    typename Softmax::State state;
    softmax.begin(state, first);
    Pack<T> mean[packs], share[packs], one[packs];
    fill_packs(mean, T(0));
    fill_packs(one, T(1));
    const std::int64_t most = problem.template most_seen<lanes>(first);
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      score_block<packs>(queries, problem.keys, j, last, scores);
      const bool whole = softmax.look(state, first, j, last);
      softmax.raise_to_powers(state, scores, last - j, whole);
      score_block<packs>(cotangent, problem.values, j, last, pulls);
      for (int p = 0; p < packs; ++p) {
        Pack<T> sum = pack_of(T(0));
        for (std::int64_t k = 0; k < last - j; ++k) {
          const std::int64_t at = k * lanes + p * width;
          sum = sum + load_pack(scores + at) * load_pack(pulls + at);
        }
        mean[p] = mean[p] * state.scale[p] + sum;
      }
    }
    for (int p = 0; p < packs; ++p) {
      share[p] = one[p] / (state.total[p] + state.lost[p]);
      mean[p] = mean[p] * share[p];
    }
    Pack<T> by_shape[packs], by_other[packs], shape_at_0[packs], other_at_0[packs];
    fill_packs(by_shape, T(0));
    fill_packs(by_other, T(0));
    const GradientStream<Stream> gradient{stream.map};
    for (std::int64_t j = 0; j < most; j += key_block) {
      const std::int64_t last = j + key_block < most ? j + key_block : most;
      score_block<packs>(queries, problem.keys, j, last, scores);
      score_block<packs>(cotangent, problem.values, j, last, pulls);
      const bool whole = softmax.look(state, first, j, last);
      for (int p = 0; p < packs; ++p) {
        if (j == 0) {
          shape_at_0[p] = stream.shape(load_pack<T>(scores + p * width));
          other_at_0[p] = gradient.other(load_pack<T>(scores + p * width));
        }
        const Pack<T> natural = state.rate[p] * (T(1) / elementary::log2_e<T>);
        Pack<T> shapes = pack_of(T(0)), others = pack_of(T(0));
        for (std::int64_t k = 0; k < last - j; ++k) {
          T* const at = scores + k * lanes + p * width;
          const Pack<T> z = load_pack<T>(at);
          const Pack<T> shape = stream.shape(z);
          Pack<T> weight = weight_of<T>(shape, state.rate[p], state.reference[p], share[p]);
          if (!whole) weight = pack_of(static_cast<T>(k)) < state.seen[p] ? weight : pack_of(T(0));
          const Pack<T> change = weight * (load_pack<T>(pulls + k * lanes + p * width) - mean[p]);
          shapes = shapes + change * (shape - shape_at_0[p]);
          if constexpr (GradientStream<Stream>::has_other) {
            others = others + change * (gradient.other(z) - other_at_0[p]);
          }
          store_pack(at, change * gradient.slope(z) * natural);
        }
        by_shape[p] = by_shape[p] + shapes;
        by_other[p] = by_other[p] + others;
      }
      add_values<packs>(scores, problem.keys, j, last, one, sums);
    }
    write_lanes<lanes>(all.to_queries, first, sums);
    keep(all.kept.rate, first, state.rate);
    keep(all.kept.reference, first, state.reference);
    keep(all.kept.share, first, share);
    keep(all.kept.mean, first, mean);
    keep(all.kept.by_shape, first, by_shape);
    keep(all.kept.by_other, first, by_other);
  }

  INCONTEXT_HD void keep(T* to, std::int64_t first, const Pack<T> (&numbers)[packs]) const {
    T copy[lanes];
    for (int p = 0; p < packs; ++p) store_pack(copy + p * width, numbers[p]);
    for (int l = 0; l < lanes && first + l < all.problem.queries.rows; ++l) to[first + l] = copy[l];
  }
};

/// Every lane is a key.
template <class Stream, int packs>
struct KeyGradientBatch {
  using T = typename Stream::T;
  static constexpr int lanes = lanes_of<T, packs>;
  static constexpr int width = pack_width<T>;
  Stream stream;
  GradientProblem<T> all;

  std::int64_t scratch() const {
    return 2 * lanes * (all.problem.keys.columns + all.problem.values.columns + key_block);
  }

  INCONTEXT_HD void operator()(std::int64_t batch, T* memory) const {
    const Problem<T>& problem = all.problem;
    const std::int64_t first = batch * lanes;
    T* const keys = memory;
    T* const to_keys = keys + lanes * problem.keys.columns;
    T* const values = to_keys + lanes * problem.keys.columns;
    T* const to_values = values + lanes * problem.values.columns;
    T* const scores = to_values + lanes * problem.values.columns;
    T* const pulls = scores + lanes * key_block;
    load_queries<lanes>(problem.keys, first, keys);
    load_queries<lanes>(problem.values, first, values);
    clear(to_keys, lanes * problem.keys.columns);
    clear(to_values, lanes * problem.values.columns);
    Pack<T> one[packs];
    fill_packs(one, T(1));
    const std::int64_t queries = problem.queries.rows;
    for (std::int64_t i = 0; i < queries; i += key_block) {
      const std::int64_t last = i + key_block < queries ? i + key_block : queries;
      std::int64_t most = 0;
      for (std::int64_t k = i; k < last; ++k) most = problem.seen(k) > most ? problem.seen(k) : most;
      if (most <= first) continue;
      score_block<packs>(keys, problem.queries, i, last, scores);
      score_block<packs>(values, all.cotangent, i, last, pulls);
      for (std::int64_t k = i; k < last; ++k) {
        pull_on_keys(k, problem.seen(k) - first, scores + (k - i) * lanes, pulls + (k - i) * lanes);
      }
      add_values<packs>(scores, all.cotangent, i, last, one, to_values);
      add_values<packs>(pulls, problem.queries, i, last, one, to_keys);
    }
    write_lanes<lanes>(all.to_keys, first, to_keys);
    write_lanes<lanes>(all.to_values, first, to_values);
  }

  /// One query's scores with the lanes' keys become weights, and its pulls on the weights become pulls on the scores.
  INCONTEXT_HD void pull_on_keys(std::int64_t query, std::int64_t seen, T* scores, T* pulls) const {
    const GradientStream<Stream> gradient{stream.map};
    const Pack<T> rate = pack_of(all.kept.rate[query]), reference = pack_of(all.kept.reference[query]);
    const Pack<T> share = pack_of(all.kept.share[query]), mean = pack_of(all.kept.mean[query]);
    const Pack<T> natural = rate * (T(1) / elementary::log2_e<T>);
    T places[width];
    for (int p = 0; p < packs; ++p) {
      const Pack<T> z = load_pack<T>(scores + p * width);
      Pack<T> weight = weight_of<T>(stream.shape(z), rate, reference, share);
      if (seen < lanes) {
        for (int l = 0; l < width; ++l) places[l] = static_cast<T>(p * width + l);
        weight = load_pack<T>(places) < pack_of(static_cast<T>(seen)) ? weight : pack_of(T(0));
      }
      const Pack<T> change = weight * (load_pack<T>(pulls + p * width) - mean);
      store_pack(scores + p * width, weight);
      store_pack(pulls + p * width, change * gradient.slope(z) * natural);
    }
  }
};

}  // namespace INCONTEXT_PACKS
}  // namespace incontext::apply::detail
