// The GPU's path of apply on the host in its place (tests/simulate/host_gpu): threads of a block and of half a warp are
// coroutines, which run in either order between two meetings.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "apply/matrices.hpp"
#include "incontext/apply/attention.hpp"
#include "incontext/apply/attention_gradient.hpp"
#include "incontext/apply/derivative.hpp"
#include "incontext/apply/rows.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;
using apply::Options;
using simulate::Device;
using simulate::detail::host_gpu;
using simulate::detail::HostGpu;

namespace {

/// Restores the GPU of the other tests.
struct OwnGpu {
  OwnGpu() = default;
  OwnGpu(const OwnGpu&) = delete;
  OwnGpu& operator=(const OwnGpu&) = delete;
  ~OwnGpu() { host_gpu = HostGpu(); }
};

/// Calls visit(options) for all keys, a causal mask and given counts of visible keys.
template <class Visit>
void for_each_mask(std::ptrdiff_t rows, std::ptrdiff_t columns, Visit visit) {
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < rows; ++i) counts.push_back(1 + (i * 37) % columns);
  const apply::Undefined left = apply::Undefined::leave;
  visit(Options{.undefined = left});
  visit(Options{.visibility = Visibility::causal, .undefined = left});
  visit(Options{.visible_counts = counts, .undefined = left});
}

/// The results of work(options) on the GPU are those of one CPU thread, bit by bit, whatever the order of threads.
template <class Work>
void check_bits(Options options, Work work) {
  const OwnGpu own;
  options.device = Device::serial;
  const auto expected = work(options);
  options.device = Device::cuda;
  for (const bool is_backward : {false, true}) {
    host_gpu.is_backward = is_backward;
    CAPTURE(is_backward);
    CHECK(same_bits(work(options), expected));
  }
}

template <class T>
Matrix<T> normals(std::ptrdiff_t rows, std::ptrdiff_t columns, std::uint64_t seed) {
  Matrix<T> matrix(rows, columns, 3);
  Random random(seed);
  matrix.fill_normal(random);
  return matrix;
}

/// Rows with a peak, with masks, with ties, undefined ones, and ones whose powers are below the normal range.
template <class T>
Matrix<T> rows_of_all_kinds(std::ptrdiff_t rows, std::ptrdiff_t columns) {
  auto scores = normals<T>(rows, columns, 5);
  const T infinity = std::numeric_limits<T>::infinity();
  for (std::ptrdiff_t j = 0; j < columns; ++j) {
    scores(1, j) *= T(200);
    if (j % 3 == 1) scores(2, j) = -infinity;
    scores(3, j) = T(j % 4);
    scores(4, j) = -infinity;
  }
  scores(5, columns / 2) = infinity;
  scores(6, columns - 1) = std::numeric_limits<T>::quiet_NaN();
  return scores;
}

template <class Map>
void check_rows(const Map& map) {
  using T = typename Map::value_type;
  for (const std::ptrdiff_t columns : {1, 15, 16, 17, 63, 64, 65, 300}) {
    const std::ptrdiff_t rows = 9;
    const Matrix<T> scores = rows_of_all_kinds<T>(rows, columns), other = normals<T>(rows, columns, 6);
    for_each_mask(rows, columns, [&](const Options& options) {
      CAPTURE(columns, options.visibility == Visibility::causal, options.visible_counts.size());
      Matrix<T> out(rows, columns, 2);
      check_bits(options, [&](const Options& here) {
        apply::weights(map, scores.in(), out.out(), here);
        return out.numbers;
      });
      check_bits(options, [&](const Options& here) {
        apply::jvp(map, scores.in(), other.in(), out.out(), here);
        return out.numbers;
      });
      check_bits(options, [&](const Options& here) {
        apply::vjp(map, scores.in(), other.in(), out.out(), here);
        return out.numbers;
      });
    });
  }
}

template <class Map, class Parameter>
void check_derivative(const Map& map, Parameter parameter) {
  using T = typename Map::value_type;
  const std::ptrdiff_t rows = 9, columns = 130;
  const Matrix<T> scores = normals<T>(rows, columns, 7), other = normals<T>(rows, columns, 8);
  const OwnGpu own;
  for (const std::int64_t numbers : {1 << 20, 3 * 130}) {  // a slot per row, and three slots
    for_each_mask(rows, columns, [&](const Options& options) {
      check_bits(options, [&](const Options& here) {
        host_gpu.working_numbers = numbers;
        return std::vector{apply::derivative(map, parameter, scores.in(), other.in(), here)};
      });
    });
  }
}

