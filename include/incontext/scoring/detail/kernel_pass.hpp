#pragma once

#include <cmath>
#include <cstddef>
#include <utility>

#include "incontext/core/host_device.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/detail/centered.hpp"
#include "incontext/scoring/detail/sum.hpp"
#include "incontext/scoring/detail/visible.hpp"
#include "incontext/scoring/kernel.hpp"
#include "incontext/scoring/row.hpp"

namespace incontext::scoring {

/// What the kernel values of kernel attention are divided by.
///
/// Runs on   host and device
enum class KernelNormalization { none, context_length, sum };

namespace detail {

/// One query against its keys: the normalizer, and the largest score if the kernel is exponential and divided by the
/// sum.
template <class K>
class KernelPass {
 public:
  using T = typename K::value_type;

  template <class Map>
  INCONTEXT_HD KernelPass(const Map& map, Row<const T> query, MatrixView<const T> keys, std::ptrdiff_t query_index)
      : kernel_(map.kernel), query_(query), keys_(keys), query_index_(query_index) {
    if (keys.rows == 0) return;
    const bool sum = map.normalization == KernelNormalization::sum;
    moves_ = sum;
    for (std::ptrdiff_t j = 0; j < keys.rows; ++j) {
      const T score = this->score(j);
      if (!math::is_finite(score)) return;
      if (j > 0 && !(largest_ < score)) continue;
      largest_ = score;
      reference_ = j;
    }
    if (logarithmic() && sum) offset_ = largest_;
    if (map.normalization == KernelNormalization::none) total_ = T(1);
    if (map.normalization == KernelNormalization::context_length) total_ = math::from_count<T>(keys.rows);
    if (sum) {
      Sum<T> total;
      for (std::ptrdiff_t j = 0; j < keys.rows; ++j) total.add(value(j));
      total_ = total.value();
      if (!logarithmic() && T(0) < map.floor && total_ < map.floor) {
        total_ = map.floor;
        moves_ = false;
      }
    }
    valid_ = math::is_finite(total_) && (total_ < T(0) || T(0) < total_);
  }

  INCONTEXT_HD bool valid() const { return valid_; }
  INCONTEXT_HD bool normalizer_moves() const { return moves_; }
  INCONTEXT_HD std::ptrdiff_t reference_index() const { return reference_; }
  INCONTEXT_HD T total() const { return total_; }
  /// The score relative to the largest one.
  INCONTEXT_HD T relative(std::ptrdiff_t j) const { return score(j) - offset_; }
  INCONTEXT_HD T weight(std::ptrdiff_t j) const { return value(j) / total_; }
  /// d a_j / d score_j with the normalizer held fixed.
  INCONTEXT_HD T sensitivity(std::ptrdiff_t j) const { return logarithmic() ? weight(j) : T(T(1) / total_); }

  INCONTEXT_HD auto kernel(std::ptrdiff_t j) const {
    if constexpr (PositionalKernel<K>) {
      return kernel_.at(query_index_, j);
    } else {
      return kernel_;
    }
  }

  /// rate(j) - sum_i a_i rate(i).
  template <class Rate>
  INCONTEXT_HD Centered<T, Rate> center(Rate rate) const {
    return centered<T>(
        keys_.rows, reference_, [&](std::ptrdiff_t j) -> T { return weight(j); }, rate);
  }

  /// out_j = change of the weight when score j changes by rate(kernel, j).
  template <class Rate>
  INCONTEXT_HD void change(Row<T> out, Rate rate) const {
    if (!valid_) return fill(out, math::not_a_number<T>());
    if (logarithmic() && moves_) {
      const auto change = center([&](std::ptrdiff_t j) -> T { return rate(kernel(j), j); });
      for (std::ptrdiff_t j = 0; j < keys_.rows; ++j) out[j] = weight(j) * change(j);
      return;
    }
    Sum<T> sum;
    if (moves_) {
      for (std::ptrdiff_t j = 0; j < keys_.rows; ++j) sum.add(rate(kernel(j), j));
    }
    const T common = sum.value();
    for (std::ptrdiff_t j = 0; j < keys_.rows; ++j) {
      out[j] = sensitivity(j) * rate(kernel(j), j) - weight(j) * common / total_;
    }
  }

 private:
  INCONTEXT_HD static constexpr bool logarithmic() {
    if constexpr (PositionalKernel<K>) {
      return decltype(std::declval<const K&>().at(0, 0))::logarithmic;
    } else {
      return K::logarithmic;
    }
  }
  INCONTEXT_HD T score(std::ptrdiff_t j) const { return kernel(j).score(query_, keys_.row(j)); }
  INCONTEXT_HD T value(std::ptrdiff_t j) const {
    using std::exp;
    return logarithmic() ? T(exp(relative(j))) : score(j);
  }

  K kernel_;
  Row<const T> query_;
  MatrixView<const T> keys_;
  std::ptrdiff_t query_index_;
  std::ptrdiff_t reference_ = 0;
  T largest_ = T(0);
  T offset_ = T(0);
  T total_ = math::not_a_number<T>();
  bool moves_ = false;
  bool valid_ = false;
};

}  // namespace detail

}  // namespace incontext::scoring
