#pragma once

#include <array>
#include <cstddef>

#include "incontext/laws/gaussian_row.hpp"

namespace incontext::testing {

inline constexpr std::size_t functionals = 13;

template <class T>
std::array<T, functionals> values(const laws::GaussianRow<T>& r) {
  return {r.log_partition,      r.entropy,           r.ipr,
          r.cubed_weights,      r.squared_ipr,       r.trace,
          r.squared_trace,      r.squared_frobenius, r.mean_score,
          r.squared_mean_score, r.score_variance,    r.squared_score_variance,
          r.weighted_deviation};
}

}  // namespace incontext::testing
