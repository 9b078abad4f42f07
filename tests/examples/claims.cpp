#include "examples/support/claims.hpp"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"

using incontext::examples::Claims;

namespace {

bool holds(const Claims& claims) { return claims.verdict().agrees.value(); }

}  // namespace

TEST_CASE("every relation has its sign, and its verdict is that of the library", "[claims]") {
  Claims claims;
  claims.equal("a value", "", 1 + 1e-10, 1);
  claims.differs("a control", "", 1.1, 1);
  claims.at_most("an upper bound", "", 0.5, 0.5);
  claims.at_least("a lower bound", "", 2, 1);
  CHECK(holds(claims));
  const std::vector<std::string> signs{"=", "!=", "<=", ">="};
  for (std::size_t i = 0; i < signs.size(); ++i) {
    CHECK(std::get<std::string>(claims.table().rows.at(i).at(4)) == signs[i]);
  }
  claims.at_least("a lower bound", "", std::nan(""), 1);
  CHECK_FALSE(holds(claims));
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
