#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "classification/oracle.hpp"
#include "incontext/classification/context.hpp"

/// The reference file's small contexts: integers over powers of two, used as given.
namespace incontext::testing {

inline classification::Matrix<double> table(const Json& rows, double unit) {
  classification::Matrix<double> values(rows.size(), rows.at(0).size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < rows[i].size(); ++j) {
      values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = number(rows[i][j]) * unit;
    }
  }
  return values;
}

inline classification::Context<double> tiny_context(const Json& in) {
  const double unit = std::ldexp(1.0, -in.at("shift").get<int>());
  const Json query = Json::array({in.at("x")});
  return {table(in.at("X"), unit), in.at("labels").get<std::vector<std::int64_t>>(), table(query, unit).transpose(),
          in.at("k").get<std::int64_t>()};
}

template <class Derived>
std::vector<double> entries(const Eigen::MatrixBase<Derived>& matrix) {
  std::vector<double> all;
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) all.push_back(matrix(i, j));
  }
  return all;
}

inline void check_prediction(const Json& one, const Json& out, const classification::Prediction<double>& prediction) {
  check_output(one, out.at("logits"), entries(prediction.logits));
  check_output(one, out.at("probs"), entries(prediction.probabilities));
  check_output(one, out.at("loss"),
               std::vector<double>{classification::cross_entropy(prediction, one["in"]["y"].get<int>())});
  check_output(one, out.at("sensitivity"), entries(prediction.sensitivity));
}

}  // namespace incontext::testing
