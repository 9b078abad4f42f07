#include "incontext/classification/cell_ratios.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "classification/sphere.hpp"
#include "incontext/classification/circle_cells.hpp"
#include "incontext/classification/context_descent.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

Vector<double> on_circle(double angle) { return Eigen::Vector2d(std::cos(angle), std::sin(angle)); }

double z(const Estimated& estimate, double truth) { return (estimate.value - truth) / estimate.standard_error; }

Vector<double> drawn(SpherePoints& points) {
  const auto u = points.draw();
  return Eigen::Map<const Eigen::VectorXd>(u.data(), static_cast<Eigen::Index>(u.size()));
}

Matrix<double> prototypes_of(SpherePoints& points, Eigen::Index k, Eigen::Index d) {
  Matrix<double> prototypes(k, d);
  for (Eigen::Index c = 0; c < k; ++c) prototypes.row(c) = drawn(points).transpose();
  return prototypes;
}

}  // namespace

TEST_CASE("points about a query have von Mises and Fisher's cosine, and no preferred direction across",
          "[classification]") {
  // |z| <= 5 in all of 36 comparisons rejects a true law in one of 50 thousand test runs
  for (const int d : {2, 3, 5}) {
    SpherePoints points(d, 85);
    const Vector<double> query = drawn(points);
    Vector<double> across = drawn(points);
    across -= across.dot(query) * query;
    across.normalize();
    for (const double kappa : {0.3, 3.0, 50.0}) {
      const classification::detail::AboutQuery about(query, kappa);
      SampleMean cosine, square, side, side_square;
      Vector<double> point(d);
      for (std::uint64_t i = 0; i < 40'000; ++i) {
        about.draw(random::LaneStream<1>({5, i}, random::StreamTag(0)), point);
        cosine.add(point.dot(query));
        square.add(std::pow(point.dot(query), 2));
        side.add(point.dot(across));
        side_square.add(std::pow(point.dot(across), 2));
      }
      // E cos = rho, and by integration by parts E sin^2 = (d - 1) rho / kappa, which d - 1 directions share equally
      const double rho = mean_resultant_length(d, kappa);
      INFO("d = " << d << ", kappa = " << kappa << ", mean cosine " << cosine.mean() << ", rho " << rho);
      CHECK(std::abs(point.norm() - 1) <= 1e-14);
      CHECK(std::abs(cosine.z(rho)) <= 5);
      CHECK(std::abs(square.z(1 - (d - 1) * rho / kappa)) <= 5);
      CHECK(std::abs(side.z(0)) <= 5);
      CHECK(std::abs(side_square.z(rho / kappa)) <= 5);
      CHECK_FALSE(std::abs(cosine.z(mean_resultant_length(d, 1.1 * kappa + 0.1))) <= 5);
    }
  }
}

TEST_CASE("by default, cells are counted about the query once the kernel's excess is above 2", "[classification]") {
  SpherePoints points(3, 86);
  const auto prototypes = prototypes_of(points, 3, 3);
  const Vector<double> query = drawn(points);
  const auto density = [&](double kappa, CellDraws kind) {
    return cell_ratios(prototypes, query, kappa, 500, 1, kind).density[0].value;
  };
  for (const double kappa : {2.95, 3.02}) {  // kappa coth kappa - 1 = 1.966 and 2.034
    CHECK((partition_function_excess(3, kappa) > 2) == (kappa > 3));
    const double uniform = density(kappa, CellDraws::uniform), about = density(kappa, CellDraws::about_query);
    CHECK(uniform != about);
    CHECK(density(kappa, CellDraws::automatic) == (kappa > 3 ? about : uniform));
  }
}

TEST_CASE("drawn cells take points of length 1 to a millionth", "[classification]") {
  SpherePoints points(3, 87);
  const auto prototypes = prototypes_of(points, 2, 3);
  const Vector<double> query = drawn(points);
  for (const double sign : {-1.0, 1.0}) {
    const double inside = 1 + sign * 0.9e-6, outside = 1 + sign * 1.1e-6;
    CHECK_NOTHROW(cell_ratios(prototypes, Vector<double>(inside * query), 1.0, 500));
    CHECK_NOTHROW(cell_ratios(Matrix<double>(inside * prototypes), query, 1.0, 500));
    CHECK(names(message_of([&] { cell_ratios(prototypes, Vector<double>(outside * query), 1.0, 500); }), "query"));
    CHECK(names(message_of([&] { cell_ratios(Matrix<double>(outside * prototypes), query, 1.0, 500); }), "prototype"));
  }
}

