#include "incontext/random/wishart.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/special_functions/digamma.hpp>
#include <boost/math/special_functions/trigamma.hpp>
#include <cmath>
#include <cstdint>
#include <vector>

#include "random/law.hpp"
#include "support/catch.hpp"

namespace wishart_test {

using namespace incontext;
using random::bartlett_factor;
using random::LaneStream;

random::WishartStreams streams(std::uint32_t first) { return {random::StreamTag(first), random::StreamTag(first + 1)}; }

namespace {

constexpr int lanes = 64;
constexpr int dimension = 3;
using Matrix3 = Eigen::Matrix3d;

/// Calls visit(B) with the factors of so many trials.
template <class T, class Visit>
void for_each_factor(std::int64_t degrees_of_freedom, std::uint64_t trials, const Visit& visit) {
  std::vector<T> factor(dimension * dimension * lanes, T(0));
  for (std::uint64_t trial = 0; trial < trials; trial += lanes) {
    bartlett_factor<lanes>({81, trial}, streams(10), {dimension, degrees_of_freedom}, factor.data(), lanes);
    for (int lane = 0; lane < lanes; ++lane) {
      Matrix3 b;
      for (int i = 0; i < dimension; ++i) {
        for (int j = 0; j < dimension; ++j) {
          b(i, j) = static_cast<double>(factor[static_cast<std::size_t>((i * dimension + j) * lanes + lane)]);
        }
      }
      visit(b);
    }
  }
}

/// Entrywise mean and standard error of a random matrix.
struct MatrixMean {
  Matrix3 sum = Matrix3::Zero();
  Matrix3 squares = Matrix3::Zero();
  double count = 0;

