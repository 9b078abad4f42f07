#include "examples/support/data_table.hpp"

#include <incontext/calibration/visible_scores.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "examples/support/npy.hpp"
#include "examples/support/render.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

constexpr const char* decimal_comma_note = "Numbers have a decimal comma.";

std::string known_names(const std::vector<std::string>& names) {
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  return shown(known, 200);
}

/// Every column of a text file as numbers.
MatrixFile matrix_of(const CsvFile& csv, Entries entries) {
  std::vector<std::size_t> columns(csv.column_names.size() - (csv.row_numbers ? 1 : 0));
  std::iota(columns.begin(), columns.end(), csv.row_numbers ? 1 : 0);
  CsvNumbers read = numeric_columns(csv, columns, entries);
  MatrixFile result{.values = std::move(read.values), .notes = csv.notes};
  if (read.decimal_comma) result.notes.emplace_back(decimal_comma_note);
  return result;
}

[[noreturn]] void refuse_entry(const std::string& path, Eigen::Index row, const std::string& column, double value,
                               const std::string& needs) {
  throw_input_error(path + ": row " + std::to_string(row + 1) + ", column " + column, "entry is not finite",
                    detail::non_finite_word(value), needs);
}

/// Only finite numbers or, in scores, -inf.
void require_entries(const std::string& path, const Eigen::MatrixXd& values, Entries entries) {
  const bool masks = entries == Entries::masked;
  for (Eigen::Index i = 0; i < values.rows(); ++i) {
    for (Eigen::Index j = 0; j < values.cols(); ++j) {
      if (std::isfinite(values(i, j)) || (masks && values(i, j) == -INFINITY)) continue;
      refuse_entry(path, i, std::to_string(j + 1), values(i, j),
                   masks ? "a finite number, or -inf for a mask" : "a finite number");
    }
  }
}

MatrixFile read_any_matrix(const std::string& path, Entries entries, OneDimension vectors) {
  std::string content = read_whole_file(path);
  refuse_zip(path, content);
  if (!is_npy(path, content)) return matrix_of(parse_csv(path, std::move(content), Header::optional), entries);
  MatrixFile result{.values = parse_npy(path, content, vectors)};
  require_entries(path, result.values, entries);
  return result;
}

}  // namespace

DataFile::DataFile(const std::string& path, Header header, std::vector<std::string> missing) : path_(path) {
  std::string content = read_whole_file(path);
  refuse_zip(path, content);
  if (is_npy(path, content)) {
    if (header == Header::absent) throw InputError("--no-header: has no meaning for an .npy file, " + path);
    if (!missing.empty()) throw InputError("--missing: has no meaning for an .npy file, " + path);
    array_ = parse_npy(path, content);
    for (Eigen::Index j = 0; j < array_.cols(); ++j) column_names_.push_back(std::to_string(j + 1));
  } else {
    csv_ = parse_csv(path, std::move(content), header, std::move(missing));
    column_names_.assign(csv_->column_names.begin() + (csv_->row_numbers ? 1 : 0), csv_->column_names.end());
    notes_ = csv_->notes;
  }
}

Eigen::MatrixXd DataFile::columns(const std::vector<std::string>& names, const WaysOut& ways_out) {
  return read(names, Entries::finite, ways_out);
}

Eigen::MatrixXd DataFile::complete_rows(const std::vector<std::string>& names, const WaysOut& ways_out) {
  const Eigen::MatrixXd all = read(names, Entries::missing, ways_out);
  std::vector<Eigen::Index> complete;
  for (Eigen::Index i = 0; i < all.rows(); ++i) {
    if (!all.row(i).hasNaN()) complete.push_back(i);
  }
  if (complete.empty()) throw_input_error(path_, "has no complete row", all.rows(), "a row without a missing number");
  return all(complete, Eigen::all);
}

Eigen::MatrixXd DataFile::read(const std::vector<std::string>& names, Entries entries, const WaysOut& ways_out) {
  const std::vector<std::size_t> places = places_of(names);
  if (!csv_) return read_array(places, entries, ways_out);
  CsvNumbers result = numeric_columns(*csv_, places, entries, ways_out);
  if (result.decimal_comma) notes_.emplace_back(decimal_comma_note);
  return std::move(result.values);
}

Eigen::MatrixXd DataFile::read_array(const std::vector<std::size_t>& places, Entries entries,
                                     const WaysOut& ways_out) const {
  Eigen::MatrixXd values = array_(Eigen::all, places);
  for (Eigen::Index j = 0; j < values.cols(); ++j) {
    for (Eigen::Index i = 0; i < values.rows(); ++i) {
      const bool missing = std::isnan(values(i, j));
      if (std::isfinite(values(i, j)) || (missing && entries == Entries::missing)) continue;
      refuse_entry(path_, i, column_names_[places[static_cast<std::size_t>(j)]], values(i, j),
                   "a finite number" + (missing ? ways_out.missing : ""));
    }
  }
  return values;
}

void DataFile::require_column(const std::string& option, const std::string& name) const {
  const std::vector<std::string>& known = all_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw_input_error(option, "is not a column of " + path_, name, known_columns());
}

const std::vector<std::string>& DataFile::all_names() const { return csv_ ? csv_->column_names : column_names_; }

std::string DataFile::known_columns() const {
  return csv_ ? "one of " + known_names(column_names_) : "1 to " + column_names_.back();
}

std::vector<std::size_t> DataFile::places_of(const std::vector<std::string>& names) const {
  const std::vector<std::string>& known = all_names();
  std::vector<std::size_t> places;
  for (const std::string& name : names) {
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end()) {
      throw_input_error(path_, "has no such column", name, known_columns());
    }
    places.push_back(static_cast<std::size_t>(found - known.begin()));
    if (std::find(places.begin(), places.end() - 1, places.back()) != places.end() - 1) {
      throw_input_error(path_, "column is named twice", name, "different columns");
    }
  }
  return places;
}

MatrixFile read_matrix(const std::string& path) { return read_any_matrix(path, Entries::finite, OneDimension::column); }

MatrixFile read_scores(const std::string& path) { return read_any_matrix(path, Entries::masked, OneDimension::row); }

void hide_finite_masks(std::span<double> row, const std::string& source) {
  std::vector<double> visible(row.begin(), row.end());
  const calibration::VisibleScores kept = calibration::keep_visible(visible);
  const auto refuse = [&](const std::string& problem, double score) {
    throw_input_error(source, problem, score, calibration::instead_of_finite_masks(no_finite_masks));
  };
  if (kept.problem == calibration::RowProblem::between_score_and_mask) {
    refuse("a score is too low for a score and too near to the others for a mask", kept.problem_value);
  }
  const double highest = *std::max_element(row.begin(), row.end());
  if (kept.count == 0 && highest > -INFINITY) refuse("every score is low enough for a mask", highest);
  for (double& score : row) score = score < kept.lowest ? -INFINITY : score;
}

Eigen::MatrixXd centered(const Eigen::MatrixXd& values) { return values.rowwise() - values.colwise().mean(); }

Eigen::MatrixXd standardized(const Eigen::MatrixXd& values) {
  Eigen::MatrixXd result = centered(values);
  for (Eigen::Index j = 0; j < result.cols(); ++j) {
    result.col(j) /= std::sqrt(result.col(j).squaredNorm() / static_cast<double>(result.rows()));
  }
  return result;
}

}  // namespace incontext::examples
