#include "incontext/classification/two_class_risk_range.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "classification/contexts.hpp"
#include "incontext/classification/two_class_kernel_risk.hpp"
#include "incontext/classification/two_class_risk.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "support/sample_mean.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace classification;

namespace {

double loss_of(double margin) { return std::log1p(std::exp(-std::abs(margin))) + std::max(-margin, 0.0); }

/// The losses of the four rules over the same drawn contexts, at one kappa and one gain.
struct Losses {
  double kappa, gain, rate;
  SampleMean adaptive, with_query, kernel, linear;
};

struct Off {
  double clear;  ///< the part of the relative error that five standard errors do not explain
  double estimate;
};

Off off(const SampleMean& drawn, double theory, double estimate) {
  const double error = std::abs(drawn.mean() / theory - 1) - 5 * drawn.standard_error() / theory;
  return {std::max(error, 0.0), estimate};
}

/// The kernel step's rate that equals the adaptive one in a context of average density.
double fixed_rate(int d, double kappa, double gain) { return gain * std::exp(kappa - log_kernel_mean(d, kappa)); }

std::vector<Losses> drawn(int d, int n, const std::vector<double>& kappas, unsigned seed, int contexts) {
  const std::vector<double> gains{1, 8, 40};
  std::vector<Losses> all;
  for (const double kappa : kappas) {
    for (const double gain : gains) all.push_back({kappa, gain, fixed_rate(d, kappa, gain), {}, {}, {}, {}});
  }
  SpherePoints points(d, seed);
  for (int i = 0; i < contexts; ++i) {
    const double sine = std::abs(points.draw()[0]), cosine = std::sqrt(1 - sine * sine);
    std::vector<double> sides[2];
    while (static_cast<int>(sides[0].size() + sides[1].size()) < n) {
      const auto u = points.draw();
      auto& side = sides[u[0] * sine + u[1] * cosine > 0 ? 0 : 1];
      if (static_cast<int>(side.size()) < n / 2) side.push_back(u[0]);
    }
    for (std::size_t k = 0; k < kappas.size(); ++k) {
      double sums[2] = {}, plain = 0;
      for (int side = 0; side < 2; ++side) {
        for (const double s : sides[side]) {
          sums[side] += std::exp(kappas[k] * (s - 1));
          plain += side == 0 ? s : -s;
        }
      }
      const double difference = sums[0] - sums[1], total = sums[0] + sums[1];
      for (std::size_t g = 0; g < gains.size(); ++g) {
        Losses& at = all[k * gains.size() + g];
        at.adaptive.add(loss_of(at.gain * difference / total));
        at.with_query.add(loss_of(at.gain * difference / (total + 1)));
        at.kernel.add(loss_of(at.rate * difference / n));
        at.linear.add(loss_of(at.gain * at.kappa * plain / n));
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the losses of drawn contexts are within the errors stated, which are not idle", "[classification][range]") {
  Worst exceeded, used;
  unsigned seed = 300;
  for (const int d : {2, 3, 12}) {
    for (const int n : {4, 8, 40}) {
      for (const Losses& at : drawn(d, n, {0.5, 2.0, 8.0}, seed++, n < 40 ? 10'000 : 3'000)) {
        const double rate = at.rate, linear = at.gain * at.kappa;
        const Off offs[] = {
            off(at.adaptive, adaptive_cross_entropy(d, at.kappa, n, at.gain, QueryToken::excluded),
                adaptive_cross_entropy_error(d, at.kappa, n, at.gain, QueryToken::excluded)),
            off(at.with_query, adaptive_cross_entropy(d, at.kappa, n, at.gain, QueryToken::included),
                adaptive_cross_entropy_error(d, at.kappa, n, at.gain, QueryToken::included)),
            off(at.kernel, kernel_cross_entropy(d, at.kappa, n, rate),
                kernel_cross_entropy_error(d, at.kappa, n, rate)),
            off(at.linear, linear_cross_entropy(d, n, linear), linear_cross_entropy_error(d, n, linear))};
        constexpr const char* rules[] = {"adaptive", "adaptive with the query", "kernel", "linear"};
        for (int i = 0; i < 4; ++i) {
          exceeded.add(offs[i].clear / offs[i].estimate, rules[i], ", d ", d, ", n ", n, ", kappa ", at.kappa,
                       ", gain ", at.gain);
        }
        used.add(offs[0].clear / offs[0].estimate, "adaptive");
      }
    }
  }
  INFO(exceeded);
  CHECK(exceeded <= 1);
  CHECK(used > 0.5);  // power: half of the estimate is not enough
}

TEST_CASE("the error of the loss of softmax attention is stated where the approximation is of no use",
          "[classification][range]") {
  const auto error = [](double kappa) { return adaptive_cross_entropy_error(3, kappa, 40, 8.0, QueryToken::excluded); };
  const double theory = adaptive_cross_entropy(3, 8.0, 40, 8.0, QueryToken::excluded);
  const auto all = drawn(3, 40, {8.0}, 340, 80'000);
  const auto at = std::find_if(all.begin(), all.end(), [](const Losses& l) { return l.gain == 8; });
  REQUIRE(at != all.end());
  CHECK(std::abs(at->adaptive.z(theory)) > 5);
  CHECK(off(at->adaptive, theory, 0).clear > 0.1);
  CHECK(error(8.0) > 0.15);
  CHECK(error(0.5) < 0.01);
  CHECK(error(4.0) < error(8.0));
  CHECK(adaptive_cross_entropy_error(3, 8.0, 4000, 8.0, QueryToken::excluded) < 0.01);
}

TEST_CASE("the errors of losses vanish without a step and stay finite", "[classification][range]") {
  CHECK(!(0 < adaptive_cross_entropy_error(3, 2.0, 40, 0.0, QueryToken::included)));
  CHECK(!(0 < adaptive_cross_entropy_error(3, 0.0, 40, 8.0, QueryToken::included)));
  CHECK(!(0 < kernel_cross_entropy_error(3, 2.0, 40, 0.0)));
  CHECK(!(0 < linear_cross_entropy_error(3, 40, 0.0)));
  CHECK(kernel_cross_entropy_error(3, 2.0, 40, 1e150) < 1);
  CHECK(linear_cross_entropy_error(3, 40, 1e150) == 0.5 / 40);
}

TEST_CASE("the errors of losses refuse what the losses refuse", "[classification][range]") {
  CHECK(names(message_of([] { kernel_cross_entropy_error(3, -1.0, 4, 1.0); }), "kappa", "value = -1"));
  CHECK(names(message_of([] { linear_cross_entropy_error(3, 5, 1.0); }), "context_length", "value = 5"));
  CHECK(names(message_of([] { adaptive_cross_entropy_error(1, 1.0, 4, 1.0, QueryToken::excluded); }), "dimension",
              "value = 1"));
}

}  // namespace incontext::testing