  void add(const Matrix3& value) {
    sum += value;
    squares += value.cwiseProduct(value);
    count += 1;
  }
  /// The largest |z| of the entries against a theory.
  [[nodiscard]] double worst(const Matrix3& theory) const {
    const Matrix3 mean = sum / count;
    const Matrix3 variance = (squares / count - mean.cwiseProduct(mean)) / count;
    double worst = 0;
    for (int i = 0; i < 9; ++i) {
      worst = testing::worst_of({worst, (mean(i) - theory(i)) / std::sqrt(variance(i))});
    }
    return worst;
  }
};

Matrix3 scale_matrix() {
  Matrix3 scale;
  scale << 2.0, 0.5, -0.3, 0.5, 1.0, 0.2, -0.3, 0.2, 0.7;
  return scale;
}

/// A matrix without symmetry, so that a transpose in the wrong place is detected.
Matrix3 middle_matrix() {
  Matrix3 middle;
  middle << 0.3, -1.1, 0.4, 0.9, 0.6, -0.7, -0.2, 1.3, -0.5;
  return middle;
}

/// E[W A W] for W ~ W_d(n, S), A any matrix (Lemma G.1 of arXiv 2511.01292, there for symmetric A).
Matrix3 expected_sandwich(double n, const Matrix3& s, const Matrix3& a) {
  return n * n * s * a * s + n * s * a.transpose() * s + n * (a * s).trace() * s;
}

}  // namespace

TEMPLATE_TEST_CASE("first and second moments of a Wishart matrix are those of its law", "", float, double) {
  const Matrix3 scale = scale_matrix();
  const Matrix3 root = scale.llt().matrixL();
  const Matrix3 a = middle_matrix();
  for (std::int64_t n : {1, 2, 3, 4, 12}) {
    CAPTURE(n);
    MatrixMean standard, shaped, sandwich, squared;
    for_each_factor<TestType>(n, 1u << 18, [&](const Matrix3& b) {
      const Matrix3 standard_wishart = b * b.transpose();
      const Matrix3 wishart = root * standard_wishart * root.transpose();
      standard.add(standard_wishart);
      shaped.add(wishart);
      sandwich.add(wishart * a * wishart);
      squared.add(standard_wishart * standard_wishart);
    });
    const auto m = static_cast<double>(n);
    const Matrix3 one = Matrix3::Identity();
    CHECK(standard.worst(m * one) <= 5);
    CHECK(shaped.worst(m * scale) <= 5);
    CHECK(sandwich.worst(expected_sandwich(m, scale, a)) <= 5);
    CHECK(squared.worst(m * (m + dimension + 1) * one) <= 5);

    // power: one degree of freedom fewer, the transpose left out, or the trace
    CHECK(standard.worst((m - 1) * one) > 5);
    CHECK(sandwich.worst(expected_sandwich(m - 1, scale, a)) > 5);
    CHECK(sandwich.worst(expected_sandwich(m, scale, a) + m * scale * (a - a.transpose()) * scale) > 5);
    CHECK(sandwich.worst(expected_sandwich(m, scale, a) - m * (a * scale).trace() * scale) > 5);
    CHECK(squared.worst((m - 1) * (m + dimension) * one) > 5);
  }
}

TEST_CASE("quadratic forms of a Wishart matrix and of its inverse are chi-squares") {
  const Eigen::Vector3d direction(1.0, 2.0, -1.0);
  for (std::int64_t n : {2, 3, 7}) {
    CAPTURE(n);
    constexpr int cell_count = 512;
    testing::Cells forms(0, 40, cell_count), traces(0, 80, cell_count), inverses(0, 40, cell_count);
    for_each_factor<double>(n, 1u << 18, [&](const Matrix3& b) {
      forms.add((b.transpose() * direction).squaredNorm() / direction.squaredNorm());
      traces.add(b.squaredNorm());
      if (n >= dimension) {
        const Eigen::Vector3d solved = b.triangularView<Eigen::Lower>().solve(direction);
        inverses.add(direction.squaredNorm() / solved.squaredNorm());
      }
    });
    const auto worst = [](const testing::Cells& cells, double freedom) {
      const boost::math::chi_squared law(freedom);
      const testing::Fit fit = cells.against([&](double x) { return x > 0 ? cdf(law, x) : 0.0; });
      return testing::worst_of({fit.chi_square_z, fit.ks_z});
    };
    const auto m = static_cast<double>(n);
    CHECK(worst(forms, m) <= 5);
    CHECK(worst(forms, m + 0.05) > 5);
    CHECK(worst(traces, m * dimension) <= 5);
    CHECK(worst(traces, m * dimension - 0.1) > 5);
    if (n >= dimension) {
      CHECK(worst(inverses, m - dimension + 1) <= 5);
      CHECK(worst(inverses, m - dimension + 1.05) > 5);
    }
  }
}

TEST_CASE("the determinant of a Wishart matrix is a product of independent chi-squares") {
  for (std::int64_t n : {3, 5, 12}) {
    CAPTURE(n);
    double mean = 0;
    double variance = 0;
    double fourth = 0;
    for (int i = 0; i < dimension; ++i) {
      const double half = static_cast<double>(n - i) / 2;
      mean += boost::math::digamma(half) + std::log(2.0);
      variance += boost::math::trigamma(half);
    }
    double count = 0;
    double sum = 0;
    double squares = 0;
    for_each_factor<double>(n, 1u << 18, [&](const Matrix3& b) {
      const double centered = std::log((b * b.transpose()).determinant()) - mean;
      count += 1;
      sum += centered;
      squares += centered * centered;
      fourth += centered * centered * centered * centered;
    });
    const double spread = std::sqrt((fourth / count - variance * variance) / count);
    CHECK(std::abs(sum) <= 5 * std::sqrt(count * variance));
    CHECK(std::abs(squares / count - variance) <= 5 * spread);
    CHECK(std::abs(squares / count - 1.05 * variance) > 5 * spread);
    CHECK(std::abs(sum / count - 0.02) > 5 * std::sqrt(variance / count));
  }
}

TEST_CASE("with fewer degrees of freedom than dimensions the matrix has that rank") {
  for (std::int64_t n : {1, 2}) {
    double largest_null = 0;
    double least_kept = 1e300;
    for_each_factor<double>(n, 4096, [&](const Matrix3& b) {
      const Eigen::Vector3d values = Eigen::SelfAdjointEigenSolver<Matrix3>(b * b.transpose()).eigenvalues();
      for (int i = 0; i < dimension; ++i) {
        if (i < dimension - n) {
          largest_null = std::max(largest_null, std::abs(values(i)) / values(2));
        } else {
          least_kept = std::min(least_kept, values(i) / values(2));
        }
      }
    });
    CHECK(largest_null <= 1e-14);
    CHECK(least_kept > 1e-12);
  }
}

TEMPLATE_TEST_CASE("the factor's entries are the normals and chi-squares of the streams it names", "", float, double) {
  constexpr int per_block = random::normals_per_block<TestType>;
  constexpr int d = 5;
  constexpr int stride = lanes + 3;
  constexpr auto untouched = TestType(-77);
  for (std::int64_t n : {1, 3, 5, 40}) {
    CAPTURE(n);
    std::vector<TestType> factor(d * d * stride, untouched);
    bartlett_factor<lanes>({82, 128}, streams(20), {d, n}, factor.data(), stride);
    const LaneStream<lanes> below({82, 128}, random::StreamTag(20));
    const LaneStream<lanes> diagonal({82, 128}, random::StreamTag(21));
    int wrong = 0;
    int used = 0;
    for (int i = 0; i < d; ++i) {
      for (int j = 0; j < d; ++j) {
        TestType normal[per_block][lanes];
        double square[lanes];
        if (j < i && j < n) random::normals(below, static_cast<std::uint32_t>(used / per_block), normal);
        if (j == i && j < n) random::chi_square(diagonal, static_cast<std::uint32_t>(i) << 16, n - i, square);
        for (int lane = 0; lane < stride; ++lane) {
          const TestType entry = factor[static_cast<std::size_t>((i * d + j) * stride + lane)];
          const TestType expected = lane >= lanes || j > i || j >= n ? untouched
                                    : j < i                          ? normal[used % per_block][lane]
                                                                     : static_cast<TestType>(std::sqrt(square[lane]));
          wrong += !(entry == expected);
        }
        used += j < i && j < n;
      }
    }
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("a lane's factor does not depend on how many lanes there are", "", float, double) {
  constexpr int d = 4;
  for (std::int64_t n : {2, 4, 30}) {
    std::vector<TestType> together(d * d * lanes, TestType(0));
    bartlett_factor<lanes>({83, 64}, streams(30), {d, n}, together.data(), lanes);
    int different = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      std::vector<TestType> alone(d * d, TestType(0));
      bartlett_factor<1>({83, 64 + static_cast<std::uint64_t>(lane)}, streams(30), {d, n}, alone.data(), 1);
      for (std::size_t entry = 0; entry < d * d; ++entry) {
        different += !(alone[entry] == together[entry * lanes + static_cast<std::size_t>(lane)]);
      }
    }
    CHECK(different == 0);
  }
}

}  // namespace wishart_test
