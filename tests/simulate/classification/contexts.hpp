#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "incontext/classification/context_descent.hpp"
#include "incontext/simulate/classification/classifiers.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"

/// A trial's context in the form that the closed forms take, and their results for it.
namespace incontext::testing {

template <class T>
classification::Context<double> host_context(const simulate::SphereContext<T>& drawn) {
  const auto n = static_cast<Eigen::Index>(drawn.labels.size()), d = static_cast<Eigen::Index>(drawn.query.size());
  classification::Context<double> context{classification::Matrix<double>(n, d), drawn.labels,
                                          classification::Vector<double>(d),
                                          static_cast<std::int64_t>(drawn.prototypes.size()) / d};
  for (Eigen::Index j = 0; j < n; ++j) {
    for (Eigen::Index i = 0; i < d; ++i) {
      context.inputs(j, i) = static_cast<double>(drawn.inputs[static_cast<std::size_t>(j * d + i)]);
    }
  }
  for (Eigen::Index i = 0; i < d; ++i) context.query(i) = static_cast<double>(drawn.query[static_cast<std::size_t>(i)]);
  return context;
}

inline classification::Prediction<double> host_prediction(const classification::Context<double>& context,
                                                          const simulate::Classifier& classifier) {
  using simulate::ClassificationRule;
  switch (classifier.rule) {
    case ClassificationRule::linear:
      return classification::linear_descent(context, classifier.gain);
    case ClassificationRule::kernel:
      return classification::kernel_descent(context, classifier.kappa, classifier.gain);
    case ClassificationRule::adaptive:
      return classification::adaptive_descent(context, classifier.kappa, classifier.gain,
                                              classification::SelfTerm::none);
    default:
      return classification::adaptive_descent(context, classifier.kappa, classifier.gain,
                                              classification::SelfTerm::dot);
  }
}

/// Rounded to the scalar of the trial.
template <class T>
simulate::Classifier rounded(const simulate::Classifier& classifier) {
  return {classifier.rule, static_cast<double>(static_cast<T>(classifier.kappa)),
          static_cast<double>(static_cast<T>(classifier.gain))};
}

/// The larger of two deviations; NaN is infinitely far off.
inline double worse(double largest, double off) {
  if (off <= largest) return largest;
  return std::isnan(off) ? std::numeric_limits<double>::infinity() : off;
}

/// The values of W trials side by side, from the first one on.
template <int W, class TrialType>
std::vector<typename TrialType::Scalar> values_of(const TrialType& trial, std::uint64_t seed, std::uint64_t first) {
  using T = typename TrialType::Scalar;
  static_assert(simulate::Trial<TrialType>);
  std::vector<T> scratch(static_cast<std::size_t>(trial.scratch_rows() * W));
  std::vector<T> values(static_cast<std::size_t>(trial.outputs() * W));
  trial.template run<W>({seed, first}, {scratch.data(), W}, {values.data(), W});
  return values;
}

/// Whether 64 trials side by side have the bits of each alone.
template <class TrialType>
bool lanes_agree(const TrialType& trial, std::uint64_t seed) {
  const auto together = values_of<64>(trial, seed, 64);
  for (std::size_t lane = 0; lane < 64; ++lane) {
    const auto alone = values_of<1>(trial, seed, 64 + lane);
    for (std::size_t i = 0; i < alone.size(); ++i) {
      if (alone[i] != together[i * 64 + lane]) return false;
    }
  }
  return true;
}

/// Whether two runs have the same bits.
inline bool same_bits(const simulate::Simulation& a, const simulate::Simulation& b) {
  if (a.estimates.size() != b.estimates.size()) return false;
  for (std::size_t i = 0; i < a.estimates.size(); ++i) {
    if (a.estimates[i].mean != b.estimates[i].mean) return false;
    if (a.estimates[i].standard_error != b.estimates[i].standard_error) return false;
  }
  return true;
}

/// Calls run(device, threads) on every device of this build, and compares the others with the first.
template <class Run>
bool devices_agree(const Run& run) {
  const simulate::Simulation serial = run(simulate::Device::serial, 1);
  for (const auto device : {simulate::Device::openmp, simulate::Device::tbb, simulate::Device::cuda}) {
    if (!simulate::is_available(device)) continue;
    for (const int threads : {1, 3}) {
      if (!same_bits(serial, run(device, threads))) return false;
    }
  }
  return true;
}

}  // namespace incontext::testing
