#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/verify/claim.hpp"

/// Rows of the runs' reports, as evidence.
namespace incontext::examples::verify {

/// A judged row is a theory beside a simulation, a control is a wrong theory beside one, and an exact row is a relation
/// between computed numbers, an equality or a bound. A shown row is any other, such as a simulation without a theory:
/// its numbers can be asked about, and it agrees with nothing.
enum class RowKind { judged, control, exact, shown };

struct Row {
  RowKind kind = RowKind::judged;
  std::string command = {};  ///< its name in the registry
  std::string table = {};
  std::string name = {};  ///< what its leading cells say
  std::vector<std::pair<std::string, std::string>> words = {};
  std::vector<std::pair<std::string, double>> numbers = {};
  std::vector<std::pair<std::string, double>> cells = {};  ///< the numbers of all its columns
  double theory = 0;                                       ///< or what a control claims
  double simulation = 0;                                   ///< or, in a row with a relation, what was computed
  double standard_error = 0;
  double tolerance = 0;     ///< the deviation that the theory's own error and rounding explain
  std::int64_t values = 0;  ///< the number of values whose scatter gives the standard error
  bool drawn = false;       ///< the program that reported it draws random numbers
  std::optional<double> bayes = {};
  /// Of computed numbers: =, <=, >= or !=, as in "computed <= theory". Of a simulation that a theory only bounds:
  /// <= or >=.
  std::string relation = {};
  bool holds = false;         ///< of an exact row: whether its relation holds
  bool passed = false;        ///< of a control: the simulation could tell and did not reject it
  bool cannot_tell = false;   ///< of a control: the simulation has not the power to reject it
  std::string unjudged = {};  ///< why it is not judged; empty if it is

  bool is_bound() const { return relation == "<=" || relation == ">="; }
  /// Whether computed numbers are compared, without a simulation.
  bool is_computed() const { return kind == RowKind::exact || (kind == RowKind::control && relation == "!="); }
};

/// The rows of a program's JSON. A row with a further z, of another theory, is followed by a control for it, whose table is
/// the row's and whose name ends with the name of that column.
std::vector<Row> rows_of(const nlohmann::json& report, const std::string& command);

/// A number of a row, NaN if it has none in that column.
double number_of(const Row& row, const std::string& column);

/// Whether the row has the cells.
bool has(const Row& row, const std::vector<Key>& where);

/// That no row of a table has the cells which a claim asks for, in words.
std::string no_row_text(const Selection& rows);

/// Whether the row is in the group's range.
bool is_within(const RowGroup& group, const Row& row);

/// The indices of the rows that `rows` describes: those made from its column z if it names one, else all others.
std::vector<std::size_t> selected(const std::vector<Row>& all, const Selection& rows);

}  // namespace incontext::examples::verify
