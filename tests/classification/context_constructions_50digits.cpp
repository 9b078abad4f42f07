#include "classification/attention_is_descent.hpp"
#include "support/catch.hpp"
#include "support/real50.hpp"

namespace incontext::testing {

TEST_CASE("attention with the constructed weights is the algorithm at 50 digits", "[classification]") {
  check_attention_is_descent<Real50>(64);
}

TEST_CASE("RBF attention with the constructed weights is the algorithm at 50 digits", "[classification]") {
  check_rbf_attention_is_descent<Real50>(64);
}

}  // namespace incontext::testing
