#include <Eigen/Dense>
#include <boost/math/differentiation/autodiff.hpp>
#include <unsupported/Eigen/AutoDiff>
#include <vector>

#include "incontext/scoring/heat_schedule.hpp"
#include "incontext/scoring/kernel_attention.hpp"
#include "incontext/scoring/summary.hpp"
#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

// The maps' own templates on scalars that carry derivatives: Eigen's AutoDiffScalar (first order, many variables) and
// Boost's fvar (one variable, here to second order).
namespace incontext::testing {
namespace {

using namespace scoring;

constexpr int n = 5;
using Dual = Eigen::AutoDiffScalar<Eigen::Matrix<double, n, 1>>;
using Taylor = boost::math::differentiation::autodiff_fvar<double, 2>;

/// Distinct scores of both signs, none where a map is not differentiable.
const std::vector<double> z{0.5, -1.25, 1.5, 0.25, -0.5};
const std::vector<double> u{1, -0.5, 0.25, 2, -1.5};

template <class T, class ForEach, class ForEachDouble, class Check>
void pairwise(ForEach for_each, ForEachDouble for_each_double, Check check) {
  int position = 0;
  for_each([&](auto map, const Facts& facts) {
    int other = 0;
    for_each_double([&](auto plain, const Facts&) {
      if constexpr (requires { check(map, plain, facts); }) {
        if (other == position) check(map, plain, facts);
      }
      ++other;
    });
    ++position;
  });
}

/// The Jacobian by columns, from the derivatives that the scalars carry.
template <class Map>
std::vector<double> derivatives_of(const Map& map) {
  std::vector<Dual> scores;
  for (int i = 0; i < n; ++i) scores.emplace_back(z[static_cast<std::size_t>(i)], n, i);
  const auto a = weights_of(map, scores);
  std::vector<double> all;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) all.push_back(a[static_cast<std::size_t>(i)].derivatives()[j]);
  }
  return all;
}

template <class Map>
std::vector<double> jacobian_of(const Map& map) {
  std::vector<double> all(n * n);
  jacobian(map, z, MatrixView<double>(all.data(), n, n));
  return all;
}

struct CheckDual {
  template <template <class> class Map>
  void operator()(const Map<Dual>& dual, const Map<double>& plain, const Facts& facts) const {
    INFO(facts.name);
    CHECK(distance(derivatives_of(dual), jacobian_of(plain)) < 1e-13 * (1 + largest_size(jacobian_of(plain))));
  }
  template <class Function>
  void operator()(const RatioScore<Function, Dual>& dual, const RatioScore<Function, double>& plain,
                  const Facts& facts) const {
    INFO(facts.name);
    CHECK(distance(derivatives_of(dual), jacobian_of(plain)) < 1e-12 * (1 + largest_size(jacobian_of(plain))));
  }
};

}  // namespace

TEST_CASE("on Eigen's AutoDiffScalar every map carries the Jacobian that jvp computes", "[scoring]") {
  int checked = 0;
  pairwise<Dual>(
      [](auto visit) { for_each_smooth_map<Dual>(visit); }, [](auto visit) { for_each_smooth_map<double>(visit); },
      [&](const auto& dual, const auto& plain, const Facts& facts) -> decltype(CheckDual{}(dual, plain, facts)) {
        CheckDual{}(dual, plain, facts);
        ++checked;
      });
  CHECK(checked == 36);
  CHECK(distance(derivatives_of(SSA<Dual>{}), jacobian_of(SSA<double>{1, 1.5001})) > 1e-6);
}

TEST_CASE("parameters may be AutoDiffScalars too", "[scoring]") {
  using Single = Eigen::AutoDiffScalar<Eigen::Matrix<double, 1, 1>>;
  const std::vector<Single> scores = converted<Single>(z);
  const auto check = [&](auto map, const auto& plain, auto name) {
    name.of(map).derivatives()[0] = 1;
    const auto a = weights_of(map, scores);
    std::vector<double> rate;
    for (const Single& x : a) rate.push_back(x.derivatives()[0]);
    CHECK(distance(rate, derivative_of(plain, name, z)) < 1e-13);
  };
  const auto zero = [](double value) { return Single(value, Eigen::Matrix<double, 1, 1>::Zero()); };
  check(Softmax<Single>{zero(0.75)}, Softmax<double>{0.75}, parameter::Temperature{});
  check(SSMax<Single>{zero(0.5), zero(0.25)}, SSMax<double>{0.5, 0.25}, parameter::Scale{});
  check(SSMax<Single>{zero(0.5), zero(0.25)}, SSMax<double>{0.5, 0.25}, parameter::Bias{});
  check(SSA<Single>{zero(0.5), zero(2), zero(1)}, SSA<double>{0.5, 2, 1}, parameter::Base{});
  check(SSA<Single>{zero(0.5), zero(2), zero(1)}, SSA<double>{0.5, 2, 1}, parameter::Exponent{});
  check(SSA<Single>{zero(0.5), zero(2), zero(1)}, SSA<double>{0.5, 2, 1}, parameter::Temperature{});
  check(Entmax<Single>{zero(1.25)}, Entmax<double>{1.25}, parameter::Alpha{});
  check(ApproximateSoftmax<Single>{zero(2)}, ApproximateSoftmax<double>{2}, parameter::Temperature{});
}

