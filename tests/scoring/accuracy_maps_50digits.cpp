#include "scoring/accuracy.hpp"
#include "support/catch.hpp"

// The accuracy that the headers of the other maps state: rounding against the same template at 50 digits.
namespace incontext::testing {

TEMPLATE_TEST_CASE("the other maps round as stated", "[scoring][accuracy]", float, double) {
  using T = TestType;
  for (const auto& [name, rounding] :
       rounding_of<T>([](auto visit) { for_each_other_smooth_map<T>(visit); }, 2, rounding_rows<T>)) {
    const bool sparse = name.find("max") != std::string::npos && name.find("oft") == std::string::npos;
    check_rounding(name, rounding, 8, sparse ? 64 : 8, sparse ? 512 : 8);
  }
}

TEST_CASE("the ratio scores round as stated", "[scoring][accuracy]") {
  for (const auto& [name, rounding] :
       rounding_of<double>([](auto visit) { for_each_ratio_score<double>(visit); }, 3, 36)) {
    if (name == "tanh over sum") continue;  // 1 - a cancels wherever tanh saturates
    check_rounding(name, rounding, 4, 8, 0);
  }
}

}  // namespace incontext::testing
