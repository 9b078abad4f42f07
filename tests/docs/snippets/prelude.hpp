#pragma once

// What the snippets in the blocks of headers may use without declaring it (tests/docs/snippets/extract.awk).
#include <cstdint>
#include <vector>

#include "incontext/classification.hpp"
#include "incontext/laws.hpp"
#include "incontext/regression.hpp"
#include "incontext/scoring.hpp"
#include "incontext/simulate.hpp"
#include "incontext/statistics.hpp"

namespace incontext::snippets {

inline const auto task =
    regression::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
inline const auto attention = regression::pretrained_attention(task, 40);
inline const regression::Vector<double> beta = regression::Vector<double>::Ones(20);
inline const regression::Matrix<double> rows = regression::Matrix<double>::Random(100, 20);
inline const std::vector<scoring::Softmax<double>> maps{{1.0}, {2.0}};

inline constexpr double theory = 1.0;
inline constexpr double theory_error = 1e-9;
inline const statistics::Estimate estimate{};

inline std::vector<double> row(64);
inline const auto tokens = static_cast<std::int64_t>(row.size());
inline double sum = 0;

/// A trial of a reader's own.
struct MyTrial {
  using Scalar = double;
  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W, class Scratch>
  INCONTEXT_HD void run(std::uint64_t, std::uint64_t first_trial, Scratch, double* values, std::int64_t) const {
    for (int lane = 0; lane < W; ++lane) values[lane] = static_cast<double>(first_trial) + lane;
  }
};

}  // namespace incontext::snippets
