#pragma once

#include <algorithm>
#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/controlled_step_result.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/training/trainer.hpp"

/// Training without sampling noise: gradient flow and gradient descent on a loss that is known exactly.
namespace incontext::training {

/// An exact loss and its gradient.
///
/// Shapes    gradient: one number per parameter.
struct LossAndGradient {
  double loss = 0;
  std::vector<double> gradient;
};

/// A loss as a function of the parameters.
using ExactLoss = std::function<LossAndGradient(std::span<const double> parameters)>;

/// Gradient flow, the limit of gradient descent at small learning rates.
///
/// \f[ \frac{d\theta}{dt} = -\nabla L(\theta) \f]
///
/// Gradient descent at learning rate r is near the flow at time r s after s steps. The loss never rises along the flow.
///
///     const training::ExactLoss parabola = [](std::span<const double> at) {
///       return training::LossAndGradient{at[0] * at[0], {2 * at[0]}};
///     };
///     training::GradientFlow flow(parabola, {1.0});
///     flow.advance_to(2.0);
///     // flow.parameters(), flow.loss()
///
/// Source    the definition; the method is Dormand and Prince's of order 5 with controlled steps
///           (Boost.Numeric.Odeint).
/// Shapes    `parameters`: as many numbers as the loss takes.
/// Units     time in parameters squared over loss.
/// Domain    tolerance > 0: of a step's error, absolute and relative.
/// Errors    std::invalid_argument for sizes; std::domain_error for tolerances and times, and where the loss or its
///           gradient is not finite; that message names the time.
/// Accuracy  order of `tolerance`: tests/training/gradient_flow.cpp.
class GradientFlow {
 public:
  GradientFlow(ExactLoss loss, std::vector<double> parameters, double tolerance = 1e-8)
      : loss_(std::move(loss)),
        parameters_(std::move(parameters)),
        stepper_(boost::numeric::odeint::make_controlled(tolerance, tolerance, Method())) {
    require_positive(where, "tolerance", tolerance);
    if (parameters_.empty()) throw_invalid_argument(where, "parameters is empty", 0, "numbers");
    checked(parameters_);
  }

  [[nodiscard]] double time() const { return time_; }
  [[nodiscard]] const std::vector<double>& parameters() const { return parameters_; }
  [[nodiscard]] double loss() const { return checked(parameters_).loss; }
  /// The length of the gradient.
  [[nodiscard]] double speed() const { return length(checked(parameters_).gradient); }

  /// Follows the flow up to a time.
  void advance_to(double end) {
    if (!(time_ <= end) || !std::isfinite(end)) {
      throw_domain_error(where, "the end is before the present time or not finite", end,
                         "a finite time of at least " + std::to_string(time_));
    }
    while (time_ < end) step(end);
  }

  /// Follows the flow until the length of the gradient is at most `slowest`, or up to the time `latest`. Returns
  /// whether it came to rest.
  bool rest(double slowest, double latest) {
    require_positive(where, "slowest", slowest);
    while (slowest < speed()) {
      if (!(time_ < latest)) return false;
      step(latest);
    }
    return true;
  }

 private:
  static constexpr std::string_view where = "training::GradientFlow";
  using Method = boost::numeric::odeint::runge_kutta_dopri5<std::vector<double>>;
  using Stepper = boost::numeric::odeint::result_of::make_controlled<Method>::type;

  static double length(const std::vector<double>& vector) {
    double square = 0;
    for (const double x : vector) square += x * x;
    return std::sqrt(square);
  }

  /// One accepted step that ends at `end` at the latest. If it is shortened for that, the next step is not.
  void step(double end) {
    const auto descend = [this](const std::vector<double>& at, std::vector<double>& slope, double) {
      const LossAndGradient here = checked(at);
      std::transform(here.gradient.begin(), here.gradient.end(), slope.begin(), [](double g) { return -g; });
    };
    for (;;) {
      const double left = end - time_;
      const bool cut = left < step_;
      double size = cut ? left : step_;
      const auto result = stepper_.try_step(descend, parameters_, time_, size);
      const bool accepted = result == boost::numeric::odeint::success;
      if (!accepted || !cut) step_ = size;
      if (accepted && cut) time_ = end;
      if (accepted) return;
      if (!(time_ < time_ + step_))
        throw_domain_error(where, "no step is short enough for the tolerance, at time", time_,
                           "a loss with a continuous gradient");
    }
  }

  LossAndGradient checked(std::span<const double> at) const {
    LossAndGradient here = loss_(at);
    require_same_size(where, "gradient", std::ssize(here.gradient), std::ssize(at));
    if (!std::isfinite(here.loss) || !std::isfinite(length(here.gradient))) {
      throw_domain_error(where, "loss or gradient is not finite at time", time_, "finite numbers");
    }
    return here;
  }

  ExactLoss loss_;
  std::vector<double> parameters_;
  Stepper stepper_;
  double time_ = 0, step_ = 1e-3;
};

/// Makes the gradient function that a Trainer takes from an exact loss: every batch is the whole population.
inline GradientFunction exact_batches(ExactLoss loss) {
  return [own = std::move(loss)](std::span<const double> parameters, std::int64_t) {
    LossAndGradient here = own(parameters);
    BatchGradient batch;
    batch.loss = here.loss;
    batch.gradient = std::move(here.gradient);
    return batch;
  };
}

/// The options with which a Trainer does plain gradient descent at a constant learning rate r = rate: Adam without
/// memory becomes gradient descent if epsilon is far above every entry of the gradient.
///
/// \f[ \theta \leftarrow \theta - r\, g\, /\, (1 + |g| / \epsilon),\qquad \epsilon = 10^{12} \f]
///
/// Units     rate: parameters squared over loss.
/// Domain    rate > 0; entries of the gradient below 10^4.
/// Accuracy  10^-8 relative per step: tests/training/gradient_flow.cpp.
inline TrainerOptions gradient_descent(double rate) {
  require_positive("training::gradient_descent", "rate", rate);
  constexpr double epsilon = 1e12;
  TrainerOptions options;
  options.adam.beta1 = options.adam.beta2 = 0;
  options.adam.epsilon = epsilon;
  options.rate.peak = rate * epsilon;
  return options;
}

}  // namespace incontext::training
