#pragma once

#include <Eigen/Core>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "examples/support/csv.hpp"

/// A user's data set: named columns of finite numbers, from a .csv or an .npy file.
namespace incontext::examples {

/// A file that is opened once; its columns are converted to numbers on request. The columns of an .npy file, or of a
/// CSV file without a header line, are named "1", "2", ...
class DataFile {
 public:
  /// `missing` stands for a missing number, as an empty cell and NA do. An .npy file has neither a header line nor
  /// text, so that Header::absent and `missing` are refused for one.
  explicit DataFile(const std::string& path, Header header = Header::required, std::vector<std::string> missing = {});

  /// Every column but one that numbers the rows.
  const std::vector<std::string>& column_names() const { return column_names_; }

  /// Refuses an option's column that the file does not have.
  void require_column(const std::string& option, const std::string& name) const;

  Eigen::Index rows() const { return csv_ ? static_cast<Eigen::Index>(csv_->rows.size()) : array_.rows(); }

  /// The named columns side by side (rows x columns). A column that is named twice is refused, and so is a missing
  /// number; the message then quotes `ways_out`.
  Eigen::MatrixXd columns(const std::vector<std::string>& names, const WaysOut& ways_out = {});

  /// The same without the rows in which one of these columns has no number.
  Eigen::MatrixXd complete_rows(const std::vector<std::string>& names, const WaysOut& ways_out = {});

  /// Notes for the report, in whole sentences, on cells that were read differently from what the user may expect.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  Eigen::MatrixXd read(const std::vector<std::string>& names, Entries entries, const WaysOut& ways_out);
  Eigen::MatrixXd read_array(const std::vector<std::size_t>& places, Entries entries, const WaysOut& ways_out) const;
  const std::vector<std::string>& all_names() const;  ///< with that of the rows' numbers
  std::string known_columns() const;
  std::vector<std::size_t> places_of(const std::vector<std::string>& names) const;

  std::string path_;
  std::optional<CsvFile> csv_ = {};
  Eigen::MatrixXd array_ = {};
  std::vector<std::string> column_names_ = {};
  std::vector<std::string> notes_ = {};
};

/// A matrix from a file, with the notes for the report.
struct MatrixFile {
  Eigen::MatrixXd values;
  std::vector<std::string> notes = {};
};

/// A whole file as one matrix of finite numbers, for a covariance. A CSV file may have no header line, and
/// blanks between its numbers.
MatrixFile read_matrix(const std::string& path);

/// A matrix of attention scores, one query per row: finite numbers, or -inf where a key is masked. An array of one
/// dimension is one query.
MatrixFile read_scores(const std::string& path);

/// The option under which finite scores are never masks.
inline constexpr const char* no_finite_masks = "--no-finite-masks";

/// Puts -infinity in the place of the finite masks among the keys that a query sees, by the rule of
/// calibration::keep_visible. A score that may be either is refused; `source` says where the row is from.
void hide_finite_masks(std::span<double> row, const std::string& source);

/// Every column shifted to mean 0.
Eigen::MatrixXd centered(const Eigen::MatrixXd& values);

/// Every column shifted to mean 0 and scaled to variance 1 (divided by the number of rows).
Eigen::MatrixXd standardized(const Eigen::MatrixXd& values);

}  // namespace incontext::examples
