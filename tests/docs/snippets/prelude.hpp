#pragma once

// What the snippets in the blocks of headers may use without declaring it (tests/docs/snippets/extract.awk).
#include <cstdint>
#include <vector>

#include "incontext/baselines.hpp"
#include "incontext/calibration.hpp"
#include "incontext/classification.hpp"
#include "incontext/laws.hpp"
#include "incontext/regression.hpp"
#include "incontext/sampled_training.hpp"
#include "incontext/scoring.hpp"
#include "incontext/simulate.hpp"
#include "incontext/statistics.hpp"
#include "incontext/training.hpp"

namespace incontext::snippets {

inline const auto task =
    regression::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
inline const auto attention = regression::pretrained_attention(task, 40);
inline const regression::Vector<double> beta = regression::Vector<double>::Ones(20);
inline const regression::Matrix<double> rows = regression::Matrix<double>::Random(100, 20);
inline const classification::Context<double> context{
    regression::Matrix<double>::Identity(4, 3), {0, 1, 0, 1}, regression::Vector<double>::Unit(3, 0)};
inline const baselines::WishartSpectrum<double> spectrum(40, 20);
inline const baselines::TaskVariances<double> variances{.noise_variance = 0.1, .task_variance = 0.05};
inline const auto tasks = baselines::drawn_pool<double>(30, 20, 0.05);
inline const auto layer = baselines::best_layer(baselines::pool_moments<double>(tasks, 0.1, 40));
inline const regression::Matrix<double> w = regression::Matrix<double>::Identity(20, 20), sigma = w;
inline const baselines::OnePassSgd<double> sgd({.dimension = 20, .context_length = 40, .task = variances});
inline const regression::Vector<double> lambda = regression::Vector<double>::Ones(20), psi = lambda;
inline const regression::Vector<double> eigenvalues = regression::Vector<double>::Ones(20);
inline const regression::Matrix<double> correlations = regression::Matrix<double>::Identity(40, 40);
inline const regression::Matrix<double> inputs = regression::Matrix<double>::Random(40, 20);
inline const regression::Vector<double> labels = regression::Vector<double>::Ones(40), right_task = eigenvalues;
inline const std::vector<scoring::Softmax<double>> maps{{1.0}, {2.0}};

inline constexpr double theory = 1.0;
inline constexpr double theory_error = 1e-9;
inline const statistics::Estimate estimate{};

inline std::vector<double> row(64);
inline const auto tokens = static_cast<std::int64_t>(row.size());
inline double sum = 0;

using random::RowStream;
inline constexpr int d = 4;
inline constexpr random::Trials<8> trials{.seed = 1, .first = 0};
inline const Lanes<double, 64> score = 0.5;
inline constexpr double temperature = 2.0;
inline std::vector<double> memory(8 * 16);
inline simulate::LaneArray<double, 8> scratch{memory.data(), 8};

enum class State { largest };
inline simulate::LaneArray<double, 8> own = scratch;

/// A trial of a reader's own.
struct MyTrial {
  using Scalar = double;
  INCONTEXT_HD int outputs() const { return 1; }
  INCONTEXT_HD std::int64_t scratch_rows() const { return 0; }

  template <int W>
  INCONTEXT_HD void run(random::Trials<W> of, simulate::LaneArray<double, W>,
                        simulate::LaneArray<double, W> values) const {
    for (int lane = 0; lane < W; ++lane) values[0][lane] = static_cast<double>(of.first) + lane;
  }
};

}  // namespace incontext::snippets