TEST_CASE("drawn cells on the circle are the exact ones", "[classification]") {
  const std::vector<double> angles{0.4, 1.1, 2.0, 3.9, 5.1};
  const double query = 0.9;
  Matrix<double> prototypes(5, 2);
  for (Eigen::Index c = 0; c < 5; ++c) prototypes.row(c) = on_circle(angles[static_cast<std::size_t>(c)]).transpose();
  for (const double kappa : {0.5, 3.0, 20.0, 300.0}) {
    const auto exact = circle_cells<double>(angles, query, kappa, 5, 4.0);
    for (const auto kind : {CellDraws::uniform, CellDraws::about_query, CellDraws::automatic}) {
      if (kind == CellDraws::uniform && kappa > 100) continue;
      const auto cells = cell_ratios(prototypes, on_circle(query), kappa, 100'000, 7, kind);
      bool told = false;
      for (std::size_t c = 0; c < 5; ++c) {
        INFO("kappa = " << kappa << ", class " << c << ", kind " << static_cast<int>(kind));
        CHECK(std::abs(z(cells.volume[c], exact.volume[c])) <= 5);
        // no draw about the query was in the cell: then the expected number is below 14, except with probability e^-14
        if (cells.density[c].value == 0) {
          CHECK(std::abs(z(cells.density[c], exact.probability[c] / exact.volume[c])) <= 14);
          continue;
        }
        if (exact.probability[c] * 100'000 < 30) continue;  // too few for a normal law
        CHECK(std::abs(z(cells.density[c], exact.probability[c] / exact.volume[c])) <= 5);
        CHECK(std::abs(z(cells.balanced_weights[c], exact.balanced_weights[c])) <= 5);
        // power: weights that ignore the sizes of the cells, which are the limit for independent points
        told = told || std::abs(z(cells.balanced_weights[c], exact.probability[c])) > 5;
      }
      CHECK(told);
    }
  }
}

TEST_CASE("standard errors of drawn cells are the spread over seeds", "[classification]") {
  SpherePoints points(4, 81);
  const auto prototypes = prototypes_of(points, 3, 4);
  const Vector<double> query = drawn(points);
  for (const auto kind : {CellDraws::uniform, CellDraws::about_query}) {
    // the value and the squared error of weights, densities and mean cosines, one of each per class
    std::vector<SampleMean> values(9), errors(9);
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      const auto cells = cell_ratios(prototypes, query, 3.0, 2000, seed, kind);
      for (std::size_t i = 0; i < 9; ++i) {
        const auto& one = i < 3 ? cells.balanced_weights[i] : i < 6 ? cells.density[i - 3] : cells.mean_cosine[i - 6];
        values[i].add(one.value);
        errors[i].add(one.standard_error * one.standard_error);
      }
    }
    // a standard deviation of 400 normals is known to 3.5%
    for (std::size_t i = 0; i < 9; ++i) CHECK(std::abs(std::sqrt(values[i].variance() / errors[i].mean()) - 1) <= 0.18);
  }
}

TEST_CASE("a class that no draw about the query met has the error of one draw", "[classification]") {
  const std::vector<double> angles{0.0, 2.0};
  Matrix<double> prototypes(2, 2);
  prototypes << on_circle(0.0).transpose(), on_circle(2.0).transpose();
  const double kappa = 5, draws = 64;
  const auto exact = circle_cells<double>(angles, 0.0, kappa, 2, 1.0);
  const double met = exact.probability[1] * draws;
  REQUIRE(met > 0.5);
  REQUIRE(met < 3);
  int unmet = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto cells = cell_ratios(prototypes, on_circle(0.0), kappa, 64, seed, CellDraws::about_query);
    if (cells.density[1].value > 0) continue;
    ++unmet;
    // the truth is as many standard errors away as draws were expected, apart from the volume's own error of 13 %
    const double off = std::abs(z(cells.density[1], exact.probability[1] / exact.volume[1]));
    CHECK(off > 0.4 * met);
    CHECK(off < 1.8 * met);
    for (std::size_t c = 0; c < 2; ++c) {
      const double weight_off = std::abs(z(cells.balanced_weights[c], exact.balanced_weights[c]));
      CHECK(weight_off > 0.3 * met);
      CHECK(weight_off < 3 * met);
    }
  }
  CHECK(unmet > 200 * std::exp(-met) / 2);
}

