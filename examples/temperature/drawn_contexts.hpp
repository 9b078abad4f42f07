#pragma once

#include <incontext/statistics/estimate.hpp>

#include <cstdint>

#include "examples/temperature/situation.hpp"

/// Contexts drawn here, without a simulator: what the closed forms average over, done as it is defined.
namespace incontext::examples::temperature {

/// In drawn contexts with drawn tasks and labels: the squared error of that ridge regression, averaged over the query,
/// and tr(C R C), C the covariance of the inputs (divided by l) and R = E w w^T.
struct DrawnContexts {
  statistics::Estimate ridge_error, second_moment;
};
DrawnContexts drawn_contexts(Run& run, const LinearTask& task, std::int64_t context_length);

}  // namespace incontext::examples::temperature
