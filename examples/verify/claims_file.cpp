#include "examples/verify/claims_file.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "examples/support/render.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::verify {

namespace {

/// A table of a claims file. Every key that is read is known; done() refuses the others.
class TableReader {
 public:
  TableReader(const toml::table& table, std::string file, std::string what)
      : table_(table), file_(std::move(file)), what_(std::move(what)) {}

  std::string text(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return "";
    const auto value = node->value<std::string>();
    if (!value || value->empty()) refuse(*node, key, "is no text");
    return *value;
  }

  std::string needed_text(const std::string& key) {
    if (!table_.contains(key)) throw InputError(where(table_) + what_ + ": has no '" + key + "'");
    return text(key);
  }

  std::optional<double> number(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return std::nullopt;
    const auto value = node->value<double>();
    if (!value) refuse(*node, key, "is no number");
    return value;
  }

  std::vector<double> numbers(const std::string& key) {
    const toml::node* node = find(key);
    std::vector<double> all;
    if (node == nullptr) return all;
    const toml::array* array = node->as_array();
    if (array == nullptr) refuse(*node, key, "is no list of numbers");
    for (const toml::node& member : *array) {
      const auto one = member.value<double>();
      if (!one) refuse(member, key, "is no list of numbers");
      all.push_back(*one);
    }
    return all;
  }

  bool flag(const std::string& key) {
    const toml::node* node = find(key);
    if (node == nullptr) return false;
    const auto value = node->value_exact<bool>();
    if (!value) refuse(*node, key, "is neither true nor false");
    return *value;
  }

  /// One text, or a list of them.
  std::vector<std::string> texts(const std::string& key) {
    const toml::node* node = find(key);
    std::vector<std::string> all;
    if (node == nullptr) return all;
    if (const auto one = node->value<std::string>()) return {*one};
    const toml::array* array = node->as_array();
    if (array == nullptr) refuse(*node, key, "is no list of texts");
    for (const toml::node& member : *array) {
      const auto one = member.value<std::string>();
      if (!one) refuse(member, key, "is no list of texts");
      all.push_back(*one);
    }
    return all;
  }

  /// Cells, as { column = "text" } or { column = number }.
  std::vector<Key> keys(const std::string& key) {
    const toml::node* node = find(key);
    std::vector<Key> all;
    if (node == nullptr) return all;
    const toml::table* table = node->as_table();
    if (table == nullptr) refuse(*node, key, "is no table of cells");
    for (const auto& [column, cell] : *table) {
      std::string value;
      if (const auto word = cell.value_exact<std::string>()) {
        value = *word;
      } else if (const auto number = cell.value<double>()) {
        value = detail::number_text(*number);
      } else {
        refuse(cell, std::string(column.str()), "is neither text nor number");
      }
      all.push_back({std::string(column.str()), value});
    }
    return all;
  }

  template <class Choice>
  Choice choice(const std::string& key, Choice otherwise, const std::vector<std::pair<std::string, Choice>>& choices) {
    const toml::node* node = find(key);
    if (node == nullptr) return otherwise;
    const auto word = node->value<std::string>();
    std::string known;
    for (const auto& [name, choice] : choices) {
      if (word == name) return choice;
      known += (known.empty() ? "" : ", ") + name;
    }
    refuse(*node, key, "is none of " + known);
  }

  std::vector<TableReader> tables(const std::string& key, const std::string& what) {
    const toml::node* node = find(key);
    std::vector<TableReader> all;
    if (node == nullptr) return all;
    const toml::array* array = node->as_array();
    if (array == nullptr) refuse(*node, key, "is no list of tables");
    for (const toml::node& member : *array) {
      const toml::table* table = member.as_table();
      if (table == nullptr) refuse(member, key, "is no list of tables");
      all.emplace_back(*table, file_, what);
    }
    return all;
  }

  /// The tables of a table, with their names.
  std::vector<std::pair<std::string, TableReader>> named_tables(const std::string& key) {
    const toml::node* node = find(key);
    std::vector<std::pair<std::string, TableReader>> all;
    if (node == nullptr) return all;
    const toml::table* table = node->as_table();
    if (table == nullptr) refuse(*node, key, "is no table");
    for (const auto& [name, member] : *table) {
      if (!member.is_table()) refuse(member, std::string(name.str()), "is no table");
      all.emplace_back(std::string(name.str()),
                       TableReader(*member.as_table(), file_, key + "." + std::string(name.str())));
    }
    return all;
  }

