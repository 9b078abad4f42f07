#pragma once

#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <vector>

#include "examples/temperature/situation.hpp"

/// Contexts drawn here, without a simulator: what the closed forms average over, done as it is defined.
namespace incontext::examples::temperature {

/// In drawn contexts with drawn tasks and labels: the squared error of that ridge regression, averaged over the query,
/// and tr(C R C), C the covariance of the inputs (divided by l) and R = E w w^T.
struct DrawnContexts {
  statistics::Estimate ridge_error, posterior_error, second_moment;
};
DrawnContexts drawn_contexts(Run& run, const LinearTask& task, std::int64_t context_length);

/// What a user measures for the moment ratio, of queries that each have a context of their own: the mean of the squared
/// scores on the examples, and the score on itself. Inputs are taken about their mean;
/// `stream` numbers independent draws.
struct DrawnScores {
  std::vector<double> mean_squares, self_scores;
};
DrawnScores drawn_scores(Run& run, const Situation& at, std::uint64_t stream);

}  // namespace incontext::examples::temperature
