#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The vocabulary of the registry: what a paper claims, and which rows of which programs are the evidence.
namespace incontext::examples::verify {

enum class Paper { temperature, kernel_descent, scalable_softmax, signed_averaging, normsoftmax };
inline constexpr Paper all_papers[] = {Paper::temperature, Paper::kernel_descent, Paper::scalable_softmax,
                                       Paper::signed_averaging, Paper::normsoftmax};

/// What became of a claim. `refined`: it holds in a regime that `found` states.
enum class Outcome { confirmed, refined, refuted, untested, out_of_reach };
inline constexpr Outcome all_outcomes[] = {Outcome::confirmed, Outcome::refined, Outcome::refuted, Outcome::untested,
                                           Outcome::out_of_reach};

/// One run of a sibling program. Claims refer to it by name, so that a run that several claims share is run once.
struct Command {
  std::string name;
  std::string quick;      ///< the command line; empty: the run takes too long, and is of the full edition alone
  std::string full = {};  ///< of the full edition; empty: as quick
};

enum class Edition { quick, full };

/// The command line of an edition; empty if the run is not part of it.
const std::string& line_of(const Command& command, Edition edition);

/// A cell that a row must have: a text that begins with `value`, or a number that equals it. Empty: any cell.
struct Key {
  std::string column;
  std::string value;
};

/// Rows of tables whose title begins with `table`, in the reports of any of the claim's commands.
struct Rows {
  std::string table;
  std::vector<Key> where = {};
  std::string z = {};  ///< a column with the z of another theory, such as leading_order_z: that theory is the control
};

/// A program's negative controls whose cell in `column` begins with `begin`.
inline Rows control(const std::string& column, const std::string& begin) {
  return {"Negative controls", {{column, begin}}};
}

/// The relations between computed numbers that incontext-scores checks and whose claim begins with `begin`.
inline Rows relation(const std::string& begin) { return {"What theory", {{"claim", begin}}}; }

/// Curves of a table without simulated points: columns against a column.
struct Curves {
  std::string table;
  std::string x;
  std::vector<std::string> columns;
  std::string y = {};  ///< the name of the vertical axis
};

struct Claim {
  std::string id;         ///< stable: paper/place
  Paper paper = {};       ///< set by all_claims
  std::string place;      ///< in the paper: theorem, equation, figure
  std::string statement;  ///< what the paper says, in our words
  std::string found;      ///< what was found; for a refuted or refined claim what holds in its place, and where
  std::string equation = {};
  std::vector<std::string> headers = {};
  std::string docs = {};       ///< page#section
  std::string simulator = {};  ///< the header of the simulation, if there is one
  std::vector<std::string> commands = {};
  std::vector<Rows> evidence = {};  ///< rows that must agree: the paper's formula, or what holds in its place
  /// Rows of the paper's own formula, one of which must be rejected if the claim is to be refuted or refined.
  std::vector<Rows> paper_says = {};
  std::vector<Rows> controls = {};  ///< plausible wrong formulas, one of which must be rejected
  Outcome expected = Outcome::confirmed;
  std::string reason = {};  ///< why it is untested or out of reach
  Curves curves = {};       ///< drawn where the evidence has no numbers to draw over
};

/// Every claim, in the order of the report.
const std::vector<Claim>& all_claims();

/// Every run that a claim refers to.
const std::vector<Command>& all_commands();

const Command& command_named(std::string_view name);

/// The claim in an edition: untested where that leaves out a run that the claim needs.
Claim in_edition(Claim claim, Edition edition);

std::string arxiv_number(Paper paper);
std::string title_of(Paper paper);

/// The word of options and reports.
std::string word_of(Paper paper);
std::string word_of(Outcome outcome);

std::vector<Claim> temperature_claims();
std::vector<Claim> kernel_descent_claims();
std::vector<Claim> scalable_softmax_claims();
std::vector<Claim> signed_averaging_claims();
std::vector<Claim> normsoftmax_claims();

}  // namespace incontext::examples::verify
