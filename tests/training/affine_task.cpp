#include "incontext/training/affine_task.hpp"

#include <algorithm>
#include <cmath>

#include "laws/refusal.hpp"
#include "laws/sampling.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"
#include "support/relative.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace training;

TEST_CASE("risks of the affine task are means over its draws", "[training]") {
  for (const double inputs : {0.05, 0.3, 0.4, 1.0, 5.0}) {
    const double mean = normal_mean([&](double g) { return 1 / (1 + inputs * inputs * g * g); });
    CHECK(relative(mean_inverse_one_plus_square(inputs), mean) < 1e-12);
    // posterior variance of a x + b given y_1, averaged over x, then over x_1
    const double one = normal_mean([&](double g) {
      const double first = inputs * g;
      return (inputs * inputs + first * first) / (1 + first * first);
    });
    CHECK(relative(affine_risks(AffineTask<double>{inputs, 3}).one_example, 9 * one) < 1e-12);
    for (const double bound : {0.0, 0.5, 4.0}) {
      const double clipped = normal_mean(
          [&](double g) {
            const double stddev = 3 * std::sqrt(1 + inputs * inputs * g * g);
            double sum = 0;  // Simpson's rule over the part that is cut off
            constexpr int steps = 400;
            for (int i = 0; i <= steps; ++i) {
              const double over = 12 * stddev * i / steps, y = (bound + over) / stddev;
              sum += (i == 0 || i == steps ? 1 : (i % 2 == 1 ? 4 : 2)) * over * over * std::exp(-y * y / 2);
            }
            return 2 * sum * 12 / steps / 3 / std::sqrt(2 * 3.14159265358979323846);
          },
          1.0 / 16);
      CHECK(relative(clipped_affine_error(AffineTask<double>{inputs, 3}, bound).value, clipped) < 1e-6);
    }
  }
}

TEST_CASE("risks of the affine task agree with sampled prompts", "[training][statistics]") {
  // |z| <= 5 in 4 comparisons fails a true law once in 400 thousand tests
  for (const AffineTask<double> task : {AffineTask<double>{1, 1}, AffineTask<double>{2, 0.5}}) {
    Random random(479);
    SampleMean one, clipped;
    for (int trial = 0; trial < 40000; ++trial) {
      const double a = task.function_stddev * random.normal(), b = task.function_stddev * random.normal();
      const double first = task.input_stddev * random.normal(), x = task.input_stddev * random.normal();
      const double guess = (a * first + b) * (x * first + 1) / (first * first + 1), y = a * x + b;
      one.add(std::pow(guess - y, 2));
      clipped.add(std::pow(std::clamp(y, -0.5, 0.5) - y, 2));
    }
    const double expected = affine_risks(task).one_example, cut = clipped_affine_error(task, 0.5).value;
    CHECK(std::abs(one.z(expected)) <= 5);
    CHECK(std::abs(clipped.z(cut)) <= 5);
    CHECK_FALSE(std::abs(one.z(1.1 * expected)) <= 5);
    CHECK_FALSE(std::abs(one.z(affine_risks(task).no_example)) <= 5);
    CHECK_FALSE(std::abs(clipped.z(1.15 * cut)) <= 5);
  }
}

TEST_CASE("the error after one example of a narrow affine task keeps its digits", "[training][accuracy]") {
  struct Case {
    double input_stddev, mean, one_example;  // sqrt(pi) z e^(z^2) erfc(z) and what follows from it at 40 digits
  };
  for (const auto& [inputs, mean, one] : {Case{0.04, 0.99840761923838981315, 0.0031898329523916106141},
                                          Case{0.105, 0.98932096420410605453, 0.021586299426244213915},
                                          Case{0.25, 0.9466095316542426825, 0.11255356407414748516}}) {
    INFO("input_stddev " << inputs);
    CHECK(eps_from(mean_inverse_one_plus_square(inputs), mean, mean) <= 64);
    CHECK(eps_from(affine_risks(AffineTask<double>{inputs, 1}).one_example, one, one) <= 64);
  }
}

TEST_CASE("the affine task has its limits", "[training]") {
  CHECK(mean_inverse_one_plus_square(0.0) == 1);
  CHECK(relative(1 - mean_inverse_one_plus_square(1e-4), 1e-8) < 1e-6);
  CHECK(relative(mean_inverse_one_plus_square(0.3535), mean_inverse_one_plus_square(0.3536)) < 1e-3);
  for (const double inputs : {1e-8, 1e-3, 0.2, 0.35, 0.36, 4.0, 1e4}) {
    using L = long double;
    const L exact = affine_risks(AffineTask<L>{L(inputs), 1}).one_example;
    CHECK(eps_from(affine_risks(AffineTask<double>{inputs, 1}).one_example, exact, exact) <= 64);
    const L mean = mean_inverse_one_plus_square(L(inputs));
    CHECK(eps_from(mean_inverse_one_plus_square(inputs), mean, mean) <= 64);
  }
  CHECK(relative(affine_risks(AffineTask<double>{1, 7}).one_example, 49) < 1e-15);
  CHECK(relative(clipped_affine_error(AffineTask<double>{2, 3}, 0.0).value, 45) < 1e-11);
  CHECK(relative(clipped_affine_error(AffineTask<double>{0, 1}, 0.0).value, 1) < 1e-11);
  CHECK(clipped_affine_error(AffineTask<double>{1, 0}, 1.0).value == 0);
  CHECK(clipped_affine_error(AffineTask<double>{1, 1}, 1e3).value < 1e-20);
}

