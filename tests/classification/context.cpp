#include "incontext/classification/context.hpp"

#include <cmath>

#include "classification/drawn_context.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace incontext::testing {

using namespace classification;

TEST_CASE("a prediction's parts are their definitions", "[classification]") {
  ContextDraws draws(11);
  for (const Eigen::Index k : {2, 5}) {
    const Vector<double> z = 4 * draws.matrix(k, 1);
    const Matrix<double> derivative = draws.matrix(k, 3);
    const auto p = predict<double>(z, derivative);
    const Vector<double> exact = z.array().exp() / z.array().exp().sum();
    CHECK(distance(p.probabilities, exact) <= 1e-15);
    const Matrix<double> jacobian = Matrix<double>(exact.asDiagonal()) - exact * exact.transpose();
    CHECK(distance(p.sensitivity, jacobian * derivative) <= 1e-14);
    CHECK(distance(p.sensitivity, exact.asDiagonal() * derivative) > 1e-3);
    double sum = 0;
    for (Eigen::Index c = 0; c < k; ++c) {
      CHECK(std::abs(cross_entropy(p, c) + std::log(exact(c))) <= 1e-14);
      sum -= exact(c) * std::log(exact(c));
    }
    CHECK(std::abs(entropy(p) - sum) <= 1e-14);
  }
}

TEST_CASE("cross entropy and entropy keep their digits at the ends", "[classification]") {
  const Matrix<double> none = Matrix<double>::Zero(2, 1);
  const auto certain = predict<double>(Eigen::Vector2d(60, 0), none);
  CHECK(std::abs(cross_entropy(certain, 0) / std::exp(-60.0) - 1) <= 1e-13);
  CHECK(cross_entropy(certain, 1) == 60);
  CHECK(std::abs(cross_entropy(predict<double>(Eigen::Vector2d(1e4, -1e4), none), 1) - 2e4) <= 1e-10);
  CHECK(entropy(predict<double>(Eigen::Vector2d(1e4, -1e4), none)) == 0);
  CHECK(std::abs(entropy(predict<double>(Eigen::Vector2d(7, 7), none)) - std::log(2.0)) <= 1e-15);
  CHECK(names(message_of([&] { cross_entropy(certain, 2); }), "label", "value = 2", "0 to 1"));
  CHECK_THROWS_AS(cross_entropy(certain, -1), std::invalid_argument);
}

TEST_CASE("a context whose parts do not fit is refused by name", "[classification]") {
  ContextDraws draws(12);
  const auto good = draws.context(3, 2, 4);
  validate(good);
  const auto refused = [](const Context<double>& context) { return message_of([&] { validate(context, "w"); }); };
  auto bad = good;
  bad.labels[1] = 2;
  CHECK(names(refused(bad), "incontext::w", "label", "value = 2"));
  bad = good;
  bad.labels.pop_back();
  CHECK(names(refused(bad), "labels", "value = 3"));
  bad = good;
  bad.query.conservativeResize(2);
  CHECK(names(refused(bad), "query", "value = 2"));
  bad = good;
  bad.inputs(2, 1) = std::nan("");
  CHECK(names(refused(bad), "an input", "nan"));
  bad = good;
  bad.query(0) = INFINITY;
  CHECK(names(refused(bad), "query", "inf"));
  bad = good;
  bad.classes = 1;
  CHECK(names(refused(bad), "classes", "value = 1"));
  bad = good;
  bad.inputs.resize(0, 3);
  CHECK(names(refused(bad), "examples", "value = 0"));
}

}  // namespace incontext::testing
