#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core.hpp"
#include "incontext/regression.hpp"
#include "lengths.hpp"
#include "records.hpp"

/// What a layer of regression is compared with, posterior mean and ridge, and what is found from data: moment ratios
/// and tasks.
namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;
using Task = regression::LinearTask<D>;
using Attention = regression::Attention<D>;

}  // namespace

void bind_ridge(Room& room) {
  nb::module_& m = room.module();
  m.def(
      "posterior",
      [](const DenseMatrix& inputs, const DenseVector& labels, const DenseVector& task_mean,
         const DenseMatrix& task_covariance, D noise_variance) {
        return regression::posterior<D>(inputs, labels, task_mean, task_covariance, noise_variance);
      },
      "inputs"_a, "labels"_a, "task_mean"_a, "task_covariance"_a, "noise_variance"_a, room.docs("posterior"));
  m.def(
      "posterior_risk",
      [](const DenseMatrix& inputs, const Task& task) { return regression::posterior_risk<D>(inputs, task); },
      "inputs"_a, "task"_a, room.docs("posterior_risk"));
  m.def(
      "centered_ridge",
      [](const DenseMatrix& inputs, const DenseVector& labels, const DenseVector& task_mean,
         const DenseMatrix& task_covariance, D noise_variance) {
        return regression::centered_ridge<D>(inputs, labels, task_mean, task_covariance, noise_variance);
      },
      "inputs"_a, "labels"_a, "task_mean"_a, "task_covariance"_a, "noise_variance"_a, room.docs("centered_ridge"));
  m.def(
      "centered_ridge_risk",
      [](const regression::RidgePosterior<D>& posterior, const Task& task) {
        return regression::centered_ridge_risk(posterior, task);
      },
      "posterior"_a, "task"_a, room.docs("centered_ridge_risk"));
  m.def(
      "centered_ridge_risk",
      [](const DenseMatrix& inputs, const Task& task) { return regression::centered_ridge_risk<D>(inputs, task); },
      "inputs"_a, "task"_a);
  m.def(
      "centered_ridge_risk_equivalent",
      [](const Task& task, const Axis& length) {
        return at_lengths(length, [&](I l) { return regression::centered_ridge_risk_equivalent(task, l); });
      },
      "task"_a, "context_length"_a, room.docs("centered_ridge_risk_equivalent"));
  const auto task = record("task", "regression.IsotropicTask"), length = number("context_length");
  const auto attention = record("attention", "regression.IsotropicAttention");
  using IsoTask = regression::IsotropicTask<D>;
  using IsoAttention = regression::IsotropicAttention<D>;
  room.form("centered_ridge_risk_isotropic_limit",
            [](const IsoTask& t, I l) { return regression::centered_ridge_risk_isotropic_limit(t, l); },
            {task, length});
  room.form(
      "optimal_temperature_isotropic",
      [](const IsoAttention& a, const IsoTask& t, I l) { return regression::optimal_temperature_isotropic(a, t, l); },
      {attention, task, length});
  room.form("corrected_moment_ratio",
            [](D ratio, const IsoAttention& a, const IsoTask& t, I l) {
              return regression::corrected_moment_ratio(ratio, a, t, l);
            },
            {number("ratio"), attention, task, length});
  m.def(
      "moment_ratio", [](const Attention& a, const Task& t) { return regression::moment_ratio(a, t); }, "attention"_a,
      "task"_a, room.docs("moment_ratio"));
  m.def(
      "moment_ratio_from_scores",
      [](const DenseMatrix& scores, const nb::object& self_scores) {
        if (self_scores.is_none()) {
          return regression::moment_ratio_from_scores<D>(scores, regression::SelfOnDiagonal{});
        }
        if (PyLong_Check(self_scores.ptr())) {
          return regression::moment_ratio_from_scores<D>(scores, regression::SelfInColumn{nb::cast<I>(self_scores)});
        }
        return regression::moment_ratio_from_scores<D>(scores, nb::cast<DenseVector>(self_scores));
      },
      "scores"_a, "self_scores"_a = nb::none(), room.docs("moment_ratio_from_scores"));
  m.def(
      "least_squares_task",
      [](const DenseMatrix& inputs, const DenseVector& labels, const std::vector<std::string>& names) {
        return regression::least_squares_task<D>(inputs, labels, names);
      },
      "inputs"_a, "labels"_a, "column_names"_a = std::vector<std::string>(), room.docs("least_squares_task"));
  m.def(
      "require_regressable",
      [](const DenseMatrix& inputs, const std::vector<std::string>& names) {
        regression::require_regressable<D>(inputs, names);
      },
      "inputs"_a, "column_names"_a = std::vector<std::string>(), room.docs("require_regressable"));
}

}  // namespace incontext::python
