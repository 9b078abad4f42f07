#include "scoring/accuracy.hpp"
#include "support/catch.hpp"

// The accuracy that the headers of the other maps state: rounding against the same template at 50 digits.
namespace incontext::testing {

using namespace scoring;

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

TEMPLATE_TEST_CASE("NormSoftmax and the ratio scores of rows over packs round as stated", "[scoring][accuracy]", float,
                   double) {
  using T = TestType;
  const auto for_each = [](auto visit) {
    // a cap at which no weight of float is below the normal range, where rounding is absolute
    for (const T cap : {T(1), T(1e9)}) visit(NormSoftmax<T>{cap}, Facts{cap < 2 ? "capped" : "not capped"});
    using enum ScoreNormalization;
    visit(RatioScore<Relu, T>{sum}, Facts{"relu over sum"});
    visit(RatioScore<Square, T>{absolute_sum}, Facts{"square over absolute sum"});
    visit(RatioScore<Relu, T>{context_length}, Facts{"relu over n"});
  };
  for (const auto& [name, rounding] : rounding_of<T>(for_each, 4, 12, {16, 70})) {
    check_rounding(name, rounding, name.find("over") == std::string::npos ? 8 : 4, 8, 8);
  }
}

}  // namespace incontext::testing
