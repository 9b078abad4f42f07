// A program of docs/extending.md, word for word: the exact error of a map of one's own and two simulations of it.
#include <cmath>
#include <cstdio>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/simulate/regression.hpp>
#include <incontext/statistics/agreement.hpp>

namespace mine {

struct Phi {
  double b;
  INCONTEXT_HD bool in_domain() const { return b > 0; }
  INCONTEXT_HD bool decreasing() const { return false; }
  INCONTEXT_HD double value(double z) const { return b * std::asinh(z); }
  INCONTEXT_HD double difference(double z, double w) const { return value(z) - value(w); }
  INCONTEXT_HD double slope(double z) const { return b / std::sqrt(1 + z * z); }
  INCONTEXT_HD double curvature(double z) const { return -b * z / std::pow(1 + z * z, 1.5); }
};

struct Asinh {
  using value_type = double;
  double b = 1;
  INCONTEXT_HD Phi elementwise(std::ptrdiff_t /*row_length*/) const { return {b}; }
};

}  // namespace mine

int main() {
  namespace reg = incontext::regression;
  namespace simulate = incontext::simulate;
  const auto task = reg::LinearTask<double>::isotropic({.dimension = 8, .task_variance = 0.125, .noise_variance = 0.1});
  const reg::Attention<double> attention{reg::Matrix<double>::Identity(8, 8), reg::Vector<double>::Zero(8), 1.0};
  const mine::Asinh map{1.5};

  const auto exact = reg::softmax_error(attention, task, 40, map);
  const auto literal = simulate::regression_error(attention, task, 40, map, {.seed = 1, .trials = 65536});
  const auto reduced = simulate::reduced_softmax_error(attention, task, 40, map, {.seed = 2, .trials = 65536});
  const auto first = incontext::statistics::agree(exact, literal),
             second = incontext::statistics::agree(exact, reduced);
  std::printf("exact %.6f\nliteral %.6f +- %.6f, z = %.2f\nreduced %.6f +- %.6f, z = %.2f\n", exact.value, literal.mean,
              literal.standard_error, first.z, reduced.mean, reduced.standard_error, second.z);
  return first.within(5) && second.within(5) ? 0 : 1;
}
