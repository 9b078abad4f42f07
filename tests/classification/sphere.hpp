#pragma once

#include <boost/math/quadrature/tanh_sinh.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "support/sample_mean.hpp"

/// Brute force on the sphere: means over the angle to a fixed point by quadrature, and drawn points.
namespace incontext::testing {

/// Mean of f(angle) over the angle between a uniform point of the unit sphere and a fixed one, split at pi/2.
template <class Function>
double angle_mean(int dimension, const Function& f) {
  boost::math::quadrature::tanh_sinh<double> rule(12);
  const double half_pi = std::acos(0.0);
  const auto over = [&](const auto& g) {
    return rule.integrate([&](double a) { return g(a) * std::pow(std::sin(a), dimension - 2); }, 0.0, half_pi);
  };
  const auto one = [](double) { return 1.0; };
  return (over(f) + over([&](double a) { return f(2 * half_pi - a); })) / (2 * over(one));
}

/// Uniform points of the unit sphere.
class SpherePoints {
 public:
  SpherePoints(int dimension, unsigned seed) : dimension_(dimension), engine_(seed) {}

  std::vector<double> draw() {
    std::vector<double> u(static_cast<std::size_t>(dimension_));
    double square = 0;
    for (double& x : u) {
      x = normal_(engine_);
      square += x * x;
    }
    for (double& x : u) x /= std::sqrt(square);
    return u;
  }

 private:
  int dimension_;
  std::mt19937_64 engine_;
  std::normal_distribution<double> normal_;
};

}  // namespace incontext::testing
