#include "incontext/laws/simplex_layer.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "laws/refusal.hpp"
#include "scoring/maps.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/relative.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace laws;

namespace {

/// n unit vectors with equal inner products, as the rows of a matrix.
Eigen::MatrixXd simplex(Eigen::Index n, double disagreement) {
  Eigen::MatrixXd gram = Eigen::MatrixXd::Constant(n, n, 1 - disagreement);
  gram.diagonal().setOnes();
  return gram.llt().matrixL();
}

/// One layer run literally: scores, rows of weights, weighted means, the residual, and every token to unit norm.
template <class Map>
Eigen::MatrixXd layer(const Map& map, const Eigen::MatrixXd& tokens, double residual) {
  const Eigen::MatrixXd scores = tokens * tokens.transpose();
  Eigen::MatrixXd weights(scores.rows(), scores.cols());
  for (Eigen::Index i = 0; i < scores.rows(); ++i) {
    std::vector<double> row(static_cast<std::size_t>(scores.cols()));
    for (Eigen::Index j = 0; j < scores.cols(); ++j) row[static_cast<std::size_t>(j)] = scores(i, j);
    const auto of_row = weights_of(map, row);
    for (Eigen::Index j = 0; j < scores.cols(); ++j) weights(i, j) = of_row[static_cast<std::size_t>(j)];
  }
  const Eigen::MatrixXd moved = weights * tokens + residual * tokens;
  return moved.rowwise().normalized();
}

/// The largest relative distance of a pair of tokens' 1 - cosine, which is half of their squared distance.
double worst_pair(const Eigen::MatrixXd& tokens, double disagreement) {
  double worst = 0;
  for (Eigen::Index i = 0; i < tokens.rows(); ++i) {
    for (Eigen::Index j = 0; j < i; ++j) {
      worst = std::max(worst, relative((tokens.row(i) - tokens.row(j)).squaredNorm() / 2, disagreement));
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("a layer run literally keeps the simplex and moves it as stated, under any map", "[laws]") {
  const auto judge = [](const auto& map, std::int64_t n, double disagreement, double residual) {
    CAPTURE(n, disagreement, residual);
    Eigen::MatrixXd tokens = simplex(n, disagreement);
    const auto depth = simplex_depth(map, n, disagreement, residual, 3);
    REQUIRE(depth.size() == 4);
    CHECK(depth[0] == disagreement);
    for (std::size_t k = 1; k < depth.size(); ++k) {
      tokens = layer(map, tokens, residual);
      if (depth[k] < 1e-5) break;  // the literal inner products lose their digits in the score
      CAPTURE(k, depth[k]);
      CHECK(worst_pair(tokens, depth[k]) < 1e-9);
      // near misses: one token more, and a residual that is not there
      CHECK_FALSE(worst_pair(tokens, simplex_disagreement(map, n + 1, depth[k - 1], residual)) < 1e-9);
      CHECK_FALSE(worst_pair(tokens, simplex_disagreement(map, n, depth[k - 1], residual + 0.01)) < 1e-9);
    }
  };
  for (const double residual : {0.0, 0.5, 2.0}) {
    for (const double beta : {0.3, 3.0, 9.0}) {
      judge(scoring::Softmax<double>{1 / beta}, 2, 0.4, residual);
      judge(scoring::Softmax<double>{1 / beta}, 24, 0.7, residual);
    }
    judge(scoring::SSMax<double>{1.4286, 0.0}, 64, 0.7, residual);
    judge(scoring::SSA<double>{1.0, 6.0}, 24, 0.9, residual);
  }
  judge(scoring::Softmax<double>{1 / (2 * std::log(200.0))}, 200, 0.7, 0.0);
  judge(scoring::Softmax<double>{0.2}, 6, 1.15, 0.25);  // a negative cosine
}

TEST_CASE("the ratio of the Gram matrix's eigenvalues contracts by one factor per layer", "[laws]") {
  const scoring::Softmax<double> map{0.25};
  for (const std::int64_t n : {2, 10, 1000}) {
    const auto ratio = [&](double delta) {
      return delta / (static_cast<double>(n) * (1 - delta) + delta);  // (1 - rho) / (1 + (n - 1) rho)
    };
    for (const double residual : {0.0, 1.0}) {
      const double delta = 0.8, others = static_cast<double>(n - 1) * std::exp(-4 * delta);
      const double own = 1 / (1 + others), other = std::exp(-4 * delta) / (1 + others);
      const double k = std::pow((own - other + residual) / (1 + residual), 2);
      CAPTURE(n, residual, k);
      CHECK(relative(ratio(simplex_disagreement(map, n, delta, residual)) / ratio(delta), k) < 1e-13);
      CHECK(k < 1);
    }
  }
}

TEST_CASE("tokens stay apart above the critical temperature and become one below it", "[laws]") {
  for (const double n : {1e3, 1e6, 1e12}) {
    const auto after = [&](double gamma) {
      return simplex_disagreement(scoring::SSMax<double>{gamma, 0.0}, static_cast<std::int64_t>(n), 0.5, 0.0);
    };
    CHECK(after(3) > 0.4);   // gamma (1 - rho) = 1.5
    CHECK(after(1) < 0.02);  // 0.5
  }
  // at the critical point itself: e^-g = 1 / n, half of the weight, a quarter of the eigenvalue
  const double half = simplex_disagreement(scoring::SSMax<double>{2.0, 0.0}, 1'000'000'000'000, 0.5, 0.0);
  CHECK(relative(half, 0.25 * 0.5 / (1 - 0.75 * 0.5)) < 1e-11);
  const auto depth = simplex_depth(scoring::SSMax<double>{3.0, 0.0}, 1000, 0.5, 0.0, 40);
  for (std::size_t k = 1; k < depth.size(); ++k) CHECK(depth[k] <= depth[k - 1]);
  CHECK(depth.back() < 1e-100);
  // a residual makes the collapse slow: 1 - k is about 2 / (1 + alpha) per layer
  const auto slow = simplex_depth(scoring::SSMax<double>{3.0, 0.0}, 1000, 0.5, 20.0, 40);
  CHECK(slow.back() > 1e-4);
}

TEST_CASE("limits of simplex layers, digits and other precisions", "[laws]") {
  const scoring::Softmax<double> map{0.5};
  CHECK(simplex_disagreement(map, 7, 0.0, 0.0) == 0);
  CHECK(relative(simplex_disagreement(map, 7, 7.0 / 6, 0.0), 7.0 / 6) < 1e-14);
  CHECK(relative(simplex_disagreement(map, 7, 0.5, 1e15), 0.5) < 1e-14);
  Worst worst;
  for (double n = 2; n < 1e13; n = std::ceil(3.7 * n)) {
    for (const double delta : {1e-200, 1e-9, 0.1, 0.7, 1.0}) {
      for (const double beta : {1e-3, 1.0, 30.0, 500.0}) {
        for (const double residual : {0.0, 0.3}) {
          const auto count = static_cast<std::int64_t>(n);
          const long double exact = simplex_disagreement<long double>(
              scoring::Softmax<long double>{static_cast<long double>(1 / beta)}, count, delta, residual);
          if (!(exact > 1e-290L)) continue;
          worst.add(eps_from(simplex_disagreement(scoring::Softmax<double>{1 / beta}, count, delta, residual), exact,
                             exact * (1 + beta * delta)),
                    "n ", n, ", delta ", delta, ", beta ", beta, ", residual ", residual);
        }
      }
    }
  }
  CHECK(worst <= 16);
  CHECK(relative(simplex_disagreement(scoring::Softmax<float>{0.5F}, 7, 0.5F, 0.25F),
                 simplex_disagreement(map, 7, 0.5, 0.25)) < 1e-6);
}

TEST_CASE("simplex layers refuse what is outside of their domain, by name", "[laws]") {
  const scoring::Softmax<double> map{0.5};
  CHECK(refuses<std::invalid_argument>([&] { simplex_disagreement(map, 1, 0.5, 0.0); }, {"tokens", "1"}));
  CHECK(refuses<std::domain_error>([&] { simplex_disagreement(map, 7, -0.5, 0.0); }, {"disagreement", "-0.5"}));
  CHECK(refuses<std::domain_error>([&] { simplex_disagreement(map, 7, 1.2, 0.0); }, {"disagreement", "1.2"}));
  CHECK(refuses<std::domain_error>([&] { simplex_disagreement<double>(map, 7, NAN, 0.0); }, {"disagreement", "nan"}));
  CHECK(refuses<std::domain_error>([&] { simplex_disagreement(map, 7, 0.5, -1.0); }, {"residual", "-1"}));
  CHECK(refuses<std::domain_error>([] { simplex_disagreement(scoring::Softmax<double>{-1}, 7, 0.5, 0.0); },
                                   {"temperature"}));
  CHECK(refuses<std::invalid_argument>([&] { simplex_depth(map, 7, 0.5, 0.0, -1); }, {"layers", "-1"}));
}

}  // namespace incontext::testing
