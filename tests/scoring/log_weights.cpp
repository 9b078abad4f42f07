#include <cmath>
#include <limits>
#include <vector>

#include "scoring/maps.hpp"
#include "scoring/rows.hpp"
#include "support/catch.hpp"

namespace incontext::testing {

TEST_CASE("logarithms of weights are those of the weights, for every map that has them", "[scoring]") {
  Random random(91);
  std::vector<double> masked = random.normals(40, 2);
  masked[3] = masked[17] = -std::numeric_limits<double>::infinity();
  const std::vector<std::vector<double>> rows{{0.25}, {0.5, -1}, random.normals(3), random.normals(40, 2), masked};
  int compared = 0;
  for_each_map<double>([&](const auto& map, const Facts& facts) {
    if constexpr (requires(std::vector<double> row) { log_weights(map, row, row); }) {
      for (const std::vector<double>& z : rows) {
        const std::vector<double> weights = weights_of(map, z);
        std::vector<double> logarithms(z.size());
        log_weights(map, z, logarithms);
        for (std::size_t i = 0; i < z.size(); ++i) {
          CAPTURE(facts.name, z.size(), i, weights[i]);
          if (weights[i] > 1e-6) {  // the logarithm of a smaller weight may have fewer digits
            ++compared;
            CHECK(std::abs(logarithms[i] - std::log(weights[i])) < 1e-9);
          } else if (weights[i] == 0) {
            CHECK(logarithms[i] < -600);  // or the weight would be a number
          }
        }
      }
    }
  });
  CHECK(compared > 1000);
}

}  // namespace incontext::testing
