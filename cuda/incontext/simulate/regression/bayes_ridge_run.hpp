#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/simulate/engine/factors.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/regression/bayes_ridge_trial.hpp"

/// Runs the trial of the Bayes ridge.
namespace incontext::simulate::detail {

inline void require_ridge(std::string_view where, std::int64_t context_length, double noise_variance) {
  require_at_least(where, "context_length", context_length, std::int64_t{2});
  require_positive(where, "noise_variance", noise_variance);
}

/// Runs the ridge trial with numbers (a transform or rows) for make_gram and the factor of C^T Lambda C. The
/// rounding error of its factorization in eps is the condition number of 1 + gram / noise, bounded by the mean trace.
template <class MakeGram>
Simulation run_ridge(const regression::Matrix<double>& numbers, const regression::Matrix<double>& second_moment,
                     double noise_variance, double gram_trace, const Options& options, const MakeGram& make_gram) {
  const Device device = resolve(options.device, options.gpu);
  const regression::Matrix<double> factor = plain_cholesky(second_moment);
  const std::vector<double> number_list = by_rows<double>(numbers);
  const std::vector<double> factor_list = by_rows<double>(factor);
  Simulation simulation = with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<double> number_memory(number_list.begin(), number_list.end());
    const typename System::template Memory<double> factor_memory(factor_list.begin(), factor_list.end());
    const auto gram = make_gram(address(number_memory));
    using Gram = std::remove_const_t<decltype(gram)>;
    return run_on<System>(
        device, RidgeRiskTrial<Gram>{gram, static_cast<int>(factor.rows()), noise_variance, address(factor_memory)},
        options);
  });
  statistics::Estimate& estimate = simulation.estimates.front();
  if (estimate.count > 0) estimate.rounding += gram_trace / noise_variance * eps_of<double> * estimate.mean;
  return simulation;
}

}  // namespace incontext::simulate::detail
