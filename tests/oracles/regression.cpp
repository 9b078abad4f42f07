#include "tests/oracles/kinds/regression.hpp"
#include "tests/oracles/evaluate.hpp"
#include "tests/oracles/kinds/softmax.hpp"

TEST_CASE("regression: every reference value is reproduced, and no other number", "[oracles]") {
  using namespace incontext::oracles;
  check_oracles("regression", {register_regression, register_softmax_error});
}
