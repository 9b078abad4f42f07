#include "examples/verify/rules.hpp"

#include <algorithm>

namespace incontext::examples::verify {

namespace {

using Groups = std::vector<Seen>;

/// A rejection by simulation counts if another seed repeats it, and so does any answer of numbers without errors.
State state_of(const Seen& group) {
  if (group.alone) return group.again == group.state ? group.state : State::undecided;
  const bool is_repeated = group.exact || !group.again || *group.again == State::rejected;
  return group.state == State::rejected && !is_repeated ? State::undecided : group.state;
}

Groups all_of(const Groups& groups, Role role, std::optional<State> state = {}) {
  Groups chosen;
  for (const Seen& group : groups) {
    if (group.role == role && (!state || state_of(group) == *state)) chosen.push_back(group);
  }
  return chosen;
}

/// What groups say, quoted, with their regimes.
std::string listed(const Groups& groups) {
  std::string text;
  for (const Seen& group : groups) {
    std::string says = group.says;
    if (says.ends_with('.')) says.pop_back();
    text += (text.empty() ? "\"" : "; \"") + says + '"';
    if (!group.regime.empty()) text += " (" + group.regime + ")";
  }
  return text;
}

bool some_in_a_regime(const Groups& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const Seen& group) { return !group.regime.empty(); });
}

bool some_in_the_setting(const Groups& groups) {
  return std::any_of(groups.begin(), groups.end(), [](const Seen& group) { return group.regime.empty(); });
}

std::string what_holds_and_what_does_not(const Groups& held, const Groups& rejected) {
  return "holds: " + listed(held) + "; does not hold: " + listed(rejected);
}

Ruling rule_small(const Groups& held, const Groups& rejected, const Groups& undecided) {
  if (!rejected.empty() && some_in_a_regime(held)) {
    return {Outcome::in_a_regime, what_holds_and_what_does_not(held, rejected)};
  }
  if (!rejected.empty()) return {Outcome::not_reproduced, "does not hold here: " + listed(rejected)};
  if (!undecided.empty()) return {Outcome::undecided, "neither shown nor refuted: " + listed(undecided)};
  return {Outcome::seen_in_small, "all rows of the claim hold, in a model smaller than the paper's"};
}

Ruling rule_rejected(bool setting_is_ours, const Groups& held, const Groups& rejected) {
  if (!held.empty() && (some_in_a_regime(held) || !some_in_the_setting(rejected))) {
    return {Outcome::in_a_regime, what_holds_and_what_does_not(held, rejected)};
  }
  if (setting_is_ours) {
    return {Outcome::undecided,
            "does not hold in our setting, which is not known to be the paper's: " + listed(rejected)};
  }
  return {Outcome::contradicted, "does not hold in the paper's setting: " + listed(rejected)};
}

}  // namespace

std::string meaning_of(Outcome outcome) {
  static constexpr std::pair<Outcome, const char*> meanings[] = {
      {Outcome::confirmed,
       "Every row of the paper holds, in the paper's setting or in ours where that is stated, and at least one near "
       "miss is rejected."},
      {Outcome::in_a_regime, "Some rows of the paper hold and others are rejected, and regimes separate the two."},
      {Outcome::contradicted,
       "Rows of the paper are rejected in the paper's own setting, exactly or with two seeds, and no regime is known "
       "in which they hold."},
      {Outcome::seen_in_small,
       "The paper trained or measured a larger model, or for longer. In ours, all its rows hold."},
      {Outcome::not_reproduced,
       "The paper trained or measured a larger model, or for longer. In ours a row is rejected, and no regime "
       "separates it from rows that hold. That says nothing about the paper's model."},
      {Outcome::by_definition, "All rows are true by definition."},
      {Outcome::undecided,
       "Neither the claim nor its opposite is rejected, no near miss is rejected, one seed of two rejects a row, the "
       "setting is only ours, or a result of ours fails. The reason says which."},
      {Outcome::not_tried, "Nothing has tried it yet, or its runs are not part of this edition."},
      {Outcome::out_of_reach, "It needs models or data that are not here."}};
  return word_in(meanings, outcome);
}

Ruling rule(Scale scale, bool setting_is_ours, const Groups& given) {
  Groups groups = given;
  for (Seen& group : groups) {  // at the paper's size one seed alone rejects nothing of the paper
    const bool is_one_seed = group.state == State::rejected && !group.exact && !group.again;
    if (scale == Scale::paper && group.role == Role::paper && is_one_seed) group.state = State::undecided;
  }
  if (all_of(groups, Role::paper).empty()) return {Outcome::by_definition, "its rows are true by definition"};
  for (const Role ours : {Role::exact, Role::identity, Role::addition}) {
    if (const Groups wrong = all_of(groups, ours, State::rejected); !wrong.empty()) {
      return {Outcome::undecided, "a result of ours is rejected: " + listed(wrong)};
    }
  }
  const Groups held = all_of(groups, Role::paper, State::holds);
  const Groups rejected = all_of(groups, Role::paper, State::rejected);
  const Groups undecided = all_of(groups, Role::paper, State::undecided);
  if (scale == Scale::small) return rule_small(held, rejected, undecided);
  if (all_of(groups, Role::control, State::rejected).empty()) {
    return {Outcome::undecided, "no near miss is rejected, so that these rows could not tell"};
  }
  if (const Groups passed = all_of(groups, Role::control, State::holds); !passed.empty()) {
    return {Outcome::undecided, "a near miss holds as well: " + listed(passed)};
  }
  if (!rejected.empty()) return rule_rejected(setting_is_ours, held, rejected);
  if (!undecided.empty()) return {Outcome::undecided, "neither shown nor refuted: " + listed(undecided)};
  return {Outcome::confirmed, "all rows of the claim hold, and near misses are rejected"};
}

}  // namespace incontext::examples::verify
