// Shown by docs/first_steps.md: a new formula in the scalars of core/, and a refused argument.
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstdio>
#include <incontext/core.hpp>
#include <stdexcept>

/// The weight that softmax leaves to one score which is `gap` above so many equal ones.
template <incontext::Real T>
T needle_weight(const T& gap, const incontext::Count<T>& competitors) {
  using std::exp;  // other scalars bring their own
  incontext::require_finite("needle_weight", "gap", gap);
  return T(1) / (T(1) + T(competitors) * exp(T(-gap)));
}

int main() {
  using Real50 = boost::multiprecision::cpp_bin_float_50;
  std::printf("float      %.8f\n", static_cast<double>(needle_weight(10.0F, 99999)));
  std::printf("double     %.16f\n", needle_weight(10.0, 99999));
  std::printf("50 digits  %s\n", needle_weight(Real50(10), 99999).str(50, std::ios::fixed).c_str());
  try {
    needle_weight(std::log(0.0), 99999);
  } catch (const std::domain_error& refusal) {
    std::printf("%s\n", refusal.what());
    return 0;
  }
  return 1;
}
