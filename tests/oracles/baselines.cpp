#include "tests/oracles/kinds/baselines.hpp"
#include "tests/oracles/evaluate.hpp"

TEST_CASE("baselines: every reference value is reproduced, and no other number", "[oracles]") {
  using namespace incontext::oracles;
  check_oracles("baselines", {register_baselines});
}
