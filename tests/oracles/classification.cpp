#include "tests/oracles/kinds/classification.hpp"
#include "tests/oracles/evaluate.hpp"

TEST_CASE("classification: every reference value is reproduced, and no other number", "[oracles]") {
  using namespace incontext::oracles;
  check_oracles("classification", {register_classification});
}
