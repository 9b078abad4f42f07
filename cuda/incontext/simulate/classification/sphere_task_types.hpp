#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "incontext/core/floating_point.hpp"

/// The sphere task of in-context classification: its parameters, and one of its contexts.
namespace incontext::simulate {

/// How the points of a context are drawn. Balanced: equally many of every class, uniform on its cell, and a query of a
/// class that is drawn uniformly. Independent: points and query are independent and uniform on the sphere.
///
/// Runs on   host and device
enum class ContextLaw { balanced, independent };

/// Which contexts: dimension d, classes k, context_length n. With prototype_sets = m > 0 only m sets of prototypes are
/// shared by all contexts: trial i has set i mod m, which are the prototypes that trial i mod m draws without sharing.
///
/// Source    arXiv 2510.10425, App. C: a few sets of class vectors, equally frequent, can be learned by heart.
/// Domain    dimension >= 2, classes >= 2, classes <= context_length <= 2^24, prototype_sets >= 0; balanced:
///           context_length a multiple of classes <= 512; (context_length + 1) x (dimension + 4) <= 4e9 and classes x
///           dimension <= 1e6. A run holds 1024 contexts or more at once: 4 kB x (context_length x (dimension + 3) + 3
///           classes x dimension) in float, balanced 4 kB x 2 classes^2 more.
struct SphereTask {
  std::int64_t dimension = 0;
  std::int64_t classes = 0;
  std::int64_t context_length = 0;
  ContextLaw law = ContextLaw::balanced;
  std::int64_t prototype_sets = 0;  ///< 0: every context has prototypes of its own
};

/// One context, as the trials see it.
///
/// Shapes    inputs: n x d by rows, in order of their labels if balanced; labels: n; query: d; prototypes: k x d.
/// Units     unit vectors; labels 0 ... k - 1.
template <class T>
struct SphereContext {
  std::vector<T> inputs;
  std::vector<std::int64_t> labels;
  std::vector<T> query;
  std::int64_t query_label = 0;
  std::vector<T> prototypes;
  std::int64_t attempts = 0;  ///< points drawn to get these n + 1, rounded to T
};

/// Length of the mean of the context's points: large where they crowd on one side.
///
/// \f[ \Bigl|\frac1n \sum_j x_j\Bigr| \f]
///
/// Source    arXiv 2510.10425, App. I: contexts above a threshold are the ones with dense and sparse neighborhoods.
/// Units     dimensionless, 0 to 1.
template <class T>
double mean_point_length(const SphereContext<T>& context) {
  const std::size_t d = context.query.size(), n = context.labels.size();
  double square = 0;
  for (std::size_t i = 0; i < d; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(context.inputs[j * d + i]);
    square += sum * sum;
  }
  return std::sqrt(square) / static_cast<double>(n);
}

}  // namespace incontext::simulate
