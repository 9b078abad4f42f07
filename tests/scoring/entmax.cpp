#include "incontext/scoring/entmax.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

using namespace scoring;

namespace {

/// The published sorting algorithms, for alpha = 2 and 1.5.
std::vector<double> by_sorting(double alpha, const std::vector<double>& z) {
  std::vector<double> x = z;
  for (double& y : x) y *= alpha - 1;
  std::vector<double> sorted = x;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double threshold = 0, sum = 0, squares = 0;
  for (std::size_t k = 1; k <= sorted.size(); ++k) {
    const double n = static_cast<double>(k);
    sum += sorted[k - 1];
    squares += sorted[k - 1] * sorted[k - 1];
    const double mean = sum / n;
    const double scatter = squares - n * mean * mean;
    const double t = alpha == 2 ? (sum - 1) / n : mean - std::sqrt(std::max(0.0, (1 - scatter) / n));
    if (t <= sorted[k - 1]) threshold = t;
  }
  std::vector<double> a;
  for (const double y : x) a.push_back(std::pow(std::max(y - threshold, 0.0), 1 / (alpha - 1)));
  return a;
}

}  // namespace

TEST_CASE("entmax agrees with the published sorting algorithms", "[scoring]") {
  Random random(51);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t n = 1 + random.below(60);
    auto z = random.normals(n, trial % 2 == 0 ? 0.3 : 3);
    if (trial % 5 == 0) std::fill(z.begin(), z.begin() + static_cast<long>(n / 2), z[0]);
    CHECK(distance(weights_of(Entmax<double>{1.5}, z), by_sorting(1.5, z)) < 1e-12);
    CHECK(distance(weights_of(Sparsemax<double>{}, z), by_sorting(2, z)) < 1e-12);
    CHECK(weights_of(Entmax<double>{2}, z) == weights_of(Sparsemax<double>{}, z));
  }
  CHECK(distance(weights_of(Entmax<double>{1.499}, {1, 0.5, 0}), by_sorting(1.5, {1, 0.5, 0})) > 1e-5);
}

TEST_CASE("entmax is the largest of a.z plus Tsallis entropy on the simplex", "[scoring]") {
  // optimality: (alpha - 1) z_i - a_i^(alpha - 1) is one number on the support, and not larger outside
  Random random(52);
  for (const double alpha : {0.05, 0.2, 0.5, 0.75, 0.99, 1.01, 1.25, 1.5, 1.9, 2.0, 2.5, 4.0, 40.0}) {
    for (int trial = 0; trial < 40; ++trial) {
      const auto z = random.normals(1 + random.below(30), 0.5 + static_cast<double>(trial) / 10);
      const auto a = weights_of(Entmax<double>{alpha}, z);
      CHECK(std::abs(total(a) - 1) < 1e-11);
      const std::size_t top = static_cast<std::size_t>(std::max_element(a.begin(), a.end()) - a.begin());
      const double level = (alpha - 1) * z[top] - std::pow(a[top], alpha - 1);
      for (std::size_t i = 0; i < z.size(); ++i) {
        const double own = (alpha - 1) * z[i] - std::pow(a[i], alpha - 1);
        INFO("alpha " << alpha << ", a " << a[i] << ", level " << level << ", own " << own);
        if (a[i] > 0) {
          CHECK(std::abs(own - level) < 1e-12 * (1 + alpha) * (1 + std::abs(level)));
        } else {
          CHECK(own <= level + 1e-13);
        }
      }
    }
  }
}

TEST_CASE("two scores near the one-hot gap share their weight as the definition says, for any alpha", "[scoring]") {
  // x_1 - x_2 = (alpha - 1) g with x = a^(alpha - 1) and a_1 + a_2 = 1, solved for a_2 by halving
  for (const double alpha : {1.5, 2.0, 2.001, 2.5, 4.0, 10.0, 40.0, 300.0}) {
    const double slope = alpha - 1;
    for (const double short_of : {0.9, 0.5, 0.1, 1e-3, 1e-9}) {
      const double gap = (1 - short_of) / slope;
      const double distance_left = 1 - slope * gap;  // the distance of the rounded gap to that of a one-hot row
      double low = 0, high = 0.5;
      for (int i = 0; i < 2000 && low < high; ++i) {
        const double a = low + (high - low) / 2;
        // 1 - (1 - a)^slope + a^slope rises with a
        (-std::expm1(slope * std::log1p(-a)) + std::pow(a, slope) < distance_left ? low : high) = a;
        if (high - low <= 1e-16 * high) break;
      }
      const auto a = weights_of(Entmax<double>{alpha}, {0.0, -gap});
      INFO("alpha " << alpha << ", " << short_of << " short of one-hot");
      const double rounding = 4e-16 / short_of * (1 + 1 / slope);  // of the gap, in units of what is left of it
      CHECK(std::abs(a[1] - high) <= rounding * high + 4e-16 * (1 + 1 / slope));
      CHECK(std::abs(a[0] + a[1] - 1) <= 1e-14 * (1 + 1 / slope));
    }
  }
}