TEST_CASE("drawn cells are the limit of long class-balanced contexts", "[classification]") {
  const Eigen::Index d = 5, k = 4, n = 4000;
  const double kappa = 4, gain = 5;
  SpherePoints points(static_cast<int>(d), 82);
  const auto prototypes = prototypes_of(points, k, d);
  const Vector<double> query = drawn(points);
  const auto cells = cell_ratios(prototypes, query, kappa, 400'000, 3);
  Eigen::VectorXd limit(k), unbalanced(k), linear(k);
  for (Eigen::Index c = 0; c < k; ++c) {
    const auto at = static_cast<std::size_t>(c);
    limit(c) = gain * cells.balanced_weights[at].value;
    unbalanced(c) = gain * cells.density[at].value * cells.volume[at].value;
    linear(c) = cells.mean_cosine[at].value / static_cast<double>(k);
  }
  const auto softmax = [](const Eigen::VectorXd& logits) {
    return Eigen::VectorXd(logits.array().exp() / logits.array().exp().sum());
  };
  std::vector<SampleMean> adaptive(k), descent(k);
  for (int trial = 0; trial < 40; ++trial) {
    Context<double> context{Matrix<double>(n, d), {}, query, k};
    std::vector<Eigen::Index> count(k);
    while (static_cast<Eigen::Index>(context.labels.size()) < n) {
      const Vector<double> u = drawn(points);
      Eigen::Index label = 0;
      for (Eigen::Index c = 1; c < k; ++c) {
        if ((prototypes.row(c).transpose() - u).norm() < (prototypes.row(label).transpose() - u).norm()) label = c;
      }
      if (count[static_cast<std::size_t>(label)]++ >= n / k) continue;
      context.inputs.row(static_cast<Eigen::Index>(context.labels.size())) = u.transpose();
      context.labels.push_back(label);
    }
    const auto p = adaptive_descent(context, kappa, gain, SelfTerm::none).probabilities;
    const auto w = linear_descent(context, 1.0).logits;
    for (Eigen::Index c = 0; c < k; ++c) {
      adaptive[static_cast<std::size_t>(c)].add(p(c));
      descent[static_cast<std::size_t>(c)].add(w(c));
    }
  }
  // contexts of 4000 points differ from their limit by terms of order v / n, far less than the standard deviation over
  // 40 of them
  double worst_unbalanced = 0;
  for (Eigen::Index c = 0; c < k; ++c) {
    const auto at = static_cast<std::size_t>(c);
    const double drawn_error = gain * cells.balanced_weights[at].standard_error;
    const auto apart = [&](double truth) {
      return (adaptive[at].mean() - truth) / std::hypot(std::sqrt(adaptive[at].variance() / 40), drawn_error);
    };
    CHECK(std::abs(apart(softmax(limit)(c))) <= 5);
    worst_unbalanced = std::max(worst_unbalanced, std::abs(apart(softmax(unbalanced)(c))));
    const double own = cells.mean_cosine[at].standard_error / static_cast<double>(k);
    CHECK(std::abs(descent[at].mean() - linear(c)) <= 5 * std::hypot(std::sqrt(descent[at].variance() / 40), own));
  }
  CHECK(worst_unbalanced > 10);
}

TEST_CASE("drawn cells have the limits of narrow and wide kernels", "[classification]") {
  SpherePoints points(6, 83);
  const auto prototypes = prototypes_of(points, 4, 6);
  const Vector<double> query = prototypes.row(2).transpose();
  const auto flat = cell_ratios(prototypes, query, 0.0);
  for (const auto& weight : flat.balanced_weights) {
    CHECK(std::abs(weight.value - 0.25) <= 1e-15);
    CHECK(weight.standard_error <= 1e-15);
  }
  const auto narrow = cell_ratios(prototypes, query, 1e7, 1000);
  CHECK(narrow.balanced_weights[2].value == 1);
  CHECK(narrow.balanced_weights[0].value == 0);
  CHECK(cell_ratios(prototypes, query, 1e8, 1000).balanced_weights[2].value == 1);
  const auto only = cell_ratios(prototypes.topRows(1), query, 3.0, 1000, 1, CellDraws::about_query);
  for (const auto& one : {only.volume[0], only.density[0], only.balanced_weights[0]}) {
    CHECK(std::abs(one.value - 1) <= 1e-12);
    CHECK(one.standard_error <= 1e-12);
  }
  const auto same = cell_ratios(prototypes, query, 2.0, 5000, 9), again = cell_ratios(prototypes, query, 2.0, 5000, 9);
  CHECK(same.density[1].value == again.density[1].value);
  CHECK(same.density[1].value != cell_ratios(prototypes, query, 2.0, 5000, 10).density[1].value);
}

TEST_CASE("drawn cells refuse what is outside their domain", "[classification]") {
  SpherePoints points(3, 84);
  auto prototypes = prototypes_of(points, 3, 3);
  const Vector<double> query = drawn(points);
  CHECK(names(message_of([&] { cell_ratios(prototypes, query, -1.0); }), "cell_ratios", "kappa", "value = -1"));
  CHECK(names(message_of([&] { cell_ratios(prototypes, query, 2e8); }), "cell_ratios", "kappa is too large",
              "value = 200000000"));
  CHECK(names(message_of([&] { cell_ratios(prototypes, query, 1.0, 40); }), "draws", "value = 40", "at least 48"));
  CHECK(names(message_of([&] { cell_ratios(prototypes, Vector<double>(2 * query), 1.0); }), "query", "value = 2"));
  CHECK(names(message_of([&] { cell_ratios(prototypes, Vector<double>(query.head(2)), 1.0); }), "prototypes.cols()"));
  prototypes.row(1) = prototypes.row(0);
  CHECK(names(message_of([&] { cell_ratios(prototypes, query, 1.0); }), "a cell caught too few draws", "value = 0"));
  CHECK_THROWS_AS(cell_ratios(prototypes, query, 1.0), TooFewDraws);
  prototypes.row(1) *= std::nan("");
  CHECK(names(message_of([&] { cell_ratios(prototypes, query, 1.0); }), "a prototype", "value = nan"));
}

}  // namespace incontext::testing
