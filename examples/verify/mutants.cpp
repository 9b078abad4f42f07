#include "examples/verify/mutants.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace incontext::examples::verify {

namespace {

bool is_positive(Outcome outcome) {
  switch (outcome) {
    case Outcome::confirmed:
    case Outcome::confirmed_in_ours:
    case Outcome::in_a_regime:
    case Outcome::seen_trained:
    case Outcome::seen_untrained:
    case Outcome::seen_built:
    case Outcome::shown_by_print:
    case Outcome::differs_in_print:
      return true;
    default:
      return false;
  }
}

std::string opposite(const std::string& relation) {
  return relation == "<=" ? ">=" : relation == ">=" ? "<=" : relation == "=" ? "!=" : "=";
}

Question opposite(Question question) {
  switch (question) {
    case Question::rises:
      return Question::falls;
    case Question::falls:
      return Question::rises;
    case Question::above:
      return Question::below;
    case Question::below:
      return Question::above;
    default:
      return question;
  }
}

/// A claim, the rows that it reads, and what is done to them.
class Reversed {
 public:
  Reversed(const Claim& claim, const Decision& decision, const std::vector<Row>& rows)
      : claim_(claim), before_(decision), rows_(rows) {}

  /// Reverses a group, and says how.
  std::string reverse(std::size_t group) {
    reversed_.push_back(group);
    RowGroup& one = claim_.groups[group];
    const std::vector<std::size_t>& its = before_.findings[group].rows;
    if (one.role == Role::control || before_.findings[group].state != State::holds) return make_true(one, its);
    switch (one.question) {
      case Question::agrees:
        return move_theory(its);
      case Question::equals:
        *one.than += 0.1 * std::abs(*one.than) + 2 * one.tolerance;
        return "the number is 10% larger";
      case Question::steady:
        move_last(one, its.back());
        return "the last value is beyond the factor";
      default:
        const Question before = std::exchange(one.question, opposite(one.question));
        return word_of(before) + " became " + word_of(one.question);
    }
  }

  /// The ruling on what is there now.
  Ruling rule() const {
    const Family family = family_of(claim_, rows_);
    std::vector<Finding> findings = before_.findings;
    for (const std::size_t group : reversed_) {
      Finding& finding = findings[group];
      finding = find(claim_.groups[group], rows_, family);
      finding.again = finding.state;
    }
    return rule_on(claim_, findings);
  }

 private:
  /// Lets a group hold: its theories are what was found, or all that it asks for is more than nothing.
  std::string make_true(RowGroup& group, const std::vector<std::size_t>& its) {
    if (group.question == Question::agrees) {
      for (const std::size_t i : its) {
        rows_[i].holds = rows_[i].kind != RowKind::control;  // a control says !=
        rows_[i].theory = rows_[i].simulation;
      }
      return "its statement is true";
    }
    RowGroup any{.role = group.role, .says = group.says, .regime = group.regime, .rows = group.rows};
    any.question = Question::above;
    any.value = group.value;
    any.than = std::numeric_limits<double>::lowest();
    group = std::move(any);
    return "any value will do";
  }

  std::string move_theory(const std::vector<std::size_t>& its) {
    std::size_t worst = its.front();
    for (const std::size_t i : its) {
      if (rows_[i].unjudged.empty() && !rows_[i].is_computed() && !(seen(i) <= seen(worst))) worst = i;
    }
    Row& row = rows_[worst];
    if (row.is_computed() || row.is_bound()) {
      const std::string before = std::exchange(row.relation, opposite(row.relation));
      row.holds = !row.holds;
      return before + " became " + row.relation;
    }
    row.theory += row.theory == 0 ? 20 * row.standard_error : 2 * seen(worst) * std::abs(row.theory);
    return "a theory is off by twice what would be seen";
  }

  /// The relative deviation of a row that would be seen.
  double seen(std::size_t row) const { return before_.family.rows.at(row).resolution; }

  void move_last(const RowGroup& group, std::size_t last) {
    for (auto& [column, number] : rows_[last].cells) {
      if (column == group.value) number *= group.factor * group.factor;
    }
  }

  Claim claim_;
  const Decision& before_;
  std::vector<Row> rows_;
  std::vector<std::size_t> reversed_ = {};
};

/// The rows of the runs of a claim, and its findings with their places among these.
std::pair<std::vector<Row>, Decision> alone(const Claim& claim, const Ledger& ledger, const Decision& decision) {
  const std::vector<std::string> runs = claim.runs();
  std::vector<Row> rows;
  std::copy_if(ledger.rows.begin(), ledger.rows.end(), std::back_inserter(rows),
               [&runs](const Row& row) { return std::find(runs.begin(), runs.end(), row.command) != runs.end(); });
  Decision found = decide(claim, rows);
  for (std::size_t i = 0; i < found.findings.size(); ++i) found.findings[i].again = decision.findings[i].again;
  return {std::move(rows), std::move(found)};
}

}  // namespace

std::vector<Mutant> mutants_of(const Ledger& ledger) {
  std::vector<Mutant> mutants;
  for (std::size_t c = 0; c < ledger.claims.size(); ++c) {
    const Claim& claim = ledger.claims[c];
    const Decision& decision = ledger.decisions[c];
    const bool is_decided = !decision.findings.empty() && !decision.is_incomplete;
    if (!is_decided || decision.outcome == Outcome::by_definition || decision.outcome == Outcome::undecided) continue;
    const auto [rows, found] = alone(claim, ledger, decision);
    const auto add = [&](const std::vector<std::size_t>& groups) {
      Reversed reversed(claim, found, rows);
      Mutant mutant{.claim = c, .group = groups.front()};
      for (const std::size_t group : groups) mutant.reversal = reversed.reverse(group);
      const Ruling ruling = reversed.rule();
      mutant.outcome = ruling.outcome;
      const bool is_regime = ruling.outcome == Outcome::in_a_regime;
      mutant.changed = ruling.outcome != decision.outcome || (is_regime && ruling.reason != decision.reason);
      mutants.push_back(std::move(mutant));
    };
    std::vector<std::size_t> wrong;  // what stands between the claim and its being confirmed
    for (std::size_t g = 0; g < claim.groups.size(); ++g) {
      const Role role = claim.groups[g].role;
      const bool is_control = role == Role::control;
      if (role != Role::paper && !is_control) continue;
      if (is_positive(decision.outcome)) add({g});
      if (!is_control && found.findings[g].state != State::holds) wrong.push_back(g);
    }
    if (!is_positive(decision.outcome) && !wrong.empty()) add(wrong);
  }
  return mutants;
}

}  // namespace incontext::examples::verify