TEST_CASE("weights sum to one and are optimal above alpha = 2 at every distance from the one-hot gap", "[scoring]") {
  Random random(57);
  for (const double alpha : {2.2, 3.0, 10.0, 100.0}) {
    for (int trial = 0; trial < 100; ++trial) {
      std::vector<double> z{0};
      for (int i = 0; i < 8; ++i) z.push_back(-(1 - std::pow(10.0, -15 * random.uniform())) / (alpha - 1));
      const auto a = weights_of(Entmax<double>{alpha}, z);
      CHECK(std::abs(total(a) - 1) < 1e-14);
      const double level = -std::pow(a[0], alpha - 1);
      for (std::size_t i = 1; i < z.size(); ++i) {
        const double own = (alpha - 1) * z[i] - std::pow(a[i], alpha - 1);
        INFO("alpha " << alpha << ", score " << i << ", weight " << a[i]);
        if (a[i] > 0) {
          CHECK(std::abs(own - level) < 1e-14);
        } else {
          CHECK(own <= level + 1e-15);
        }
      }
    }
  }
}

TEST_CASE("below alpha = 1 entmax is dense, and its derivatives are those of the weights", "[scoring]") {
  Random random(58);
  for (const double alpha : {0.05, 0.5, 0.75}) {
    const auto z = random.normals(9, 2), u = random.normals(9);
    const Entmax<double> map{alpha};
    const auto at = [&](double step, double shift) {
      std::vector<double> moved = z;
      for (std::size_t i = 0; i < z.size(); ++i) moved[i] += step * u[i];
      return weights_of(Entmax<double>{alpha + shift}, moved);
    };
    const double h = 1e-5;
    const auto above = at(h, 0), below = at(-h, 0), more = at(0, h), less = at(0, -h);
    std::vector<double> change(z.size()), by_alpha(z.size());
    jvp(map, z, u, change);
    derivative(map, parameter::Alpha{}, z, by_alpha);
    for (std::size_t i = 0; i < z.size(); ++i) {
      CAPTURE(alpha, i);
      CHECK(at(0, 0)[i] > 0);
      CHECK(std::abs((above[i] - below[i]) / (2 * h) - change[i]) < 1e-8);
      CHECK(std::abs((more[i] - less[i]) / (2 * h) - by_alpha[i]) < 1e-8);
      CHECK_FALSE(std::abs((more[i] - less[i]) / (2 * h) + by_alpha[i]) < 1e-8);
    }
  }
  CHECK(distance(weights_of(Entmax<double>{1 - 1e-6}, {0, 1, 2}), weights_of(Softmax<double>{}, {0, 1, 2})) < 1e-5);
}

TEST_CASE("entmax is one-hot exactly from a gap of 1/(alpha - 1)", "[scoring]") {
  for (const double alpha : {1.25, 1.5, 2.0, 3.0}) {
    const double gap = 1 / (alpha - 1);
    CHECK(weights_of(Entmax<double>{alpha}, {0, -gap, -gap, -gap - 1}) == std::vector<double>{1, 0, 0, 0});
    const double below =
        alpha < 1.5 ? 0.9 : 0.999;  // near the edge the second weight is a high power of a small number
    const auto nearly = weights_of(Entmax<double>{alpha}, {0, -gap * below, -gap - 1});
    CHECK(nearly[0] < 1);
    CHECK(nearly[1] > 0);
    CHECK(nearly[2] == 0);
  }
}

TEST_CASE("entmax tends to softmax for alpha toward 1, also in its derivatives", "[scoring]") {
  const std::vector<double> z{0.5, -1, 2, 0}, u{1, -2, 0.5, 3};
  double last_gap = 1;
  for (const double alpha : {1.01, 1.0001, 1.000001}) {
    const Entmax<double> map{alpha};
    const double gap = distance(weights_of(map, z), weights_of(Softmax<double>{}, z));
    CHECK(gap < 2 * (alpha - 1));
    CHECK(gap < last_gap / 50);
    last_gap = gap;
    CHECK(distance(jvp_of(map, z, u), jvp_of(Softmax<double>{}, z, u)) < 20 * (alpha - 1));
    // d a / d alpha tends to a (r - a.r) with r = -(log a)^2 / 2: the second-order response, finite
    const auto p = weights_of(Softmax<double>{}, z);
    double mean = 0;
    for (const double a : p) mean += a * std::log(a) * std::log(a) / 2;
    std::vector<double> limit;
    for (const double a : p) limit.push_back(a * (mean - std::log(a) * std::log(a) / 2));
    CHECK(distance(derivative_of(map, parameter::Alpha{}, z), limit) < 20 * (alpha - 1) + 1e-8);
  }
}

