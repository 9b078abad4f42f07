#pragma once

#include <Eigen/Core>
#include <cstdint>

#include "incontext/core/real.hpp"
#include "incontext/numerics/linear_algebra.hpp"

namespace incontext::baselines::detail {

/// The map x -> x - M x + f applied `count` times, by repeated squaring. It is kept as what it takes and adds, so that
/// changes far below 1 keep their digits.
template <Real T, int size>
class AffinePower {
 public:
  using Matrix = Eigen::Matrix<T, size, size>;
  using Vector = Eigen::Matrix<T, size, 1>;

  AffinePower(Matrix lost, Vector gained, std::int64_t count) {
    for (; count > 0; count /= 2) {
      if (count % 2 == 1) follow(lost, gained);
      const Vector twice = gained + gained - lost * gained;
      lost = (lost + lost - lost * lost).eval();
      gained = twice;
    }
  }

  Vector operator()(const Vector& x) const { return x - lost_ * x + gained_; }

 private:
  void follow(const Matrix& lost, const Vector& gained) {
    gained_ = (gained_ + gained - lost * gained_).eval();
    lost_ = (lost_ + lost - lost * lost_).eval();
  }

  Matrix lost_ = Matrix::Zero();
  Vector gained_ = Vector::Zero();
};

}  // namespace incontext::baselines::detail
