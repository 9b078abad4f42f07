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

/// What groups say, with their regimes.
std::string listed(const Groups& groups) {
  std::string text;
  for (const Seen& group : groups) {
    std::string says = group.says;
    if (says.ends_with('.')) says.pop_back();
    text += (text.empty() ? "" : "; ") + says;
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

Ruling rule_small(const Groups& held, const Groups& rejected, const Groups& undecided) {
  if (!rejected.empty() && some_in_a_regime(held)) {
    return {Outcome::in_a_regime, "holds: " + listed(held) + ". Does not: " + listed(rejected)};
  }
  if (!rejected.empty()) return {Outcome::not_reproduced, "not so here: " + listed(rejected)};
  if (!undecided.empty()) return {Outcome::undecided, "neither so nor otherwise: " + listed(undecided)};
  return {Outcome::seen_in_small, "all rows of the claim hold, in a model smaller than the paper's"};
}

Ruling rule_rejected(bool setting_is_ours, const Groups& held, const Groups& rejected) {
  const std::string both = "holds: " + listed(held) + ". Does not: " + listed(rejected);
  if (!held.empty() && (some_in_a_regime(held) || !some_in_the_setting(rejected))) return {Outcome::in_a_regime, both};
  if (setting_is_ours) {
    return {Outcome::undecided,
            "does not hold in our setting, which is not known to be the paper's: " + listed(rejected)};
  }
  return {Outcome::contradicted, "does not hold in the paper's setting: " + listed(rejected)};
}

}  // namespace

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
  if (!undecided.empty()) return {Outcome::undecided, "neither so nor otherwise: " + listed(undecided)};
  return {Outcome::confirmed, "all rows of the claim hold, and near misses are rejected"};
}

}  // namespace incontext::examples::verify
