#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/csv.hpp"
#include "examples/support/npy.hpp"

/// A user's data set: named columns of finite numbers, from a .csv or an .npy file.
namespace incontext::examples {

/// Opened once; columns are turned into numbers when asked for. The columns of an .npy file are named "0", "1", ...
class DataFile {
 public:
  explicit DataFile(const std::string& path) : path_(path) {
    const std::string content = read_whole_file(path);
    if (content.substr(0, 6) == "\x93NUMPY" || path.ends_with(".npy")) {
      array_ = parse_npy(path, content);
      for (Eigen::Index j = 0; j < array_.cols(); ++j) column_names_.push_back(std::to_string(j));
    } else {
      csv_ = parse_csv(path, content);
      column_names_ = csv_->column_names;
    }
  }

  const std::string& path() const { return path_; }
  const std::vector<std::string>& column_names() const { return column_names_; }

  /// The named columns side by side (rows x columns); a column asked for twice is refused.
  Eigen::MatrixXd columns(const std::vector<std::string>& names) const {
    Eigen::MatrixXd values(rows(), static_cast<Eigen::Index>(names.size()));
    for (std::size_t j = 0; j < names.size(); ++j) {
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(j), names[j]) !=
          names.begin() + static_cast<std::ptrdiff_t>(j)) {
        throw_input_error(path_, "column is asked for twice", names[j], "different columns");
      }
      values.col(static_cast<Eigen::Index>(j)) = column(names[j]);
    }
    return values;
  }

  Eigen::Index rows() const { return csv_ ? static_cast<Eigen::Index>(csv_->rows.size()) : array_.rows(); }

 private:
  Eigen::VectorXd column(const std::string& name) const {
    if (csv_) {
      const std::vector<double> values = numeric_column(*csv_, name);
      return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
    }
    const auto found = std::find(column_names_.begin(), column_names_.end(), name);
    if (found == column_names_.end()) {
      throw_input_error(path_, "has no such column", name, "0 to " + column_names_.back());
    }
    const Eigen::Index j = found - column_names_.begin();
    for (Eigen::Index i = 0; i < array_.rows(); ++i) {
      if (!std::isfinite(array_(i, j))) {
        throw_input_error(path_ + ": row " + std::to_string(i) + " (from 0), column " + name, "entry is not finite",
                          array_(i, j), "a finite number");
      }
    }
    return array_.col(j);
  }

  std::string path_;
  std::optional<CsvFile> csv_;
  Eigen::MatrixXd array_;
  std::vector<std::string> column_names_;
};

/// A whole file as one matrix of finite numbers, for a covariance or a matrix of scores.
inline Eigen::MatrixXd read_matrix(const std::string& path) {
  const DataFile data(path);
  return data.columns(data.column_names());
}

/// Every column shifted to mean 0.
inline Eigen::MatrixXd centred(const Eigen::MatrixXd& values) { return values.rowwise() - values.colwise().mean(); }

/// Every column shifted to mean 0 and scaled to variance 1 (divided by the number of rows).
inline Eigen::MatrixXd standardised(const Eigen::MatrixXd& values) {
  Eigen::MatrixXd result = centred(values);
  for (Eigen::Index j = 0; j < result.cols(); ++j) {
    result.col(j) /= std::sqrt(result.col(j).squaredNorm() / static_cast<double>(result.rows()));
  }
  return result;
}

}  // namespace incontext::examples
