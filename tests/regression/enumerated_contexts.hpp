#pragma once

#include <cstdint>
#include <vector>

#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_algebra.hpp"

/// Every context and every query of a small data set: the definition of an error on rows, without any algebra.
namespace incontext::testing {

/// Calls visit(context, query) for every choice of l rows, with replacement and in order, and every query row.
template <class Visit>
void for_each_context(Eigen::Index rows, std::int64_t context_length, Visit visit) {
  std::vector<Eigen::Index> context(static_cast<std::size_t>(context_length), 0);
  while (true) {
    for (Eigen::Index query = 0; query < rows; ++query) visit(context, query);
    std::size_t i = 0;
    while (i < context.size() && ++context[i] == rows) context[i++] = 0;
    if (i == context.size()) return;
  }
}

/// The weights of approximate softmax, (1 + (z_j - zbar) / temperature) / l, without the 1 if the offset is removed.
template <class T>
regression::Vector<T> literal_weights(const regression::Attention<T>& attention, const regression::Matrix<T>& rows,
                                      const std::vector<Eigen::Index>& context, Eigen::Index query,
                                      const T& temperature, regression::Offset offset) {
  const Eigen::Index l = static_cast<Eigen::Index>(context.size());
  regression::Vector<T> scores(l);
  T mean = T(0);
  for (Eigen::Index j = 0; j < l; ++j) {
    T score = T(0);
    for (Eigen::Index a = 0; a < rows.cols(); ++a) {
      for (Eigen::Index b = 0; b < rows.cols(); ++b) {
        score += rows(context[static_cast<std::size_t>(j)], a) * attention.key_query(a, b) * rows(query, b);
      }
    }
    scores(j) = score;
    mean += score / T(static_cast<double>(l));
  }
  for (Eigen::Index j = 0; j < l; ++j) {
    scores(j) = ((scores(j) - mean) / temperature + (offset == regression::Offset::kept ? T(1) : T(0))) /
                T(static_cast<double>(l));
  }
  return scores;
}

}  // namespace incontext::testing