TEST_CASE("entmax's derivatives round as stated near alpha = 1, where 1 / (alpha - 1) enters", "[scoring][accuracy]") {
  const std::vector<double> z{0, -1, 0.5}, u{1, 2, -1};
  const auto check = [&](double alpha, const std::vector<double>& along, const std::vector<double>& by_alpha) {
    const Entmax<double> map{alpha};
    const double rounding = 2.3e-16 * (1 + 1 / (alpha - 1));
    const auto change = jvp_of(map, z, u), rate = derivative_of(map, parameter::Alpha{}, z);
    INFO("alpha - 1 = " << alpha - 1 << ": " << distance(change, along) / rounding << ", "
                        << distance(rate, by_alpha) / rounding);
    CHECK(distance(change, along) <= 4 * rounding);
    CHECK(distance(rate, by_alpha) <= 32 * rounding);
    CHECK_FALSE(distance(jvp_of(Entmax<double>{alpha + 1e-6}, z, u), along) <= 4 * rounding);
    CHECK_FALSE(distance(rate, along) <= 32 * rounding);
  };
  // central differences of the weights at 60 digits
  check(1 + 0x1p-8, {0.323413206856696881, 0.24086695790061708, -0.56428016475731396},
        {-0.0125252092857889359, -0.200937928040908044, 0.21346313732669698});
  check(1 + 0x1p-20, {0.321934621770976297, 0.240384766582485377, -0.562319388353461674},
        {-0.0125259870425436879, -0.200234602517017671, 0.212760589559561359});
}

TEST_CASE("near alpha = 1 weights of float have the digits of float, and sum to 1", "[scoring]") {
  Random random(59);
  for (const float step : {1e-2F, 1e-4F, 1e-6F, 2e-7F, -1e-5F}) {
    const Entmax<float> map{1 + step};
    const auto wide = random.normals(30, 2), u = random.normals(30);
    const std::vector<float> z(wide.begin(), wide.end()), direction(u.begin(), u.end());
    const std::vector<double> exact_scores(z.begin(), z.end()), exact_direction(direction.begin(), direction.end());
    const Entmax<double> exact{static_cast<double>(map.alpha)};
    std::vector<float> a(30), by_alpha(30), change(30);
    weights(map, z, a);
    derivative(map, parameter::Alpha{}, z, by_alpha);
    jvp(map, z, direction, change);
    const auto compare = [&](const std::vector<float>& found, const std::vector<double>& expected) {
      CAPTURE(step);
      const double size = largest_size(expected);
      CHECK(size > 1e-3);
      CHECK(distance(std::vector<double>(found.begin(), found.end()), expected) < 1e-6 * size);
    };
    compare(a, weights_of(exact, exact_scores));
    compare(by_alpha, derivative_of(exact, parameter::Alpha{}, exact_scores));
    compare(change, jvp_of(exact, exact_scores, exact_direction));
    CHECK(std::abs(total(std::vector<double>(a.begin(), a.end())) - 1) < 1e-6);
  }
  const auto z = random.normals(50, 2);
  for (const double step : {1e-8, 1e-11, -1e-11}) {
    CHECK(distance(weights_of(Entmax<double>{1 + step}, z), weights_of(Softmax<double>{}, z)) < 40 * std::abs(step));
    CHECK(std::abs(total(weights_of(Entmax<double>{1 + step}, z)) - 1) < 1e-15);
  }
}

TEST_CASE("the threshold is found for equal scores of any number and for geometric ladders", "[scoring]") {
  for (const std::size_t n : {std::size_t{2}, std::size_t{1000}, std::size_t{100000}}) {
    for (const double alpha : {1.1, 1.5, 2.0, 3.0}) {
      const auto a = weights_of(Entmax<double>{alpha}, std::vector<double>(n, -3.0));
      CHECK(std::abs(a[n / 2] * static_cast<double>(n) - 1) < 1e-13);
    }
  }
  std::vector<double> ladder;  // every support but the last is wrong: the worst case of active-set methods
  for (int i = 0; i < 60; ++i) ladder.push_back(1 - std::pow(2.0, -i));
  CHECK(distance(weights_of(Sparsemax<double>{}, ladder), by_sorting(2, ladder)) < 1e-13);
  CHECK(distance(weights_of(Entmax<double>{1.5}, ladder), by_sorting(1.5, ladder)) < 1e-12);
}

TEST_CASE("sparsemax is the projection onto the simplex: nothing on the simplex is nearer", "[scoring]") {
  Random random(53);
  const auto z = random.normals(6);
  const auto a = weights_of(Sparsemax<double>{}, z);
  const auto squared_distance = [&](const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < b.size(); ++i) sum += (b[i] - z[i]) * (b[i] - z[i]);
    return sum;
  };
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<double> b(6);
    for (double& x : b) x = -std::log(random.uniform());
    const double sum = total(b);
    for (std::size_t i = 0; i < 6; ++i) b[i] = a[i] + 0.1 * (b[i] / sum - a[i]);
    CHECK(squared_distance(a) <= squared_distance(b) + 1e-15);
  }
}

}  // namespace incontext::testing
