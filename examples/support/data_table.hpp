#pragma once

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/csv.hpp"

/// A user's data set: named columns of finite numbers, from a .csv or an .npy file.
namespace incontext::examples {

/// Opened once; columns are turned into numbers when asked for. The columns of an .npy file are named "0", "1", ...
class DataFile {
 public:
  explicit DataFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<std::string>& column_names() const { return column_names_; }

  /// The named columns side by side (rows x columns); a column asked for twice is refused.
  Eigen::MatrixXd columns(const std::vector<std::string>& names) const;

  Eigen::Index rows() const { return csv_ ? static_cast<Eigen::Index>(csv_->rows.size()) : array_.rows(); }

 private:
  Eigen::VectorXd column(const std::string& name) const;

  std::string path_;
  std::optional<CsvFile> csv_;
  Eigen::MatrixXd array_;
  std::vector<std::string> column_names_;
};

/// A whole file as one matrix of finite numbers, for a covariance or a matrix of scores.
Eigen::MatrixXd read_matrix(const std::string& path);

/// Every column shifted to mean 0.
Eigen::MatrixXd centred(const Eigen::MatrixXd& values);

/// Every column shifted to mean 0 and scaled to variance 1 (divided by the number of rows).
Eigen::MatrixXd standardised(const Eigen::MatrixXd& values);

}  // namespace incontext::examples