TEST_CASE("clipped answers have their error for wide inputs and far bounds too", "[training]") {
  // E (|y| - t)_+^2 by Simpson's rule, and the mean over inputs by the trapezoidal rule in log |x|
  const auto excess = [](double t) {
    double sum = 0;
    const double end = 12 * std::min(1.0, 3 / t);
    for (int i = 0; i <= 1000; ++i) {
      const double over = end * i / 1000, y = t + over;
      sum += (i == 0 || i == 1000 ? 1 : (i % 2 == 1 ? 4 : 2)) * over * over * std::exp(-y * y / 2);
    }
    return 2 * sum * end / 3000 / std::sqrt(2 * 3.14159265358979323846);
  };
  Worst off;
  for (const double inputs : {0.5, 1.0, 20.0, 1000.0, 1e6, 1e9}) {
    for (const double bound : {0.01, 1.0, 8.0, 0.5 * inputs, 20 * inputs}) {
      double sum = 0;
      const double step = 1.0 / 16;
      for (double l = -40; l < 2.5; l += step) {
        const double x = std::exp(l), s = std::sqrt(1 + inputs * inputs * x * x);
        sum += step * x * std::exp(-x * x / 2) * s * s * excess(bound / s);
      }
      sum *= 2 / std::sqrt(2 * 3.14159265358979323846);
      off.add(relative(clipped_affine_error(AffineTask<double>{inputs, 3}, 3 * bound).value, 9 * sum), "inputs ",
              inputs, ", bound ", bound);
      if (bound >= inputs / 2 && bound >= 1) {
        off.add(relative(clipped_answer_bound(AffineTask<double>{inputs, 3}, 9 * sum), 3 * bound),
                "bound found, inputs ", inputs, ", bound ", bound);
      }
    }
  }
  CHECK(off <= 1e-7);  // Simpson's rule is not better
  const double wide = clipped_affine_error(AffineTask<double>{1000, 1}, 1.0).value;
  CHECK(wide < 1000 * 1000 + 1);
  const AffineTask<double> printed{329, 83};
  CHECK(relative(clipped_affine_error(printed, clipped_answer_bound(printed, 378.0)).value, 378) < 1e-9);
}

TEST_CASE("the affine task refuses what is no task", "[training]") {
  using Task = AffineTask<double>;
  CHECK(refuses([] { mean_inverse_one_plus_square(-1.0); }, {"input_stddev", "-1"}));
  CHECK(refuses([] { affine_risks(Task{-1, 1}); }, {"affine_risks", "input_stddev", "-1"}));
  CHECK(refuses([] { affine_risks(Task{1, -2}); }, {"function_stddev", "-2"}));
  CHECK(refuses([] { clipped_affine_error(Task{1, 1}, -3.0); }, {"bound", "-3"}));
  for (const double x : out_of_reach) {
    CHECK(refuses([x] { affine_risks(Task{x, 1}); }, {"input_stddev"}));
    CHECK(refuses([x] { clipped_affine_error(Task{1, x}, 1.0); }, {"function_stddev"}));
    CHECK(refuses([x] { clipped_affine_error(Task{1, 1}, x); }, {"bound"}));
  }
}

TEST_CASE("the bound of clipped answers is found from their error", "[training]") {
  for (const double inputs : {0.0, 1.0, 2.5}) {
    for (const double functions : {1.0, 7.0}) {
      const AffineTask<double> task{inputs, functions};
      for (const double bound : {0.01, 0.7, 3.0, 9.0}) {
        CAPTURE(inputs, functions, bound);
        const double error = clipped_affine_error(task, bound * functions).value;
        CHECK(relative(clipped_answer_bound(task, error), bound * functions) < 1e-9);
        CHECK(relative(clipped_answer_bound(task, 0.99 * error), bound * functions) > 1e-9);
      }
      CHECK(clipped_answer_bound(task, affine_risks(task).no_example) < 1e-9 * functions);
    }
  }
  // labels of variance 1 (inputs that are 0): the error is E (|y| - B)_+^2 of a normal y, by Simpson's rule
  double cut = 0;
  for (int i = 0; i <= 1000; ++i) {
    const double over = 10.0 * i / 1000, y = 1.5 + over;
    cut += (i == 0 || i == 1000 ? 1 : (i % 2 == 1 ? 4 : 2)) * over * over * std::exp(-y * y / 2);
  }
  cut *= 2 * 10.0 / 3000 / std::sqrt(2 * 3.14159265358979323846);
  CHECK(relative(clipped_answer_bound(AffineTask<double>{0, 1}, cut), 1.5) < 1e-8);
  CHECK(refuses([] { clipped_answer_bound(AffineTask<double>{1, 1}, 2.1); }, {"error is larger", "2.1"}));
  CHECK(refuses([] { clipped_answer_bound(AffineTask<double>{1, 1}, 0.0); }, {"error", "0"}));
  CHECK(refuses([] { clipped_answer_bound(AffineTask<double>{1, 0}, 0.1); }, {"function_stddev"}));
}

}  // namespace incontext::testing
