#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/simulate/classification/classifiers_trial.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"

/// Checks of classifiers, and the run of their trial on one system.
namespace incontext::simulate::detail {

/// Accepts a number that is finite as a T too.
template <class T>
void require_number(std::string_view where, std::string_view name, double value) {
  if (!std::isfinite(value)) throw_domain_error(where, std::string(name) + " is not finite", value, "a finite number");
  constexpr T most = (std::numeric_limits<T>::max)();
  if (std::abs(value) > static_cast<double>(most)) {
    throw_domain_error(where, std::string(name) + " is beyond the scalar's range", value,
                       "less than 2^" + std::to_string(std::numeric_limits<T>::max_exponent) + " in size");
  }
}

template <class T>
void require_kappa(std::string_view where, ClassificationRule rule, double kappa) {
  require_number<T>(where, "kappa", kappa);
  if (rule == ClassificationRule::kernel && kappa < 0) {
    throw_domain_error(where, "kappa is negative: no kernel", kappa, "0 <= value");
  }
}

template <class T>
void require_classifier(std::string_view where, const Classifier& classifier) {
  require_kappa<T>(where, classifier.rule, classifier.kappa);
  require_number<T>(where, "gain", classifier.gain);
}

/// A bound on the rounding error of a classifier's logits, which are the gain times votes of at most 1 with exponents
/// of size kappa. The error of a loss is at most as large.
template <class T>
double logit_rounding(const Classifier& classifier) {
  return std::abs(classifier.gain) * (4 + std::abs(classifier.kappa)) * eps_of<T>;
}

template <class T>
ClassificationPoint<T> point_of(const Classifier& classifier) {
  return {classifier.rule, static_cast<T>(classifier.kappa), static_cast<T>(classifier.gain)};
}

/// Calls visit(System{}, trial) with a trial whose list of classifiers is in the memory of the system.
template <class T, class Visit>
auto with_classification_trial(std::string_view where, Device device, const SphereTask& task,
                               const std::vector<Classifier>& classifiers, Visit visit) {
  validate(task, where);
  require_at_least(where, "classifiers.size()", classifiers.size(), std::size_t{1});
  std::vector<ClassificationPoint<T>> points;
  for (const Classifier& classifier : classifiers) {
    require_classifier<T>(where, classifier);
    points.push_back(point_of<T>(classifier));
  }
  return with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<ClassificationPoint<T>> list(points.begin(), points.end());
    const ClassificationTrial<T> trial{draw_of<T>(task), address(list), static_cast<int>(points.size())};
    return visit(system, trial);
  });
}

}  // namespace incontext::simulate::detail
