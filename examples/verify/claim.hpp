#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the papers claim, and the rows that try it: the vocabulary of the claims' files, which docs/claims.md explains.
namespace incontext::examples::verify {

/// The number of the ledger as a whole, its claims and rules: raised where a released verdict or rule changes.
inline constexpr int ledger_number = 1;

enum class Edition { quick, full };

/// One run of a sibling program. Claims refer to it by name, so that a run that several claims share is run once.
struct Command {
  std::string name;
  std::string quick = {};     ///< the command line; empty: the run takes too long, and is of the full edition alone
  std::string full = {};      ///< of the full edition; empty: as quick
  std::string recorded = {};  ///< a report of an earlier run, which editions without a command line read
  std::string recorded_again = {};  ///< that of the same run with another seed
};

/// The command line of an edition; empty if the run is not part of it.
const std::string& line_of(const Command& command, Edition edition);

/// What rows are to their claim.
enum class Role {
  paper,     ///< the paper's own formula, number, order or trend
  exact,     ///< our result at finite size
  control,   ///< a near miss, to be rejected
  identity,  ///< true by definition: shown, never counted
  addition,  ///< ours, beyond the paper
  premise,   ///< what our model has learned of the law of its training: without it, it refutes nothing
};
/// Whether rows of this role are results of ours, which a run must not reject.
inline constexpr bool is_ours(Role role) {
  return role == Role::exact || role == Role::identity || role == Role::addition;
}
inline constexpr std::pair<Role, const char*> role_words[] = {
    {Role::paper, "paper"},       {Role::exact, "exact"},       {Role::control, "control"},
    {Role::identity, "identity"}, {Role::addition, "addition"}, {Role::premise, "premise"}};

/// What is asked of rows.
enum class Question {
  agrees,  ///< each row's theory agrees with its simulation
  rises,   ///< the last value is above the first, and no step goes down
  falls,
  above,  ///< each value is above another
  below,
  equals,  ///< each value is a number that the paper prints
  steady,  ///< no value differs from the first by more than a factor
};
inline constexpr std::pair<Question, const char*> question_words[] = {
    {Question::agrees, "agrees"}, {Question::rises, "rises"},   {Question::falls, "falls"},  {Question::above, "above"},
    {Question::below, "below"},   {Question::equals, "equals"}, {Question::steady, "steady"}};

/// A cell that a row must have: a text that begins with `value`, or is it where that ends with $, or a number that
/// equals it. Empty: any cell.
struct Key {
  std::string column;
  std::string value;
};

/// Rows of tables whose title begins with `table`, in the reports of the runs.
struct Selection {
  std::vector<std::string> runs = {};
  std::string table;
  std::vector<Key> where = {};
  std::string z = {};  ///< a column with the z of another theory, such as leading_order_z: that theory is on trial
};

/// Rows that say one thing together, and what is asked of them.
struct RowGroup {
  Role role = Role::paper;
  std::string says = {};    ///< what follows where the answer is yes: a sentence
  std::string regime = {};  ///< a regime that the paper states, or that we name; empty: the claim's setting
  Selection rows = {};
  Question question = Question::agrees;
  std::string along = {};               ///< the column that rises and falls sort by, and by which rows are paired
  std::optional<double> from = {};      ///< rows at and beyond this place of `along`
  std::optional<double> to = {};        ///< rows up to this place
  std::string value = "simulation";     ///< the column that is asked about
  std::string error = {};               ///< its standard error; of "simulation" its own
  bool computed = false;                ///< the values are of a formula, although the program draws others
  std::vector<Key> less = {};           ///< rows, paired by `along`, whose value is subtracted
  std::vector<Key> over = {};           ///< rows, paired by `along`, whose value divides
  std::optional<double> than = {};      ///< above and below: a number
  std::vector<Key> than_rows = {};      ///< above and below: rows, paired by `along`
  std::string than_column = {};         ///< above and below: another column, of the same row or of than_rows
  std::string than_error = {};          ///< its standard error
  double factor = 1;                    ///< above, below: multiplies the other value; steady: the largest ratio
  double tolerance = 0;                 ///< equals: half of the last digit that the paper prints
  std::vector<double> thresholds = {};  ///< above and below a number of ours: others, for which the answer is said too
  /// agrees and equals, of the paper: the relative deviation that must have been seen for the answer to be yes.
  double resolution = 0.05;
};

/// Whether a claim is tried at the paper's size, or in less than the paper trained or measured: a smaller model that is
/// trained, a layer that is not, or a model or row built by hand. Or by the paper's own numbers: those that it prints,
/// or one that it prints twice.
enum class Scale { paper, trained, untrained, built, printed, printed_twice };
inline constexpr std::pair<Scale, const char*> scale_words[] = {
    {Scale::paper, "paper"}, {Scale::trained, "trained"}, {Scale::untrained, "untrained"},
    {Scale::built, "built"}, {Scale::printed, "printed"}, {Scale::printed_twice, "printed twice"}};

/// What somebody answers to a verdict, such as an author of the paper.
struct Reply {
  std::string author, date, text;
};

struct Claim {
  std::string id = {};        ///< stable: paper/place
  std::size_t paper = 0;      ///< its place in the registry
  std::string place = {};     ///< in the paper: section, theorem, figure
  std::string quote = {};     ///< the paper's words
  std::string setting = {};   ///< the paper's
  std::string ours = {};      ///< ours, where it differs or is more precise
  bool same_setting = false;  ///< ours only details the paper's
  std::string comment = {};   ///< ours: why the rows try the quotation, who had the result first
  Scale scale = Scale::paper;
  std::string not_tried = {};     ///< why nothing tries it
  std::string out_of_reach = {};  ///< why nothing here can try it
  std::string formula = {};
  std::vector<std::string> headers = {};
  std::string docs = {};       ///< page#section
  std::string simulator = {};  ///< the header of the simulation, if there is one
  std::vector<RowGroup> groups = {};
  std::vector<Reply> replies = {};

  bool is_tried() const { return not_tried.empty() && out_of_reach.empty(); }
  /// The names of the runs that its rows are in, each once, in the order of the rows.
  std::vector<std::string> runs() const;
};

struct Paper {
  std::string word;  ///< of options and of the claims' identities
  std::string arxiv;
  std::string title;
  std::string authors;
  std::string text;                        ///< which text of the paper was read, and what it lacks
  std::vector<std::string> theorems = {};  ///< which of its theorems were read, and in what form
};

/// All claims files together.
struct Registry {
  std::vector<Paper> papers = {};
  std::vector<Command> commands = {};
  std::vector<Claim> claims = {};

  bool has_command(std::string_view name) const;
  const Command& command(std::string_view name) const;
};

/// The word of a claims file or a report for one of several choices.
template <class Choice, std::size_t count>
std::string word_in(const std::pair<Choice, const char*> (&words)[count], Choice choice) {
  for (const auto& [one, word] : words) {
    if (one == choice) return word;
  }
  return "";
}
inline std::string word_of(Role role) { return word_in(role_words, role); }
inline std::string word_of(Question question) { return word_in(question_words, question); }

}  // namespace incontext::examples::verify
