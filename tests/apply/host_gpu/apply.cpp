// The GPU's path of apply on the host in its place (tests/simulate/host_gpu): threads of a block and of half a warp are
// coroutines, which run in either order between two meetings.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <stdexcept>
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
#include "support/refusal.hpp"

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

enum class Layout { by_rows, by_columns, with_gaps };

/// A copy of a matrix in the GPU's memory. Numbers between its own are 77 and must stay so.
template <class T>
class OnGpu {
 public:
  OnGpu(const Matrix<T>& host, Layout layout) {
    const std::ptrdiff_t rows = host.rows, columns = host.columns;
    const Strides strides = layout == Layout::by_rows      ? Strides{columns + 2, 1}
                            : layout == Layout::by_columns ? Strides{1, rows + 1}
                                                           : Strides{2 * columns + 1, 2};
    memory_.resize(static_cast<std::size_t>((rows + 1) * (2 * columns + 2)));
    std::fill_n(memory_.data(), memory_.size(), T(77));
    view_ = MatrixView<T>(memory_.data(), rows, columns, strides);
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      for (std::ptrdiff_t j = 0; j < columns; ++j) view_(i, j) = host(i, j);
    }
  }
  [[nodiscard]] MatrixView<T> view() { return view_; }
  /// The numbers, row by row, if all others are 77.
  [[nodiscard]] std::vector<T> numbers() const {
    std::vector<T> own;
    for (std::ptrdiff_t i = 0; i < view_.rows; ++i) {
      for (std::ptrdiff_t j = 0; j < view_.columns; ++j) own.push_back(view_(i, j));
    }
    const auto others = std::count(memory_.data(), memory_.data() + memory_.size(), T(77));
    return others + view_.rows * view_.columns == static_cast<std::ptrdiff_t>(memory_.size()) ? own : std::vector<T>();
  }

 private:
  simulate::detail::GpuMemory<T> memory_;
  MatrixView<T> view_;
};

template <class T>
std::vector<T> numbers_of(const Matrix<T>& matrix) {
  std::vector<T> all;
  for (std::ptrdiff_t i = 0; i < matrix.rows; ++i) {
    const std::vector<T> row = matrix.row(i);
    all.insert(all.end(), row.begin(), row.end());
  }
  return all;
}

/// The results of work(options, in, out), which returns numbers beside what it writes, are the same whether its matrices
/// are in the host's memory or in the GPU's, and nothing of those in the GPU's is copied: at most `copied` bytes are.
template <class T, class Work>
void check_places(const std::vector<Matrix<T>>& in, const std::vector<Matrix<T>>& out, Options options,
                  std::size_t copied, Work work) {
  using simulate::detail::host_gpu_record;
  const OwnGpu own;
  int stream = 0;
  options.device = Device::cuda;
  std::vector<MatrixView<const T>> host_in;
  std::vector<MatrixView<T>> host_out;
  std::vector<Matrix<T>> expected = out;
  for (const Matrix<T>& matrix : in) host_in.push_back(matrix.in());
  for (Matrix<T>& matrix : expected) host_out.push_back(matrix.out());
  const std::vector<double> returned = work(options, host_in, host_out);
  options.stream = &stream;
  for (const Layout layout : {Layout::by_rows, Layout::by_columns, Layout::with_gaps}) {
    host_gpu.is_backward = layout != Layout::by_rows;
    CAPTURE(static_cast<int>(layout), options.zero_masked_rows);
    std::vector<OnGpu<T>> there, results;
    std::vector<MatrixView<const T>> views;
    std::vector<MatrixView<T>> written;
    for (const Matrix<T>& matrix : in) there.emplace_back(matrix, layout);
    for (OnGpu<T>& matrix : there) views.push_back(matrix.view());
    for (const Matrix<T>& matrix : out) results.emplace_back(matrix, layout);
    for (OnGpu<T>& matrix : results) written.push_back(matrix.view());
    host_gpu_record = {};
    CHECK(same_bits(work(options, views, written), returned));
    CHECK(host_gpu_record.copied <= copied);
    CHECK(host_gpu_record.streams == std::set<void*>{&stream});
    for (std::size_t k = 0; k < out.size(); ++k) CHECK(same_bits(results[k].numbers(), numbers_of(expected[k])));

    std::vector<Matrix<T>> at_home = out;
    std::vector<MatrixView<T>> home;
    for (Matrix<T>& matrix : at_home) home.push_back(matrix.out());
    CHECK(same_bits(work(options, views, home), returned));
    for (std::size_t k = 0; k < out.size(); ++k) CHECK(same_bits(at_home[k].numbers, expected[k].numbers));
  }
}

/// Calls visit(options, bytes) with what the options let be copied of so many rows: counts to the GPU, marks of undefined
/// rows from it.
template <class Visit>
void for_each_place(std::ptrdiff_t rows, std::ptrdiff_t columns, Visit visit) {
  std::vector<std::int64_t> counts;
  for (std::int64_t i = 0; i < rows; ++i) counts.push_back(i % 3 == 0 ? 0 : 1 + (i * 37) % columns);
  const auto bytes = static_cast<std::size_t>(rows) * sizeof(std::int64_t);
  const apply::Undefined left = apply::Undefined::leave;
  visit(Options{.undefined = left}, std::size_t{0});
  visit(Options{.visibility = Visibility::causal, .undefined = left, .zero_masked_rows = true}, std::size_t{0});
  visit(Options{.visible_counts = counts, .undefined = left, .zero_masked_rows = true}, 2 * bytes);
}

