#include "incontext/classification/adaptive_onset.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/sample_mean.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

/// The ratio by drawing: moments of drawn points with the largest coordinate first, Hermite's fourth
/// tensor by its definition, and places of the boundary drawn by rejection.
double drawn_ratio(int k, int draws, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const auto at = [k](int a, int b, int c, int e) { return static_cast<std::size_t>(((a * k + b) * k + c) * k + e); };
  Eigen::MatrixXd second = Eigen::MatrixXd::Zero(k, k);
  std::vector<double> fourth(static_cast<std::size_t>(k * k * k * k), 0.0);
  double largest = 0;
  for (int i = 0; i < draws; ++i) {
    Eigen::VectorXd t(k);
    for (double& x : t) x = normal(engine);
    Eigen::Index top = 0;
    t.maxCoeff(&top);
    std::swap(t(0), t(top));
    largest += t(0) / draws;
    second += t * t.transpose() / draws;
    for (int a = 0; a < k; ++a) {
      for (int b = 0; b < k; ++b) {
        for (int c = 0; c < k; ++c) {
          for (int e = 0; e < k; ++e) fourth[at(a, b, c, e)] += t(a) * t(b) * t(c) * t(e) / draws;
        }
      }
    }
  }
  const auto delta = [](int a, int b) { return a == b ? 1.0 : 0.0; };
  const auto hermite = [&](int a, int b, int c, int e) {
    return fourth[at(a, b, c, e)] - delta(a, b) * second(c, e) - delta(a, c) * second(b, e) -
           delta(a, e) * second(b, c) - delta(b, c) * second(a, e) - delta(b, e) * second(a, c) -
           delta(c, e) * second(a, b) + delta(a, b) * delta(c, e) + delta(a, c) * delta(b, e) +
           delta(a, e) * delta(b, c);
  };
  const auto swapped = [](int a) { return a == 0 ? 1 : a == 1 ? 0 : a; };
  const double p1 = second(0, 0) - 1, p2 = second(1, 1) - 1, p3 = second(0, 1), p4 = second(1, 2);
  const double slope = largest * k / (k - 1), tilt = 2 * (p1 - p2) * k / (k - 2);
  std::vector<Eigen::VectorXd> places;
  while (places.size() < 8'000) {
    Eigen::VectorXd t(k);
    t(0) = t(1) = normal(engine) / std::sqrt(2.0);  // density of a square
    for (int a = 2; a < k; ++a) t(a) = normal(engine);
    if (t(0) >= t.tail(k - 2).maxCoeff()) places.push_back(t);
  }
  const auto mean = [&](const auto& f) {
    double sum = 0;
    for (const auto& t : places) sum += f(t);
    return sum / static_cast<double>(places.size());
  };
  // E on the boundary, of pairs: both first, one first and one other, two others
  const double f1 = mean([](const auto& t) { return t(0) * t(0); }),
               f2 = mean([](const auto& t) { return t(0) * t(2); });
  const double f3 = k > 3 ? mean([](const auto& t) { return t(2) * t(3); }) : [&] {
    return mean([](const auto& t) {  // the square of the mean of a normal below tau
      const double tau = t(0), below = std::erfc(-tau / std::sqrt(2.0)) / 2;
      const double r = std::exp(-tau * tau / 2) / std::sqrt(2 * std::acos(-1.0)) / below;
      return r * r;
    });
  }();
  const double own = f1 - 2 * f2 + f3, all = (f2 - f3) - (p3 - p4);
  double above = 0, bias = 0, biased = 0, joint = 0;
  for (const auto& t : places) {
    const double up = t(0) - t.mean(), distance = (t(0) - t.array()).sum();
    double level = 0;
    for (int a = 0; a < k; ++a) {
      for (int b = 0; b < k; ++b) level += t(a) * t(b) * (second(a, b) - delta(a, b));
    }
    double square = 0, product = 0;
    for (int a = 2; a < k; ++a) {
      const double push = own * (t(0) - t(a)) + all * distance;
      double bend = -(p3 - p4) * level;
      for (int i = 0; i < k; ++i) {
        for (int j = 0; j < k; ++j) {
          bend += t(i) * t(j) * (hermite(i, j, 0, a) - hermite(swapped(i), swapped(j), swapped(0), swapped(a)));
        }
      }
      square += push * push;
      product += push * bend;
    }
    const double share = 1 / static_cast<double>(places.size());
    above += share * up;
    bias += share * square;
    biased += share * up * square;
    joint += share * product;
  }
  const double alpha = slope / k, noise = 4 * slope * slope * above - 2 * tilt * above;
  const double gain = tilt * alpha * alpha * (above * bias + biased) - 2 * slope * alpha * joint;
  return k * noise / gain;
}

}  // namespace

TEST_CASE("the onset's ratio is that of drawn moments", "[classification]") {
  for (const int k : {3, 5}) {
    SampleMean drawn;
    for (unsigned seed = 1; seed <= 12; ++seed) drawn.add(drawn_ratio(k, 400'000, seed));
    CAPTURE(k);
    CHECK(std::abs(drawn.z(adaptive_onset_ratio<double>(k))) <= 5);
    CHECK(std::abs(drawn.z(1.2 * adaptive_onset_ratio<double>(k))) > 5);  // power
  }
}

TEST_CASE("the onset's ratio refuses two classes, for which there is none", "[classification]") {
  CHECK(names(message_of([] { adaptive_onset_ratio<double>(2); }), "classes", "value = 2"));
  CHECK(names(message_of([] { adaptive_onset_ratio<double>(513); }), "classes", "value = 513"));
}

}  // namespace incontext::testing
