#pragma once

#include <cmath>
#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/numerics/decompositions.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/detail/white_attention.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/regression/matrix_contracts.hpp"
#include "incontext/regression/softmax_domain.hpp"

namespace incontext::regression {

/// Thrown for a temperature so low that the error of softmax attention has no expansion in 1/l.
///
/// Units     those of the scores.
class SecondOrderDomainError : public std::domain_error {
 public:
  SecondOrderDomainError(std::string_view where, double given, double lowest)
      : std::domain_error(incontext::detail::contract_message(
            where, "temperature is outside the domain of the expansion in 1 / context_length", given,
            "temperature above " + text(lowest))),
        temperature(given),
        lowest_temperature(lowest) {}

  double temperature;
  double lowest_temperature;  ///< the domain's open end

 private:
  static std::string text(double value) {
    std::ostringstream stream;
    stream << value;
    return std::move(stream).str();
  }
};

/// The temperature above which the second moments of softmax's weights grow no faster than 1/l, and
/// softmax_error_second_order exists.
///
/// \f[ \tau > \sqrt{2 \lambda_{\max}(\Sigma^{1/2} M^T \Sigma M \Sigma^{1/2})} \f]
///
/// Source    derived: docs/theory/regression.md#second-order; \f$ \Sigma^{-1} - 2 K^T \Sigma K \f$ positive definite.
/// Shapes    (attention: d, task: d) -> scalar
/// Units     those of the scores.
/// Domain    as softmax_error_second_order.
/// Limits    M = 0: 0.
/// Errors    as softmax_error_second_order.
/// Accuracy  4 d eps relative (tests/regression/softmax_second_order.cpp).
template <Real T>
T second_order_lowest_temperature(const Attention<T>& attention, const LinearTask<T>& task) {
  using std::sqrt;
  constexpr auto where = "second_order_lowest_temperature";
  require_softmax_domain(where, attention, task, 2);
  const auto white = detail::white_attention(attention, task);
  const Matrix<T> square = product<T>(white.key_query.transpose(), white.key_query);
  return sqrt(T(T(2.0) * numerics::symmetric_spectrum(square).values.maxCoeff()));
}

/// The mean squared error of true softmax attention to order 1/l, for centered Gaussian inputs.
///
/// \f[ G = \sigma^2 + \mathrm{tr}(R H \Sigma H^T) + \frac{v^2 Z}{l}\left(\mathrm{tr}(K^T \Sigma R \Sigma K T)
///     + \mathrm{tr}(R\Sigma) + \sigma^2\right) + \frac{2 v Z}{l}\,\mathrm{tr}(H^T R \Sigma K T) \f]
/// \f[ K = M/\tau,\quad H = I - v \Sigma K,\quad T = (\Sigma^{-1} - 2 K^T \Sigma K)^{-1},\quad
///     Z = \sqrt{\det T / \det \Sigma} \f]
///
/// Here R = E[w w^T]. As l -> infinity, softmax predicts what approximate softmax predicts, at every temperature,
/// because Gaussian inputs weighted by e^(k.x) have the mean Sigma k.
///
/// Source    derived: docs/theory/regression.md#second-order.
/// Shapes    (attention: d, task: d, temperature, context_length l) -> scalar
/// Units     label units squared; temperature the scores'.
/// Domain    temperature above second_order_lowest_temperature; l >= 2; input_mean = 0, input_value = 0.
/// Limits    l -> infinity: sigma^2 + tr(R H Sigma H^T). Temperature -> infinity: exact.
/// Errors    SecondOrderDomainError below the lowest temperature; std::invalid_argument for l < 2, shapes, and a mean
///           of the inputs or an input_value; std::domain_error for values.
/// Accuracy  the terms left out are of order 1/l^2 above sqrt(3) times the lowest temperature
///           (tests/regression/softmax_error.cpp) and fall more slowly below; the formula itself is computed to 1e-14
///           relative (tests/regression/softmax_second_order.cpp).
template <Real T>
T softmax_error_second_order(const Attention<T>& attention, const LinearTask<T>& task, const T& temperature,
                             std::int64_t context_length) {
  using std::exp;
  using std::log;
  constexpr auto where = "softmax_error_second_order";
  require_softmax_domain(where, attention, task, context_length);
  require_positive(where, "temperature", temperature);
  const auto white = detail::white_attention(attention, task);
  const Matrix<T> k = white.key_query / temperature;
  const Matrix<T> identity = Matrix<T>::Identity(k.rows(), k.cols());
  const numerics::Cholesky<T> tilt(identity - T(2.0) * product<T>(k.transpose(), k));
  T log_z = T(0.0);
  for (Eigen::Index i = 0; tilt.exists() && i < k.rows(); ++i) log_z -= log(T(tilt.lower()(i, i)));
  const T z = exp(log_z);
  if (!tilt.exists() || !(z - z <= T(0.0))) {
    throw SecondOrderDomainError(where, static_cast<double>(temperature),
                                 static_cast<double>(second_order_lowest_temperature(attention, task)));
  }
  const T v = attention.label_value;
  const Matrix<T> h = identity - v * k;
  const Matrix<T> weighted = product<T>(white.task, k);
  const Matrix<T> t = tilt.solve(identity);
  const T noise = task.noise_variance();
  const T spread = trace_of_product<T>(product<T>(k.transpose(), weighted), t) + white.task.trace() + noise;
  const T cross = trace_of_product<T>(product<T>(h.transpose(), weighted), t);
  return noise + trace_of_product<T>(product<T>(white.task, h), h.transpose()) +
         v * z / math::from_count<T>(context_length) * (v * spread + T(2.0) * cross);
}

INCONTEXT_COMPILED(regression_softmax_second_order, second_order_lowest_temperature<double>);
INCONTEXT_COMPILED(regression_softmax_second_order, softmax_error_second_order<double>);

}  // namespace incontext::regression