template <class Map>
void check_places_of_rows(const Map& map) {
  using T = typename Map::value_type;
  const std::ptrdiff_t rows = 33, columns = 40;
  const std::vector<Matrix<T>> in{rows_of_all_kinds<T>(rows, columns), normals<T>(rows, columns, 6)};
  const std::vector<Matrix<T>> out{Matrix<T>(rows, columns, 1)};
  for_each_place(rows, columns, [&](const Options& options, std::size_t bytes) {
    const std::vector<double> none;
    check_places(in, out, options, bytes, [&](const Options& here, const auto& from, const auto& to) {
      apply::weights(map, from[0], to[0], here);
      return none;
    });
    check_places(in, out, options, bytes, [&](const Options& here, const auto& from, const auto& to) {
      apply::jvp(map, from[0], from[1], to[0], here);
      return none;
    });
    check_places(in, out, options, bytes, [&](const Options& here, const auto& from, const auto& to) {
      apply::vjp(map, from[0], from[1], to[0], here);
      return none;
    });
    check_places(in, out, options, bytes, [&](const Options& here, const auto& from, const auto& to) {
      apply::vjp_from_weights(map, from[0], from[1], from[1], to[0], here);
      return none;
    });
    const std::size_t terms = static_cast<std::size_t>(rows) * sizeof(double);
    check_places(in, {}, options, bytes + terms, [&](const Options& here, const auto& from, const auto&) {
      return std::vector{static_cast<double>(apply::derivative(map, parameter::Temperature{}, from[0], from[1], here))};
    });
  });
}

template <class Map>
void check_places_of_attention(const Map& map) {
  using T = typename Map::value_type;
  const std::ptrdiff_t q = 33, n = 70, d = 5, dv = 35;
  const std::vector<Matrix<T>> in{normals<T>(q, d, 1), normals<T>(n, d, 2), normals<T>(n, dv, 3), normals<T>(q, dv, 4)};
  for_each_place(q, n, [&](const Options& options, std::size_t bytes) {
    check_places(in, {Matrix<T>(q, dv, 1)}, options, bytes, [&](const Options& here, const auto& from, const auto& to) {
      apply::attend(map, from[0], from[1], from[2], to[0], here);
      return std::vector<double>();
    });
    const std::size_t sums = 2 * static_cast<std::size_t>(q) * sizeof(T);
    check_places(in, {Matrix<T>(q, d, 2), Matrix<T>(n, d, 1), Matrix<T>(n, dv)}, options, bytes + sums,
                 [&](const Options& here, const auto& from, const auto& to) {
                   const auto by =
                       apply::attention_gradient(map, from[0], from[1], from[2], from[3], {to[0], to[1], to[2]}, here);
                   return std::vector{static_cast<double>(by.temperature)};
                 });
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

TEST_CASE("matrices in the GPU's memory are used where they are, in the caller's stream") {
  check_places_of_rows(Softmax<float>{0.7f});
  check_places_of_rows(NormSoftmax<double>{0.8});
  check_places_of_attention(Softmax<float>{3.0f});
}

TEST_CASE("weights and derivatives in the place of an input in the GPU's memory") {
  const OwnGpu own;
  const Matrix<double> scores = normals<double>(37, 70, 5), direction = normals<double>(37, 70, 6);
  const auto check = [&](const auto& map) {
    const Options gpu{.device = Device::cuda};
    Matrix<double> weights(37, 70), derivative(37, 70);
    apply::weights(map, scores.in(), weights.out(), gpu);
    apply::vjp(map, scores.in(), direction.in(), derivative.out(), gpu);
    for (const Layout layout : {Layout::by_rows, Layout::by_columns}) {
      OnGpu<double> z(scores, layout), u(direction, layout);
      apply::vjp(map, z.view(), u.view(), u.view(), gpu);
      CHECK(same_bits(u.numbers(), numbers_of(derivative)));
      apply::weights(map, z.view(), z.view(), gpu);
      CHECK(same_bits(z.numbers(), numbers_of(weights)));
    }
  };
  check(Softmax<double>{0.7});
  check(NormSoftmax<double>{0.8});
}

TEST_CASE("an undefined row in the GPU's memory is named, and so is another GPU's memory") {
  const OwnGpu own;
  host_gpu.count = 2;
  const Softmax<double> map{0.7};
  Matrix<double> scores = normals<double>(9, 20, 5);
  scores(6, 3) = std::numeric_limits<double>::quiet_NaN();
  OnGpu<double> there(scores, Layout::by_rows), out(Matrix<double>(9, 20), Layout::by_rows);
  const auto weigh = [&](int gpu) {
    apply::weights(map, there.view(), out.view(), {.device = Device::cuda, .gpu = gpu});
  };
  CHECK(refuses([&] { weigh(0); }, {"apply::weights", "row", "6"}));
  double sum = 0;
  for (int j = 0; j < 20; ++j) sum += out.view()(0, j);
  CHECK(std::abs(sum - 1) < 1e-14);
  CHECK(refuses<std::invalid_argument>([&] { weigh(1); }, {"scores: in the memory of another GPU", "0", "1"}));
  simulate::detail::use_gpu(0);
  OnGpu<double> layer(scores, Layout::by_rows);
  CHECK(refuses(
      [&] { apply::attend(map, layer.view(), layer.view(), layer.view(), out.view(), {.device = Device::cuda}); },
      {"apply::attend", "query", "0"}));
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