  void name(const std::string& what) { what_ = what; }

  [[noreturn]] void refuse_whole(const std::string& problem) const {
    throw InputError(where(table_) + what_ + ": " + problem);
  }

  /// Refuses a key that nothing read.
  void done() const {
    for (const auto& [key, node] : table_) {
      if (known_.count(std::string(key.str())) == 0) {
        throw InputError(where(node) + what_ + ": has an unknown key '" + std::string(key.str()) + "'");
      }
    }
  }

 private:
  const toml::node* find(const std::string& key) {
    known_.insert(key);
    return table_.get(key);
  }

  std::string where(const toml::node& node) const {
    return file_ + ", line " + std::to_string(node.source().begin.line) + ": ";
  }

  [[noreturn]] void refuse(const toml::node& node, const std::string& key, const std::string& problem) const {
    throw InputError(where(node) + what_ + ": '" + key + "' " + problem);
  }

  const toml::table& table_;
  std::string file_, what_;
  std::set<std::string> known_ = {};
};

template <class Choice, std::size_t count>
std::vector<std::pair<std::string, Choice>> by_word(const std::pair<Choice, const char*> (&words)[count]) {
  std::vector<std::pair<std::string, Choice>> choices;
  for (const auto& [one, word] : words) choices.emplace_back(word, one);
  return choices;
}

RowGroup read_group(TableReader& table) {
  RowGroup group;
  group.role = table.choice("role", Role::paper, by_word(role_words));
  group.says = table.needed_text("says");
  group.regime = table.text("regime");
  group.rows.runs = table.texts("run");
  group.rows.table = table.needed_text("table");
  group.rows.where = table.keys("where");
  group.rows.z = table.text("z");
  group.question = table.choice("question", Question::agrees, by_word(question_words));
  group.along = table.text("along");
  group.from = table.number("from");
  group.to = table.number("to");
  if (const std::string value = table.text("value"); !value.empty()) group.value = value;
  group.error = table.text("error");
  if (group.value == "simulation" && group.error.empty()) group.error = "standard_error";
  group.less = table.keys("less");
  group.over = table.keys("over");
  group.than = table.number("than");
  group.than_rows = table.keys("than_rows");
  group.than_column = table.text("than_column");
  group.than_error = table.text("than_error");
  group.computed = table.flag("computed") || group.value == "theory";
  group.factor = table.number("factor").value_or(1);
  group.tolerance = table.number("tolerance").value_or(0);
  group.thresholds = table.numbers("thresholds");
  if (const auto resolution = table.number("resolution")) group.resolution = *resolution;
  table.done();
  const bool compares = group.question == Question::above || group.question == Question::below;
  const bool is_trend = group.question == Question::rises || group.question == Question::falls;
  const bool pairs = !group.less.empty() || !group.over.empty() || !group.than_rows.empty();
  if (group.rows.runs.empty()) table.refuse_whole("has no 'run'");
  const bool than_values = !group.than_rows.empty() || !group.than_column.empty();
  if (compares && group.than.has_value() == than_values) {
    table.refuse_whole("above and below need 'than', or 'than_rows' or 'than_column'");
  }
  if (group.question == Question::equals && !group.than) table.refuse_whole("equals needs 'than'");
  if (!group.thresholds.empty() && !(compares && group.than)) table.refuse_whole("'thresholds' need 'than'");
  if (!(group.resolution > 0)) table.refuse_whole("needs a 'resolution' above 0");
  if ((is_trend || pairs || group.from || group.to) && group.along.empty()) table.refuse_whole("needs 'along'");
  if (group.question == Question::steady && !(group.factor > 1)) table.refuse_whole("steady needs a 'factor' above 1");
  return group;
}

Claim read_claim(TableReader& table, const std::string& paper) {
  Claim claim;
  claim.id = paper + "/" + table.needed_text("id");
  table.name(claim.id);
  claim.place = table.needed_text("place");
  claim.quote = table.needed_text("quote");
  claim.setting = table.needed_text("setting");
  claim.ours = table.text("ours");
  claim.same_setting = table.flag("same_setting");
  claim.comment = table.text("comment");
  claim.scale = table.choice("scale", Scale::paper, by_word(scale_words));
  claim.not_tried = table.text("not_tried");
  claim.out_of_reach = table.text("out_of_reach");
  claim.formula = table.text("formula");
  claim.headers = table.texts("headers");
  claim.docs = table.text("docs");
  claim.simulator = table.text("simulator");
  for (TableReader& rows : table.tables("rows", claim.id + ", rows")) claim.groups.push_back(read_group(rows));
  for (TableReader& one : table.tables("reply", claim.id + ", reply")) {
    claim.replies.push_back({one.needed_text("author"), one.needed_text("date"), one.needed_text("text")});
    one.done();
  }
  table.done();
  const auto has = [&claim](Role role) {
    return std::any_of(claim.groups.begin(), claim.groups.end(),
                       [role](const RowGroup& group) { return group.role == role; });
  };
  if (!claim.not_tried.empty() && !claim.out_of_reach.empty()) table.refuse_whole("is both not tried and out of reach");
  if (claim.is_tried() && !has(Role::paper) && !has(Role::identity)) {
    table.refuse_whole("has neither a row of the paper nor an identity, nor a reason 'not_tried' or 'out_of_reach'");
  }
  if (!claim.is_tried() && has(Role::paper)) table.refuse_whole("has rows of the paper, and a reason for having none");
  return claim;
}

void read_file(const ClaimsText& file, Registry& registry) {
  const toml::table parsed = [&file] {
    try {
      return toml::parse(file.text, file.name);
    } catch (const toml::parse_error& error) {
      throw InputError(file.name + ", line " + std::to_string(error.source().begin.line) + ": " +
                       one_line(std::string(error.description())));
    }
  }();
  TableReader table(parsed, file.name, "the paper");
  const Paper paper{table.needed_text("paper"),   table.needed_text("arxiv"), table.needed_text("title"),
                    table.needed_text("authors"), table.needed_text("text"),  table.texts("theorems")};
  for (auto& [name, run] : table.named_tables("runs")) {
    Command command{.name = name};
    if (registry.has_command(name)) run.refuse_whole("is there twice");
    command.quick = run.text("quick");
    command.full = run.text("full");
    command.recorded = run.text("recorded");
    command.recorded_again = run.text("recorded_again");
    run.done();
    if (command.quick.empty() && command.full.empty() && command.recorded.empty()) {
      run.refuse_whole("has neither 'quick' nor 'full' nor 'recorded'");
    }
    if (command.recorded.empty() && !command.recorded_again.empty()) {
      run.refuse_whole("has 'recorded_again' and no 'recorded'");
    }
    registry.commands.push_back(std::move(command));
  }
  for (TableReader& one : table.tables("claim", "a claim")) {
    Claim claim = read_claim(one, paper.word);
    claim.paper = registry.papers.size();
    for (const Claim& other : registry.claims) {
      if (other.id == claim.id) one.refuse_whole("is there twice");
    }
    registry.claims.push_back(std::move(claim));
  }
  table.done();
  registry.papers.push_back(paper);
}

}  // namespace