TEST_CASE("on Boost's fvar a direction gives the first and the second derivative", "[scoring]") {
  const Taylor t = boost::math::differentiation::make_fvar<double, 2>(0.0);
  std::vector<Taylor> scores;
  for (std::size_t i = 0; i < z.size(); ++i) scores.push_back(z[i] + u[i] * t);
  const auto check = [&](const auto& taylor, const auto& plain) {
    const auto a = weights_of(taylor, scores);
    std::vector<double> value, first, second, expected(z.size());
    for (const Taylor& x : a) {
      value.push_back(x.derivative(0));
      first.push_back(x.derivative(1));
      second.push_back(x.derivative(2));
    }
    CHECK(distance(value, weights_of(plain, z)) < 1e-14);
    CHECK(distance(first, jvp_of(plain, z, u)) < 1e-13);
    if constexpr (SoftmaxLike<std::decay_t<decltype(plain)>>) {
      second_derivative(plain, z, u, u, expected);
      CHECK(distance(second, expected) < 1e-13);
    }
  };
  check(Softmax<Taylor>{Taylor(0.75)}, Softmax<double>{0.75});
  check(SSMax<Taylor>{Taylor(0.5), Taylor(0.25)}, SSMax<double>{0.5, 0.25});
  check(SSA<Taylor>{Taylor(0.5), Taylor(2)}, SSA<double>{0.5, 2});
  check(ApproximateSoftmax<Taylor>{}, ApproximateSoftmax<double>{});
  check(LinearAttention<Taylor>{}, LinearAttention<double>{});
  check(NormSoftmax<Taylor>{Taylor(8)}, NormSoftmax<double>{8});
  check(SaSoftmax<Taylor>{}, SaSoftmax<double>{});
  check(NormalizedSaSoftmax<Taylor>{}, NormalizedSaSoftmax<double>{});
  check(Entmax<Taylor>{Taylor(1.25)}, Entmax<double>{1.25});
  check(Sparsemax<Taylor>{}, Sparsemax<double>{});
  check(Hardmax<Taylor>{}, Hardmax<double>{});
  check(RatioScore<Tanh, Taylor>{}, RatioScore<Tanh>{});
  check(RatioScore<Square, Taylor>{ScoreNormalization::sum}, RatioScore<Square>{ScoreNormalization::sum});
}

TEST_CASE("kernel attention on AutoDiffScalars carries the derivatives of its jvp", "[scoring]") {
  using Single = Eigen::AutoDiffScalar<Eigen::Matrix<double, 1, 1>>;
  const std::vector<double> q{0.5, -0.25}, k{1, 0.5, -1, 0.25, 0.75, -2}, dq{1, 2}, dk{-1, 0.5, 0, 1, 2, -1};
  const auto moving = [](const std::vector<double>& at, const std::vector<double>& along) {
    std::vector<Single> row;
    for (std::size_t i = 0; i < at.size(); ++i) row.emplace_back(at[i], Eigen::Matrix<double, 1, 1>(along[i]));
    return row;
  };
  const auto query = moving(q, dq), keys = moving(k, dk);
  const auto check = [&](const auto& dual, const auto& plain) {
    std::vector<Single> a(3);
    std::vector<double> change(3), carried;
    weights(dual, query, MatrixView<const Single>(keys.data(), 3, 2), a, 1);
    jvp(plain, q, MatrixView<const double>(k.data(), 3, 2), dq, MatrixView<const double>(dk.data(), 3, 2), change, 1);
    for (const Single& x : a) carried.push_back(x.derivatives()[0]);
    CHECK(distance(carried, change) < 1e-14 * (1 + largest_size(change)));
  };
  check(KernelAttention<GaussianKernel<Single>>{{Single(2)}}, KernelAttention<GaussianKernel<double>>{{2}});
  check(KernelAttention<EluKernel<Single>>{}, KernelAttention<EluKernel<double>>{});
  check(KernelAttention<PolynomialKernel<Single>>{{2, Single(1), Single(1)}},
        KernelAttention<PolynomialKernel<double>>{{2, 1, 1}});
  check(cosformer(Single(3)), cosformer(3.0));
}

TEST_CASE("summaries and schedules evaluate on scalars that carry derivatives", "[scoring]") {
  const Taylor tau = boost::math::differentiation::make_fvar<double, 2>(0.75);
  const auto scores = converted<Taylor>(z);
  const Taylor lse = summary(Softmax<Taylor>{tau}, view(scores)).log_sum_exp;
  const auto p = weights_of(Softmax<double>{0.75}, z);
  CHECK(std::abs(lse.derivative(1) + product(p, z) / (0.75 * 0.75)) < 1e-14);  // d lse / d tau = -p.z / tau^2
  const HeatSchedule<Taylor> schedule{tau, Taylor(8), 10};
  CHECK(schedule.temperature(0).derivative(1) == 1);
}

}  // namespace incontext::testing
