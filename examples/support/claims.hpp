#pragma once

#include <incontext/statistics/relations.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "examples/support/report.hpp"

/// Statements of theory about computed numbers. A claim may be made about many cases; its row in the table shows the
/// case that came closest to breaking it, and all claims together are the verdict.
namespace incontext::examples {

class Claims {
 public:
  /// The verdict on a negative control that is wrong, as it should be.
  static constexpr const char* refuted = "refuted";

  /// Equality up to rounding.
  void equal(const std::string& claim, std::string where, double computed, double theory) {
    judge(claim, Relation::equals, {std::move(where), computed, theory});
  }
  /// A negative control: a statement that is wrong by more than one in a thousand.
  void differs(const std::string& claim, std::string where, double computed, double wrong) {
    judge(claim, Relation::differs, {std::move(where), computed, wrong});
  }
  /// A bound that is attained may be missed by rounding.
  void at_most(const std::string& claim, std::string where, double computed, double bound) {
    judge(claim, Relation::at_most, {std::move(where), computed, bound});
  }
  void at_least(const std::string& claim, std::string where, double computed, double bound) {
    judge(claim, Relation::at_least, {std::move(where), computed, bound});
  }

  Table table() const {
    Table table{.title = "What theory says about these numbers, each where it came closest to failing",
                .columns = {{"claim"},
                            {"cases"},
                            {"at"},
                            {.name = "computed", .style = Style::shortest},
                            {.name = "relation", .heading = " "},
                            {.name = "theory", .style = Style::shortest},
                            {"verdict"}}};
    for (const Claim& one : claims_) {
      table.add_row({one.text, one.cases, one.worst.where, one.worst.computed, sign_of(one.relation), one.worst.theory,
                     std::string(!one.holds()                        ? "disagrees"
                                 : one.relation == Relation::differs ? refuted
                                                                     : "agrees")});
    }
    return table;
  }

  bool empty() const { return claims_.empty(); }

  /// Makes a disagreement of a verdict where a claim fails.
  void join(Verdict& verdict) const {
    if (empty()) return;
    const Verdict own = this->verdict();
    verdict.details["claims"] = own.details;
    verdict.text += ' ' + own.text;
    verdict.rows.insert(verdict.rows.end(), own.rows.begin(), own.rows.end());
    if (own.agrees == false) verdict.agrees = false;
  }

  Verdict verdict() const {
    std::int64_t failures = 0, cases = 0;
    for (const Claim& one : claims_) {
      failures += one.holds() ? 0 : 1;
      cases += one.cases;
    }
    const std::string count = std::to_string(claims_.size()) + (claims_.size() == 1 ? " claim" : " claims") + " in " +
                              std::to_string(cases) + (cases == 1 ? " case" : " cases");
    Verdict verdict{.agrees = failures == 0};
    for (const Claim& one : claims_) {
      if (!one.holds()) verdict.rows.push_back("Disagrees: " + one.text + ", at " + one.worst.where + ".");
    }
    verdict.text = failures == 0 ? "Agreement: " + count + ", none fails."
                                 : "DISAGREEMENT: " + count + ", " + std::to_string(failures) + " of the claims " +
                                       (failures == 1 ? "fails." : "fail.");
    verdict.details = {{"claims", claims_.size()}, {"cases", cases}, {"failures", failures}};
    return verdict;
  }

 private:
  using Relation = statistics::Relation;
  struct Case {
    std::string where;
    double computed;
    double theory;
  };
  struct Claim {
    std::string text;
    Relation relation;
    std::int64_t cases;
    Case worst;
    double excess() const { return statistics::relation_excess(relation, worst.computed, worst.theory); }
    bool holds() const { return statistics::relation_holds(relation, worst.computed, worst.theory); }
  };

  static std::string sign_of(Relation relation) {
    return relation == Relation::equals    ? "="
           : relation == Relation::differs ? "!="
           : relation == Relation::at_most ? "<="
                                           : ">=";
  }
  void judge(const std::string& text, Relation relation, Case one) {
    for (Claim& claim : claims_) {
      if (claim.text != text) continue;
      ++claim.cases;
      if (statistics::relation_excess(relation, one.computed, one.theory) > claim.excess())
        claim.worst = std::move(one);
      return;
    }
    claims_.push_back({text, relation, 1, std::move(one)});
  }

  std::vector<Claim> claims_;
};

}  // namespace incontext::examples
