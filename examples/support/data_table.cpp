#include "examples/support/data_table.hpp"

#include <algorithm>
#include <cmath>

#include "examples/support/npy.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples {

DataFile::DataFile(const std::string& path) : path_(path) {
  const std::string content = read_whole_file(path);
  if (content.substr(0, 6) == "\x93NUMPY" || path.ends_with(".npy")) {
    array_ = parse_npy(path, content);
    for (Eigen::Index j = 0; j < array_.cols(); ++j) column_names_.push_back(std::to_string(j));
  } else {
    csv_ = parse_csv(path, content);
    column_names_ = csv_->column_names;
  }
}

Eigen::MatrixXd DataFile::columns(const std::vector<std::string>& names) const {
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

Eigen::VectorXd DataFile::column(const std::string& name) const {
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

Eigen::MatrixXd read_matrix(const std::string& path) {
  const DataFile data(path);
  return data.columns(data.column_names());
}

Eigen::MatrixXd centred(const Eigen::MatrixXd& values) { return values.rowwise() - values.colwise().mean(); }

Eigen::MatrixXd standardised(const Eigen::MatrixXd& values) {
  Eigen::MatrixXd result = centred(values);
  for (Eigen::Index j = 0; j < result.cols(); ++j) {
    result.col(j) /= std::sqrt(result.col(j).squaredNorm() / static_cast<double>(result.rows()));
  }
  return result;
}

}  // namespace incontext::examples
