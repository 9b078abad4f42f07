#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "incontext/apply/options.hpp"
#include "incontext/scoring/row.hpp"
#include "incontext/simulate/engine/device.hpp"
#include "scoring/rows.hpp"

/// Matrices with gaps between their rows, and the systems that this build has.
namespace incontext::testing {

/// A matrix of rows x columns numbers, whose rows are `gap` numbers apart. The numbers in the gaps are 77 and must stay
/// so.
template <class T>
struct Matrix {
  std::ptrdiff_t rows, columns, stride;
  std::vector<T> numbers;

  Matrix(std::ptrdiff_t row_count, std::ptrdiff_t column_count, std::ptrdiff_t gap = 0)
      : rows(row_count),
        columns(column_count),
        stride(column_count + gap),
        numbers(static_cast<std::size_t>(rows * stride), T(77)) {}

  T& operator()(std::ptrdiff_t i, std::ptrdiff_t j) { return numbers[static_cast<std::size_t>(i * stride + j)]; }
  T operator()(std::ptrdiff_t i, std::ptrdiff_t j) const { return numbers[static_cast<std::size_t>(i * stride + j)]; }
  [[nodiscard]] scoring::MatrixView<const T> in() const {
    return {numbers.data(), rows, columns, scoring::Strides{stride}};
  }
  scoring::MatrixView<T> out() { return {numbers.data(), rows, columns, scoring::Strides{stride}}; }
  void fill_normal(Random& random, double stddev = 1) {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      for (std::ptrdiff_t j = 0; j < columns; ++j) (*this)(i, j) = static_cast<T>(stddev * random.normal());
    }
  }
  [[nodiscard]] std::vector<T> row(std::ptrdiff_t i) const {
    return {numbers.begin() + i * stride, numbers.begin() + i * stride + columns};
  }
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// Calls visit(options) for every device of this build and one, two and three threads.
template <class Visit>
void for_each_system(apply::Options options, Visit visit) {
  using simulate::Device;
  for (const Device device : {Device::serial, Device::openmp, Device::tbb, Device::cuda}) {
    if (!simulate::is_available(device)) continue;
    for (const int threads : {1, 2, 3}) {
      options.device = device;
      options.threads = threads;
      visit(options);
      if (device == Device::serial || device == Device::cuda) break;
    }
  }
}

}  // namespace incontext::testing