/// Layers that are no multiples of a tile, in shared memory and beside it, in slots of several batches.
template <class Work>
void for_each_layer(Work work) {
  struct Shape {
    std::ptrdiff_t q, n, d, dv;
  };
  for (const Shape& s : {Shape{1, 1, 1, 1}, Shape{33, 64, 5, 3}, Shape{70, 131, 35, 66}}) {
    for (const std::size_t shared : {std::size_t{227} << 10, std::size_t{20} << 10}) {
      for_each_mask(s.q, s.n, [&](const Options& options) {
        CAPTURE(s.q, s.n, shared, options.visibility == Visibility::causal, options.visible_counts.size());
        check_bits(options, [&](const Options& here) {
          host_gpu.shared_bytes = shared;
          host_gpu.working_numbers = 1 << 15;
          return work(s.q, s.n, s.d, s.dv, here);
        });
      });
    }
  }
}

template <class Map>
void check_attention(const Map& map) {
  using T = typename Map::value_type;
  for_each_layer([&](std::ptrdiff_t q, std::ptrdiff_t n, std::ptrdiff_t d, std::ptrdiff_t dv, const Options& options) {
    Matrix<T> out(q, dv, 1);
    apply::attend(map, normals<T>(q, d, 1).in(), normals<T>(n, d, 2).in(), normals<T>(n, dv, 3).in(), out.out(),
                  options);
    return out.numbers;
  });
}

template <class Map>
void check_gradient(const Map& map) {
  using T = typename Map::value_type;
  for_each_layer([&](std::ptrdiff_t q, std::ptrdiff_t n, std::ptrdiff_t d, std::ptrdiff_t dv, const Options& options) {
    Matrix<T> to_q(q, d), to_k(n, d), to_v(n, dv);
    const auto sums =
        apply::attention_gradient(map, normals<T>(q, d, 1).in(), normals<T>(n, d, 2).in(), normals<T>(n, dv, 3).in(),
                                  normals<T>(q, dv, 4).in(), {to_q.out(), to_k.out(), to_v.out()}, options);
    std::vector<double> all;
    for (const auto* matrix : {&to_q, &to_k, &to_v}) {
      for (const T number : matrix->numbers) all.push_back(static_cast<double>(number));
    }
    if constexpr (requires { sums.temperature; }) all.push_back(sums.temperature);
    if constexpr (requires { sums.scale; }) all.push_back(sums.scale);
    if constexpr (requires { sums.base; }) all.push_back(sums.base);
    return all;
  });
}

}  // namespace

TEMPLATE_TEST_CASE("sixteen threads give a row of softmax the bits that one gives, and every other map has its own", "",
                   float, double) {
  using T = TestType;
  check_rows(Softmax<T>{T(0.7)});
  check_rows(SSMax<T>{T(0.4), T(0.1)});
  check_rows(SSA<T>{T(1), T(2), T(0.5)});
  check_rows(NormSoftmax<T>{T(0.8)});
  check_rows(LinearAttention<T>{T(2)});
}

TEMPLATE_TEST_CASE("derivatives of a matrix by a parameter have the same bits on a GPU", "", float, double) {
  using T = TestType;
  check_derivative(Softmax<T>{T(0.7)}, parameter::Temperature{});
  check_derivative(SSMax<T>{T(0.4), T(0.1)}, parameter::Scale{});
  check_derivative(SSA<T>{T(1), T(2), T(0.5)}, parameter::Exponent{});
  check_derivative(SSA<T>{T(1), T(2), T(0.5)}, parameter::Base{});
  check_derivative(NormSoftmax<T>{T(0.8)}, parameter::Temperature{});
}

TEMPLATE_TEST_CASE("attention by blocks of threads has the bits of one thread", "", float, double) {
  using T = TestType;
  check_attention(Softmax<T>{T(3)});
  check_attention(SSA<T>{T(1), T(2), T(0.5)});
  check_attention(LinearAttention<T>{T(2)});
  check_attention(RatioScore<Relu, T>{ScoreNormalization::context_length});
  check_attention(NormSoftmax<T>{T(0.8)});
}

TEMPLATE_TEST_CASE("the gradient of attention by blocks of threads has the bits of one thread", "", float, double) {
  using T = TestType;
  check_gradient(Softmax<T>{T(3)});
  check_gradient(SSMax<T>{T(0.4), T(0.1)});
  check_gradient(SSA<T>{T(1), T(2), T(0.5)});
}

TEST_CASE("a thread that reads what its neighbor writes without waiting is found by the order of threads") {
  const OwnGpu own;
  const auto shifted = [](bool waits) {
    std::vector<int> numbers(16, 0), copy(16, 0);
    simulate::detail::for_each_by_half_warps_on_gpu(1, [&](std::int64_t, const simulate::detail::HalfWarp& threads) {
      numbers[static_cast<std::size_t>(threads.lane())] = threads.lane();
      if (waits) threads.sync();
      copy[static_cast<std::size_t>(threads.lane())] = numbers[static_cast<std::size_t>((threads.lane() + 1) % 16)];
    });
    return copy;
  };
  host_gpu.is_backward = false;
  const auto forward = shifted(true), careless = shifted(false);
  host_gpu.is_backward = true;
  CHECK(shifted(true) == forward);
  CHECK(shifted(false) != careless);
}

}  // namespace incontext::testing
