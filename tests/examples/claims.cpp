#include "examples/support/claims.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"

using incontext::examples::Claims;

namespace {

bool holds(const Claims& claims) { return claims.verdict().agrees.value(); }

template <class Make>
bool holds_after(Make make) {
  Claims claims;
  make(claims);
  return holds(claims);
}

}  // namespace

TEST_CASE("a claim holds up to rounding and fails beyond it", "[claims]") {
  const double nan = std::nan("");
  const auto equal = [](double x, double theory) {
    return holds_after([=](Claims& c) { c.equal("", "", x, theory); });
  };
  CHECK(equal(1, 1));
  CHECK(equal(1 + 1e-10, 1));
  CHECK(equal(-1e-300, -1e-300));
  CHECK(equal(0, 0));
  CHECK_FALSE(equal(1 + 1e-8, 1));
  CHECK_FALSE(equal(1 - 1e-8, 1));
  CHECK_FALSE(equal(1e-300, 0));
  CHECK_FALSE(equal(nan, 1));
  CHECK_FALSE(equal(1, nan));
  CHECK_FALSE(equal(std::numeric_limits<double>::infinity(), 1));
  const auto at_most = [](double x, double bound) {
    return holds_after([=](Claims& c) { c.at_most("", "", x, bound); });
  };
  CHECK(at_most(0.5, 0.5));
  CHECK(at_most(-3, -2));
  CHECK(at_most(0.5 * (1 + 1e-14), 0.5));
  CHECK_FALSE(at_most(0.5 * (1 + 1e-10), 0.5));
  CHECK_FALSE(at_most(-2, -3));
  CHECK_FALSE(at_most(1e-30, 0));
  CHECK_FALSE(at_most(nan, 1));
  const auto at_least = [](double x, double bound) {
    return holds_after([=](Claims& c) { c.at_least("", "", x, bound); });
  };
  CHECK(at_least(0.5, 0.5));
  CHECK(at_least(-2, -3));
  CHECK_FALSE(at_least(0.5 * (1 - 1e-10), 0.5));
  CHECK_FALSE(at_least(-3, -2));
  CHECK_FALSE(at_least(1, nan));
}

TEST_CASE("one row a claim, with its worst case; one broken case breaks the verdict", "[claims]") {
  Claims claims;
  claims.at_most("bound", "n = 2", 0.1, 1);
  claims.at_most("bound", "n = 3", 0.9, 1);
  claims.at_most("bound", "n = 4", 0.2, 1);
  claims.equal("value", "n = 2", 2, 2);
  CHECK(holds(claims));
  CHECK(claims.verdict().text == "Agreement: 2 claims in 4 cases, none fails.");
  const auto table = claims.table();
  REQUIRE(table.rows.size() == 2);
  CHECK(std::get<std::int64_t>(table.rows[0][1]) == 3);
  CHECK(std::get<std::string>(table.rows[0][2]) == "n = 3");
  CHECK(std::get<std::string>(table.rows[0][6]) == "agrees");
  claims.at_most("bound", "n = 5", 1.1, 1);
  claims.at_most("bound", "n = 6", 0.1, 1);
  CHECK_FALSE(holds(claims));
  CHECK(claims.verdict().text == "DISAGREEMENT: 2 claims in 6 cases, 1 of the claims fails.");
  CHECK(claims.verdict().details["failures"] == 1);
  CHECK(std::get<std::string>(claims.table().rows[0][2]) == "n = 5");
  CHECK(std::get<std::string>(claims.table().rows[0][6]) == "disagrees");
}

TEST_CASE("claims join a verdict, and make a disagreement of it only where one fails", "[claims]") {
  using incontext::examples::Verdict;
  const auto joined = [](const Claims& claims, std::optional<bool> agrees) {
    Verdict verdict{.agrees = agrees, .text = "Nothing was judged."};
    claims.join(verdict);
    return verdict;
  };
  CHECK(joined({}, true).text == "Nothing was judged.");
  Claims claims;
  claims.at_most("a bound", "n = 2", 0.1, 1);
  CHECK(joined(claims, std::nullopt).agrees == std::nullopt);
  CHECK(joined(claims, true).agrees == true);
  CHECK(joined(claims, true).text == "Nothing was judged. Agreement: 1 claim in 1 case, none fails.");
  claims.at_most("a bound", "n = 3", 2, 1);
  CHECK(joined(claims, true).agrees == false);
  CHECK(joined(claims, std::nullopt).rows == std::vector<std::string>{"Disagrees: a bound, at n = 3."});
  CHECK(joined(claims, true).details["claims"]["failures"] == 1);
}
