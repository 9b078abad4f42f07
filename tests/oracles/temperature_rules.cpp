#include "tests/oracles/kinds/temperature_rules.hpp"
#include "tests/oracles/evaluate.hpp"

TEST_CASE("temperature rules: every reference value is reproduced, and no other number", "[oracles]") {
  using namespace incontext::oracles;
  check_oracles("temperature_rules", {register_temperature_rules});
}