std::vector<ClaimsText> built_in_claims() {
  std::vector<ClaimsText> claims;
  for (const ClaimsText& file : embedded_files()) {
    if (file.name.ends_with(".toml")) claims.push_back(file);
  }
  return claims;
}

std::string recorded_report(const std::string& name) {
  for (const ClaimsText& file : embedded_files()) {
    if (file.name == name) return file.text;
  }
  return read_whole_file(name);
}

Registry read_claims(const std::vector<ClaimsText>& files) {
  Registry registry;
  for (const ClaimsText& file : files) read_file(file, registry);
  for (const Claim& claim : registry.claims) {
    for (const std::string& run : claim.runs()) {
      if (!registry.has_command(run)) throw InputError(claim.id + ": names a run that no file has, '" + run + "'");
    }
  }
  return registry;
}

bool Registry::has_command(std::string_view name) const {
  return std::any_of(commands.begin(), commands.end(), [name](const Command& command) { return command.name == name; });
}

const std::string& line_of(const Command& command, Edition edition) {
  return edition == Edition::full && !command.full.empty() ? command.full : command.quick;
}

const Command& Registry::command(std::string_view name) const {
  for (const Command& command : commands) {
    if (command.name == name) return command;
  }
  throw std::logic_error("no run is named '" + std::string(name) + "'");
}

std::vector<std::string> Claim::runs() const {
  std::vector<std::string> names;
  for (const RowGroup& group : groups) {
    for (const std::string& run : group.rows.runs) {
      if (std::find(names.begin(), names.end(), run) == names.end()) names.push_back(run);
    }
  }
  return names;
}

}  // namespace incontext::examples::verify
