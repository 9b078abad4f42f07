// A program of docs/extending.md, word for word: the exact error of a scoring map that the library does not have.
#include <cmath>
#include <cstdio>
#include <incontext/regression/optimal_temperature.hpp>
#include <incontext/regression/softmax_error_isotropic.hpp>

namespace mine {

struct Phi {  // softmax(b asinh(z)): large scores count by their logarithm
  double b;
  bool in_domain() const { return b > 0; }
  bool decreasing() const { return false; }
  double value(double z) const { return b * std::asinh(z); }
  double difference(double z, double w) const { return value(z) - value(w); }
  double slope(double z) const { return b / std::sqrt(1 + z * z); }
  double curvature(double z) const { return -b * z / std::pow(1 + z * z, 1.5); }
};

struct Asinh {
  using value_type = double;
  double b = 1;
  Phi elementwise(std::ptrdiff_t /*row_length*/) const { return {b}; }
};

}  // namespace mine

int main() {
  namespace reg = incontext::regression;
  const reg::IsotropicTask<double> task{.dimension = 8, .task_variance = 0.125, .noise_variance = 0.1};
  const reg::IsotropicAttention<double> attention{.key_query_scale = 1, .label_value = 1};
  const auto error = reg::softmax_error_isotropic(attention, task, 40, mine::Asinh{1.5});
  std::printf("exact error %.9f\n", error.value);
  return error.error_estimate < 1e-10 ? 0 : 1;
}
