#include <string>
#include <vector>

#include "examples/support/text.hpp"
#include "examples/verify/claims_file.hpp"
#include "examples/verify/rules.hpp"
#include "support/catch.hpp"
#include "tests/examples/part.hpp"

using namespace incontext::examples;
using namespace incontext::examples::verify;
using incontext::testing::part;

namespace ledger_rules_test {

namespace {

using Groups = std::vector<Seen>;

Seen seen(Role role, State state, const std::string& regime = "") {
  return {.role = role, .state = state, .exact = true, .regime = regime, .says = "So it is."};
}

const Groups good{seen(Role::paper, State::holds), seen(Role::control, State::rejected)};

Outcome outcome_of(const Groups& groups, Scale scale = Scale::paper, bool ours = false) {
  return rule(scale, ours, groups).outcome;
}

Groups with(Groups groups, const Seen& one) {
  groups.push_back(one);
  return groups;
}

}  // namespace

TEST_CASE("every verdict has its rows, and its word says where it was tried") {
  CHECK(outcome_of(good) == Outcome::confirmed);
  CHECK(outcome_of(good, Scale::paper, true) == Outcome::confirmed_in_ours);
  CHECK(outcome_of(good, Scale::trained) == Outcome::seen_trained);
  CHECK(outcome_of(good, Scale::untrained, true) == Outcome::seen_untrained);
  CHECK(outcome_of(good, Scale::built) == Outcome::seen_built);
  const Groups wrong = with(good, seen(Role::paper, State::rejected));
  CHECK(outcome_of(wrong) == Outcome::contradicted);
  CHECK(outcome_of(wrong, Scale::paper, true) == Outcome::contradicted_in_ours);
  CHECK(outcome_of(wrong, Scale::trained) == Outcome::not_reproduced);
  CHECK(outcome_of({seen(Role::identity, State::holds)}) == Outcome::by_definition);
  for (const Scale scale : {Scale::paper, Scale::trained}) {
    CHECK(outcome_of(with(good, seen(Role::paper, State::undecided)), scale) == Outcome::undecided);
  }
}

TEST_CASE("a sentence holds in a regime if each rejected row has its own, and the same holds in another") {
  const Seen rejected = seen(Role::paper, State::rejected, "short rows"),
             held = seen(Role::paper, State::holds, "long rows");
  const Groups in_a_regime{rejected, held, seen(Role::control, State::rejected)};
  for (const Scale scale : {Scale::paper, Scale::trained}) {
    CHECK(outcome_of(in_a_regime, scale) == Outcome::in_a_regime);
  }
  CHECK(rule(Scale::paper, false, in_a_regime).reason ==
        part("holds: \"So it is\" (long rows); does not hold: \"So it is\" (short rows)"));
  Seen other = held;
  other.says = "Another thing.";  // holds elsewhere, and is no excuse
  CHECK(outcome_of({rejected, other, seen(Role::control, State::rejected)}) == Outcome::contradicted);
  CHECK(outcome_of({rejected, seen(Role::paper, State::holds), seen(Role::control, State::rejected)}) ==
        Outcome::contradicted);  // where it holds is not said
  CHECK(outcome_of({seen(Role::paper, State::rejected), held, seen(Role::control, State::rejected)}) ==
        Outcome::contradicted);  // where it does not, neither
  CHECK(outcome_of(with(in_a_regime, seen(Role::paper, State::rejected))) == Outcome::contradicted);
}

TEST_CASE("a model that has not learned its own task refutes nothing") {
  const Groups wrong = with(good, seen(Role::paper, State::rejected));
  CHECK(outcome_of(with(wrong, seen(Role::premise, State::holds)), Scale::trained) == Outcome::not_reproduced);
  for (const State state : {State::rejected, State::undecided}) {
    CHECK(outcome_of(with(wrong, seen(Role::premise, state)), Scale::trained) == Outcome::undecided);
    CHECK(outcome_of(with(good, seen(Role::premise, state)), Scale::trained) == Outcome::seen_trained);
  }
}

TEST_CASE("printed numbers show, or do not, or are two for one") {
  const Groups wrong{seen(Role::paper, State::rejected)}, right{seen(Role::paper, State::holds)};
  CHECK(outcome_of(right, Scale::printed) == Outcome::shown_by_print);
  CHECK(outcome_of(wrong, Scale::printed) == Outcome::undecided_by_print);
  CHECK(outcome_of(right, Scale::printed_twice) == Outcome::differs_in_print);
  CHECK(outcome_of(wrong, Scale::printed_twice) == Outcome::undecided_by_print);
}

TEST_CASE("what the rows of a claim do not need to do, and what they must not") {
  for (const Role role : {Role::exact, Role::identity, Role::addition}) {
    CHECK(outcome_of(with(good, seen(role, State::holds))) == Outcome::confirmed);
    CHECK(outcome_of(with(good, seen(role, State::undecided))) == Outcome::confirmed);
    CHECK(outcome_of(with(good, seen(role, State::rejected))) == Outcome::undecided);
    CHECK(outcome_of({seen(Role::identity, State::holds), seen(role, State::rejected)}) == Outcome::undecided);
  }
  for (const State state : {State::undecided, State::holds}) {
    for (const Scale scale : {Scale::paper, Scale::built}) {
      CHECK(outcome_of(with(good, seen(Role::control, state)), scale) == Outcome::undecided);
    }
  }
  CHECK(outcome_of({seen(Role::paper, State::holds)}) == Outcome::undecided);
  CHECK(outcome_of({seen(Role::paper, State::holds)}, Scale::trained) == Outcome::seen_trained);
}

TEST_CASE("a rejection by simulation needs two seeds, an exact one none") {
  Groups groups{seen(Role::paper, State::rejected), seen(Role::control, State::rejected)};
  groups[0].exact = false;
  CHECK(outcome_of(groups) == Outcome::undecided);  // the other seed was not run
  CHECK(outcome_of(groups, Scale::trained) == Outcome::not_reproduced);
  groups[0].again = State::holds;
  CHECK(outcome_of(groups) == Outcome::undecided);
  groups[0].again = State::rejected;
  CHECK(outcome_of(groups) == Outcome::contradicted);
  groups[0].again = State::holds;
  groups[0].exact = true;
  CHECK(outcome_of(groups) == Outcome::contradicted);
}

TEST_CASE("drawn numbers without errors count if two seeds say the same") {
  Groups groups = good;
  groups[0].alone = true;
  CHECK(outcome_of(groups) == Outcome::undecided);
  groups[0].again = State::rejected;
  CHECK(outcome_of(groups) == Outcome::undecided);
  groups[0].again = State::holds;
  CHECK(outcome_of(groups) == Outcome::confirmed);
}

TEST_CASE("no verdict outlives a mutation of what it rests on, for every claim of the files") {
  for (const Claim& claim : read_claims(built_in_claims()).claims) {
    CAPTURE(claim.id);
    Groups groups;
    std::size_t of_paper = 0;
    for (const RowGroup& group : claim.groups) {
      const bool is_paper = group.role == Role::paper;
      groups.push_back(seen(group.role, group.role == Role::control ? State::rejected : State::holds, group.regime));
      groups.back().says = group.says;
      of_paper += is_paper ? 1 : 0;
    }
    if (of_paper == 0) continue;
    const bool ours = !claim.ours.empty();
    const Outcome before = outcome_of(groups, claim.scale, ours);
    CHECK(before == (claim.scale == Scale::trained         ? Outcome::seen_trained
                     : claim.scale == Scale::untrained     ? Outcome::seen_untrained
                     : claim.scale == Scale::built         ? Outcome::seen_built
                     : claim.scale == Scale::printed       ? Outcome::shown_by_print
                     : claim.scale == Scale::printed_twice ? Outcome::differs_in_print
                     : ours                                ? Outcome::confirmed_in_ours
                                                           : Outcome::confirmed));
    for (std::size_t i = 0; i < groups.size(); ++i) {
      CAPTURE(i);
      Groups mutant = groups;
      if (groups[i].role == Role::paper) {
        mutant[i].state = State::rejected;  // moved beyond chance
        CHECK(outcome_of(mutant, claim.scale, ours) != before);
        mutant[i].state = State::undecided;
        CHECK(outcome_of(mutant, claim.scale, ours) != before);
        mutant = groups;
        mutant[i].role = Role::control;  // swapped for a near miss
        if (claim.scale == Scale::paper) CHECK(outcome_of(mutant, claim.scale, ours) != before);
        mutant = groups;
        if (of_paper == 1) {
          mutant.erase(mutant.begin() + static_cast<std::ptrdiff_t>(i));  // dropped
          CHECK(outcome_of(mutant, claim.scale, ours) != before);
        }
      } else if (groups[i].role == Role::control) {
        mutant[i].state = State::holds;
        CHECK(outcome_of(mutant, claim.scale, ours) != before);
        mutant[i].state = State::undecided;
        CHECK(outcome_of(mutant, claim.scale, ours) != before);
      } else if (is_ours(groups[i].role)) {
        mutant[i].state = State::rejected;
        CHECK(outcome_of(mutant, claim.scale, ours) != before);
      }
    }
  }
}

namespace {

const std::string head = R"(paper = "p"
arxiv = "0000.00000"
title = "A paper"
authors = "Somebody"
text = "all"
[runs]
one = { quick = "incontext scores --figure prompt" }
[[claim]]
id = "a"
place = "eq. 1"
quote = "So it is."
setting = "any"
)";

std::string refusal(const std::string& text) {
  try {
    read_claims({{"file.toml", text}});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const std::string rows = "[[claim.rows]]\nsays = \"So.\"\nrun = \"one\"\ntable = \"T\"\n";

}  // namespace

TEST_CASE("a claims file is read, and what is wrong in it is named with its line") {
  const verify::Registry registry = read_claims({{"file.toml", head + rows + "where = { n = 3, map = \"SSMax\" }\n"}});
  REQUIRE(registry.claims.size() == 1);
  CHECK(registry.claims[0].id == "p/a");
  CHECK(registry.claims[0].groups[0].rows.where[1].value == "3");
  CHECK(registry.claims[0].runs() == std::vector<std::string>{"one"});
  CHECK(refusal("paper = ") == part("file.toml, line 1: "));
  CHECK(refusal("paper = \"p\"\n") == part("has no 'arxiv'"));
  CHECK(refusal(head) == part("file.toml, line 8: p/a: has neither a row of the paper nor an identity"));
  CHECK(refusal(head + rows + "colour = 1\n") == part("file.toml, line 17: p/a, rows: has an unknown key 'colour'"));
  CHECK(refusal(head + rows + "role = \"judge\"\n") ==
        part("'role' is none of paper, exact, control, identity, addition, premise"));
  CHECK(refusal(head + rows + "question = \"above\"\n") == part("need 'than', or 'than_rows' or 'than_column'"));
  CHECK(refusal(head + rows + "question = \"rises\"\n") == part("needs 'along'"));
  CHECK(refusal(head + rows + "thresholds = [1]\n") == part("'thresholds' need 'than'"));
  CHECK(refusal(head + rows + "resolution = 0\n") == part("needs a 'resolution' above 0"));
  CHECK(refusal(head + "scale = \"small\"\n" + rows) == part("'scale' is none of paper, trained, untrained, built"));
  CHECK(refusal(head + rows + "[[claim.reply]]\nauthor = \"A\"\ndate = \"2027-01-31\"\n") == part("has no 'text'"));
  CHECK(refusal(head + rows + "question = \"steady\"\n") == part("steady needs a 'factor' above 1"));
  CHECK(refusal(head + rows + "where = { n = [1] }\n") == part("'n' is neither text nor number"));
  CHECK(refusal(head + "not_tried = \"later\"\n" + rows) ==
        part("has rows of the paper, and a reason for having none"));
  CHECK(refusal(head + rows + "[runs.one]\nquick = \"x\"\n") == part("file.toml, line "));
  const std::string twice = head.substr(head.find("[[claim]]")) + rows;
  CHECK(refusal(head + rows + twice) == part("p/a: is there twice"));
  std::string unknown = head + rows;
  unknown.replace(unknown.find("run = \"one\""), 11, "run = \"two\"");
  CHECK(refusal(unknown) == part("p/a: names a run that no file has, 'two'"));
}

TEST_CASE("the page of the rules and the program say the same of every verdict") {
  const std::string page = read_whole_file(std::string(INCONTEXT_SOURCE_DIR) + "/docs/claims.md");
  for (const auto& [outcome, word] : outcome_words) {
    CAPTURE(word);
    CHECK(page.find("| " + std::string(word) + " | " + meaning_of(outcome) + " |\n") != std::string::npos);
  }
}

}  // namespace ledger_rules_test
