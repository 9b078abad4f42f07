#include "tests/oracles/kinds/scoring.hpp"
#include "tests/oracles/evaluate.hpp"
#include "tests/oracles/kinds/attention.hpp"
#include "tests/oracles/kinds/laws.hpp"
#include "tests/oracles/kinds/training.hpp"

TEST_CASE("scoring and laws: every reference value is reproduced, and no other number", "[oracles]") {
  using namespace incontext::oracles;
  check_oracles("scoring", {register_attention, register_laws, register_scoring, register_training});
}
