#pragma once

#include <incontext/statistics/estimate.hpp>

#include <Eigen/Core>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "examples/support/text.hpp"

/// Results of training as lists of numbers, as the record of a run keeps them.
namespace incontext::examples::train {

/// Writes fields to a list of numbers, or reads them from one in the same order: a type's pass_fields(numbers, value)
/// serves both.
class Numbers {
 public:
  Numbers() : is_written_(true) {}
  explicit Numbers(std::vector<double> list) : list_(std::move(list)) {}

  template <class... Fields>
  void operator()(Fields&... fields) {
    (pass(fields), ...);
  }

  const std::vector<double>& list() const { return list_; }
  bool is_at_end() const { return at_ == list_.size(); }

 private:
  void pass(double& field) {
    if (is_written_) {
      list_.push_back(field);
    } else {
      require(at_ < list_.size());
      field = list_[at_++];
    }
  }

  void pass(std::int64_t& field) {
    auto number = static_cast<double>(field);
    pass(number);
    require(std::abs(number) <= 0x1p53 && number == std::floor(number));
    field = static_cast<std::int64_t>(number);
  }

  void pass(bool& field) {
    double number = field ? 1 : 0;
    pass(number);
    field = number != 0;
  }

  template <class Field>
  void pass(std::vector<Field>& fields) {
    fields.resize(size(std::ssize(fields)));
    for (Field& field : fields) pass(field);
  }

  void pass(Eigen::MatrixXd& matrix) {
    const auto rows = static_cast<Eigen::Index>(size(matrix.rows()));
    const auto columns = static_cast<Eigen::Index>(size(matrix.cols()));
    if (!is_written_) require(rows == 0 || columns <= std::ssize(list_) / rows);
    matrix.resize(rows, columns);
    for (double& entry : matrix.reshaped()) pass(entry);
  }

  void pass(statistics::Estimate& at) { (*this)(at.count, at.mean, at.standard_error, at.non_finite, at.rounding); }

  template <class Field>
  void pass(Field& field) {
    pass_fields(*this, field);
  }

  /// A size, which in a list that is read is at most the list's own.
  std::size_t size(std::int64_t count) {
    pass(count);
    if (!is_written_) require(count >= 0 && count <= std::ssize(list_));
    return static_cast<std::size_t>(count);
  }

  static void require(bool holds) {
    if (!holds) throw InputError("--resume: the results of a training in the record are damaged");
  }

  std::vector<double> list_ = {};
  std::size_t at_ = 0;
  bool is_written_ = false;
};

}  // namespace incontext::examples::train
