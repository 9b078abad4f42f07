#include "examples/verify/rules.hpp"

#include <algorithm>
#include <utility>

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

/// What groups say, quoted, each sentence once with its regimes.
std::string listed(const Groups& groups) {
  std::vector<std::pair<std::string, std::string>> sentences;
  for (const Seen& group : groups) {
    auto at =
        std::find_if(sentences.begin(), sentences.end(), [&](const auto& one) { return one.first == group.says; });
    if (at == sentences.end()) at = sentences.insert(at, {group.says, ""});
    if (!group.regime.empty()) at->second += (at->second.empty() ? "" : "; ") + group.regime;
  }
  std::string text;
  for (auto& [says, regimes] : sentences) {
    if (says.ends_with('.')) says.pop_back();
    text += (text.empty() ? "\"" : "; \"") + says + '"' + (regimes.empty() ? "" : " (" + regimes + ")");
  }
  return text;
}

/// Whether every rejected row has its regime, and a row that says the same holds in another.
bool regimes_separate(const Groups& held, const Groups& rejected) {
  return std::all_of(rejected.begin(), rejected.end(), [&held](const Seen& one) {
    return !one.regime.empty() && std::any_of(held.begin(), held.end(), [&one](const Seen& other) {
      return other.says == one.says && !other.regime.empty() && other.regime != one.regime;
    });
  });
}

Ruling rule_rejected(Scale scale, bool setting_is_ours, const Groups& held, const Groups& rejected) {
  if (regimes_separate(held, rejected)) {
    return {Outcome::in_a_regime, "holds: " + listed(held) + "; does not hold: " + listed(rejected)};
  }
  if (scale == Scale::printed || scale == Scale::printed_twice) {
    return {Outcome::undecided_by_print, "not shown by the numbers that the paper prints: " + listed(rejected)};
  }
  if (scale != Scale::paper) return {Outcome::not_reproduced, "does not hold here: " + listed(rejected)};
  if (setting_is_ours) {
    return {Outcome::contradicted_in_ours,
            "does not hold in our setting, which is not known to be the paper's: " + listed(rejected)};
  }
  return {Outcome::contradicted, "does not hold in the paper's setting: " + listed(rejected)};
}

Ruling rule_held(Scale scale, bool setting_is_ours) {
  const std::string all = "all rows of the claim hold";
  switch (scale) {
    case Scale::trained:
      return {Outcome::seen_trained, all + ", in a model that is smaller than the paper's, or trained for less"};
    case Scale::untrained:
      return {Outcome::seen_untrained, all + ", in a layer that is not trained"};
    case Scale::built:
      return {Outcome::seen_built, all + ", in a model built by hand"};
    case Scale::printed:
      return {Outcome::shown_by_print, "the numbers that the paper prints show it"};
    case Scale::printed_twice:
      return {Outcome::differs_in_print, "the paper prints two numbers for one architecture and one test"};
    case Scale::paper:
      break;
  }
  return {setting_is_ours ? Outcome::confirmed_in_ours : Outcome::confirmed, all + ", and near misses are rejected"};
}

}  // namespace

std::string meaning_of(Outcome outcome) {
  static constexpr std::pair<Outcome, const char*> meanings[] = {
      {Outcome::confirmed, "Every row of the paper holds, in the paper's setting, and every near miss is rejected."},
      {Outcome::confirmed_in_ours,
       "Every row of the paper holds and every near miss is rejected, in a setting of ours: the paper's is another, "
       "or is not known."},
      {Outcome::in_a_regime,
       "Rows of the paper are rejected, each in a regime, and the same sentence holds in another regime."},
      {Outcome::contradicted,
       "A row of the paper is rejected in the paper's own setting, by computed numbers or by simulations with two "
       "seeds. No regime is known in which its sentence holds."},
      {Outcome::contradicted_in_ours, "The same, in a setting of ours. The paper's may be one in which it holds."},
      {Outcome::seen_trained,
       "The paper trained or measured a larger model, or for longer. In ours, which is trained, all its rows hold."},
      {Outcome::seen_untrained,
       "The paper trained or measured a model. In a layer of ours that is not trained, all its rows hold."},
      {Outcome::seen_built,
       "The paper trained or measured a model. In one built by hand, or in single rows of scores, all its rows hold."},
      {Outcome::not_reproduced,
       "The paper trained or measured a larger model, or for longer. In ours a row is rejected, and no regime "
       "separates it from rows that hold. That says nothing about the paper's model."},
      {Outcome::by_definition, "Every row follows from a definition, and none is rejected."},
      {Outcome::shown_by_print,
       "A test of numbers that the paper prints, and nothing of ours, shows it at the level of 5%."},
      {Outcome::undecided_by_print,
       "A test of numbers that the paper prints, and nothing of ours, does not show it at the level of 5%. More runs "
       "might show it."},
      {Outcome::differs_in_print,
       "The paper prints two numbers for one architecture and one test, as a quoted sentence says. They may be two "
       "runs."},
      {Outcome::undecided,
       "Neither the claim nor its opposite is rejected, a near miss is not rejected, one seed of two rejects a row, "
       "our model has not learned what the paper's has, or a result of ours fails. The reason says which."},
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
  for (const Role ours : {Role::exact, Role::identity, Role::addition}) {
    if (const Groups wrong = all_of(groups, ours, State::rejected); !wrong.empty()) {
      return {Outcome::undecided, "a result of ours is rejected: " + listed(wrong)};
    }
  }
  if (all_of(groups, Role::paper).empty()) return {Outcome::by_definition, "its rows are true by definition"};
  if (scale == Scale::paper && all_of(groups, Role::control).empty()) {
    return {Outcome::undecided, "there is no near miss, so that these rows could not tell"};
  }
  if (const Groups passed = all_of(groups, Role::control, State::holds); !passed.empty()) {
    return {Outcome::undecided, "a near miss holds as well: " + listed(passed)};
  }
  if (const Groups open = all_of(groups, Role::control, State::undecided); !open.empty()) {
    return {Outcome::undecided, "a near miss is not rejected: " + listed(open)};
  }
  const Groups rejected = all_of(groups, Role::paper, State::rejected);
  const Groups undecided = all_of(groups, Role::paper, State::undecided);
  Groups unlearned = all_of(groups, Role::premise, State::rejected);
  for (const Seen& one : all_of(groups, Role::premise, State::undecided)) unlearned.push_back(one);
  if (!rejected.empty() && !unlearned.empty()) {
    return {Outcome::undecided, "our model has not learned what the paper's has, so that it refutes nothing: not so: " +
                                    listed(unlearned) + "; does not hold in it: " + listed(rejected)};
  }
  if (!rejected.empty()) {
    return rule_rejected(scale, setting_is_ours, all_of(groups, Role::paper, State::holds), rejected);
  }
  if (!undecided.empty()) return {Outcome::undecided, "neither shown nor refuted: " + listed(undecided)};
  return rule_held(scale, setting_is_ours);
}

}  // namespace incontext::examples::verify
