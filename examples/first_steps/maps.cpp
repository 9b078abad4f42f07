// Shown by docs/first_steps.md: one row of scores by maps that are chosen at run time.
#include <cstdio>
#include <incontext/maps.hpp>
#include <vector>

namespace maps = incontext::maps;
namespace scoring = incontext::scoring;

int main(int argc, char** argv) {
  std::vector<const char*> names{"softmax", "ssmax", "entmax", "tanh"};
  if (argc > 1) names.assign(argv + 1, argv + argc);
  const std::vector<double> scores{2, 0.5, 0, -1};
  for (const char* name : names) {
    const maps::AnyMap<double> map = maps::find_map<double>(name);
    std::vector<double> out(scores.size());
    weights(map, scoring::Row<const double>(scores), scoring::Row<double>(out));
    std::printf("%-8s", name);
    for (const double weight : out) std::printf(" %7.4f", weight);
    for (const auto& parameter : maps::parameter_names(map)) std::printf("  %s", parameter.c_str());
    std::printf("\n");
  }
  return 0;
}
