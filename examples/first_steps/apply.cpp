// Shown by docs/first_steps.md: a map on a matrix of scores under a causal mask.
#include <cstdio>
#include <incontext/apply/rows.hpp>
#include <incontext/scoring/ssmax.hpp>
#include <vector>

namespace scoring = incontext::scoring;

int main() {
  const std::vector<double> scores{2, 0, 0, 0,   // one row per query, one column per key
                                   2, 0, 0, 0,   //
                                   2, 0, 0, 0,   //
                                   2, 0, 0, 0};  //
  std::vector<double> weights(scores.size());
  const scoring::SSMax<double> map{.scale = 1};  // n is what a query sees, here 1, 2, 3 and 4 keys
  incontext::apply::weights(map, {scores.data(), 4, 4}, {weights.data(), 4, 4},
                            {.visibility = scoring::Visibility::causal});
  for (std::size_t i = 0; i < weights.size(); ++i) std::printf("%7.4f%s", weights[i], i % 4 == 3 ? "\n" : " ");
  return weights[1] == 0 ? 0 : 1;
}
