// A program of docs/scoring.md, word for word: one row of scores through a map, its derivatives, and a masked key.
#include <cstdio>
#include <incontext/scoring/checked.hpp>
#include <incontext/scoring/parameter.hpp>
#include <incontext/scoring/ssmax.hpp>
#include <limits>
#include <vector>

namespace scoring = incontext::scoring;

int main() {
  constexpr double masked = -std::numeric_limits<double>::infinity();
  const scoring::SSMax<double> map{.scale = 0.43};
  const std::vector<double> scores{3.0, 1.0, masked, -0.5}, direction{1.0, 0.0, 0.0, 0.0};
  std::vector<double> weights(4), change(4), by_scale(4);

  scoring::checked::weights(map, scores, weights);        // n = 3: the masked key is not counted
  scoring::checked::jvp(map, scores, direction, change);  // d weights, if the first score grows
  scoring::checked::derivative(map, scoring::parameter::Scale{}, scores, by_scale);  // d weights / d scale
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::printf("score %4.1f  weight %.6f  jvp %9.6f  d/ds %9.6f\n", scores[i], weights[i], change[i], by_scale[i]);
  }
  return weights[2] == 0 ? 0 : 1;
}
