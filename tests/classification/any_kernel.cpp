#include "incontext/classification/any_kernel.hpp"

#include <cmath>
#include <cstdint>

#include "classification/quadratic_kernel.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

/// The step from zero, differentiated numerically in the span of the kernel's functions: coefficients alpha_jc, logits
/// f_c(x_i) = sum_j alpha_jc G_ij; in the kernel's inner product the gradient is what the loss changes by per unit of f.
Vector<double> step_by_differences(const Context<double>& context, double rate) {
  const Eigen::Index n = context.inputs.rows();
  const Quadratic kernel;
  const auto loss = [&](const Matrix<double>& values) {  // of function values at the points, n x k
    double sum = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      sum += std::log(values.row(i).array().exp().sum()) - values(i, context.labels[static_cast<std::size_t>(i)]);
    }
    return sum / static_cast<double>(n);
  };
  Vector<double> logits = Vector<double>::Zero(4);
  for (Eigen::Index j = 0; j < n; ++j) {
    const double k = kernel(Vector<double>(context.inputs.row(j).transpose()), context.query);
    for (Eigen::Index c = 0; c < 4; ++c) {
      Matrix<double> up = Matrix<double>::Zero(n, 4), down = up;
      up(j, c) = 1e-5;
      down(j, c) = -1e-5;
      logits(c) -= rate * (loss(up) - loss(down)) / 2e-5 * k;
    }
  }
  return logits;
}

}  // namespace

TEST_CASE("the step of any kernel is gradient descent on functions, up to a common logit", "[classification]") {
  const auto context = some_context<double>();
  const Vector<double> step = kernel_logits(context, Quadratic{}, 3.0), brute = step_by_differences(context, 3.0);
  const Vector<double> off = step - brute;
  CHECK((off.array() - off.mean()).abs().maxCoeff() <= 1e-7);
  const Vector<double> more = kernel_logits(context, Quadratic{}, 3.01) - brute;  // power
  CHECK((more.array() - more.mean()).abs().maxCoeff() > 1e-4);
}

TEST_CASE("the feature map's and the kernel attention's constructions are the step", "[classification]") {
  check_constructions(3.0, 1e-12);
}

TEST_CASE("the radial kernel's step is kernel_descent", "[classification]") {
  const auto context = some_context<double>();
  const auto radial = [](const Vector<double>& u, const Vector<double>& v) {
    return std::exp(-1.5 * (u - v).squaredNorm() / 2);
  };
  const Vector<double> off = kernel_logits(context, radial, 3.0) - kernel_descent(context, 1.5, 3.0).logits;
  CHECK(off.cwiseAbs().maxCoeff() <= 1e-14);
}

TEST_CASE("what is no kernel is refused, with the eigenvalue", "[classification]") {
  const auto context = some_context<double>();
  const auto distance = [](const Vector<double>& u, const Vector<double>& v) { return (u - v).norm(); };
  const auto one_sided = [](const Vector<double>& u, const Vector<double>& v) { return u(0) + 2 * v(0); };
  const auto endless = [](const Vector<double>&, const Vector<double>&) { return std::nan(""); };
  CHECK(names(message_of([&] { kernel_logits(context, distance, 1.0); }), "not positive definite", "eigenvalue"));
  CHECK(names(message_of([&] { kernel_logits(context, one_sided, 1.0); }), "not symmetric"));
  CHECK(names(message_of([&] { kernel_logits(context, endless, 1.0); }), "a value of the kernel"));
  CHECK(names(
      message_of([&] { kernel_attention_logits(linear_construction<double>(2, 4, 9, 1.0), Quadratic{}, context); }),
      "query.rows()", "value = 6"));
}

}  // namespace incontext::testing
