#pragma once

#include <thrust/memory.h>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/host_device.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/simulate/engine/factors.hpp"

namespace incontext::simulate {

using random::RegressionStream;

/// Everything a regression trial reads, as plain pointers into the memory of the system it runs on.
///
/// Shapes    matrices d x d by rows; factors lower triangular with A A^T the covariance; means d.
/// Units     as regression::LinearTask and regression::Attention.
/// Runs on   host and device
template <class T>
struct RegressionModel {
  using Scalar = T;
  int dimension;
  std::int64_t context_length;
  T label_value;
  T noise_stddev;
  T value_offset;            // v_x . mu_x
  const T* input_mean;       // mu_x
  const T* input_factor;     // A: x = mu_x + A g
  const T* task_mean;        // mu_w
  const T* task_factor;      // C: w = mu_w + C h
  const T* key_query;        // M
  const T* input_value;      // v_x
  const T* value_in_factor;  // A^T v_x
};

/// Owns the numbers a RegressionModel points to.
///
/// `Memory` is a container of the system on which the trials run; the factors are computed in double on the host.
///
/// Shapes    as RegressionModel; task_factor any d x d matrix with C C^T the task covariance.
/// Errors    as regression::validate(Attention) and require_at_least(context_length, 2); std::domain_error for numbers
///           outside the range of T.
template <class T, template <class> class Memory>
class RegressionModelStorage {
 public:
  RegressionModelStorage(const regression::Attention<double>& attention, const regression::LinearTask<double>& task,
                         std::int64_t context_length)
      : RegressionModelStorage(attention, task.input_mean(), detail::plain_cholesky(task.input_covariance()),
                               task.task_mean(), detail::plain_cholesky(task.task_covariance()), task.noise_variance(),
                               context_length) {}

  RegressionModelStorage(const regression::Attention<double>& attention, const regression::Vector<double>& input_mean,
                         const regression::Matrix<double>& input_factor, const regression::Vector<double>& task_mean,
                         const regression::Matrix<double>& task_factor, double noise_variance,
                         std::int64_t context_length) {
    constexpr auto where = "simulate::RegressionModel";
    const std::int64_t d = input_mean.size();
    regression::validate(attention, d, where);
    require_at_least(where, "context_length", context_length, std::int64_t{2});
    require_non_negative(where, "noise_variance", noise_variance);
    // Blocks of a stream are counted in 32 bits: no context may need more of them than there are.
    if (!(static_cast<double>(context_length) * static_cast<double>(d) <= 4e9)) {
      throw_invalid_argument(where, "context_length times dimension is too large", context_length,
                             "at most 4e9 inputs a context");
    }
    const double value_offset = detail::plain_product(attention.input_value.transpose(), input_mean)(0, 0);
    const double noise_stddev = std::sqrt(noise_variance);
    detail::require_holds<T>(where, "label_value", attention.label_value, attention.label_value);
    detail::require_holds<T>(where, "noise_variance", noise_variance, noise_stddev);
    model_.dimension = static_cast<int>(d);
    model_.context_length = context_length;
    model_.label_value = static_cast<T>(attention.label_value);
    model_.noise_stddev = static_cast<T>(noise_stddev);
    model_.value_offset = static_cast<T>(value_offset);
    std::vector<T> all;
    for (const auto& [name, part] :
         std::vector<std::pair<const char*, regression::Matrix<double>>>{{"input_mean", input_mean},
                                                                         {"input_covariance's factor", input_factor},
                                                                         {"task_mean", task_mean},
                                                                         {"task_covariance's factor", task_factor},
                                                                         {"key_query", attention.key_query},
                                                                         {"input_value", attention.input_value}}) {
      const std::vector<T> numbers = detail::held_by_rows<T>(where, name, part);
      all.insert(all.end(), numbers.begin(), numbers.end());
    }
    const auto value_in_factor =
        detail::by_rows<T>(detail::plain_product(input_factor.transpose(), attention.input_value));
    all.insert(all.end(), value_in_factor.begin(), value_in_factor.end());
    numbers_ = Memory<T>(all.begin(), all.end());
  }

  /// The model; valid as long as this storage exists and is not moved.
  [[nodiscard]] RegressionModel<T> model() const {
    const T* at = thrust::raw_pointer_cast(numbers_.data());
    const int d = model_.dimension;
    const auto next = [&at](int size) {
      const T* here = at;
      at += size;
      return here;
    };
    RegressionModel<T> model = model_;
    model.input_mean = next(d);
    model.input_factor = next(d * d);
    model.task_mean = next(d);
    model.task_factor = next(d * d);
    model.key_query = next(d * d);
    model.input_value = next(d);
    model.value_in_factor = next(d);
    return model;
  }

 private:
  RegressionModel<T> model_{};
  Memory<T> numbers_;
};

}  // namespace incontext::simulate
