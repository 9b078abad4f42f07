// Shown by docs/first_steps.md: is a head's scores' law normal, and how sharp must it be in longer rows?
#include <cmath>
#include <cstdio>
#include <incontext/calibration/head_calibration.hpp>
#include <incontext/calibration/held_quantity.hpp>
#include <vector>

namespace calibration = incontext::calibration;

int main() {
  std::vector<double> scores;  // 64 queries x 64 keys of one head; here a fixed pattern stands for a model's scores
  for (int i = 0; i < 64 * 64; ++i) scores.push_back(2 * std::sin(1.7 * i + 0.003 * i * i));
  const auto array =
      calibration::dense_scores(scores.data(), calibration::NumberType::float64, std::vector<std::int64_t>{64, 64});
  const auto head = calibration::calibrate_heads(calibration::measure_heads(array)).front();
  std::printf("x = %.3f, entropy %.3f, of normal scores %.3f: %s\n", head.score_stddev,
              head.comparison.entropy.estimate.mean, head.comparison.entropy.theory,
              head.normal_rows == incontext::statistics::Verdict::agrees ? "normal" : "not normal");
  const calibration::HeadScores<double> normal{.score_stddev = head.score_stddev};
  for (const int n : {64, 512, 8192}) {
    const auto held = calibration::holding_temperature<double>(calibration::Held::entropy, normal, n, 3.2);
    std::printf("entropy 3.2 at length %4d: inverse temperature %.4f\n", n, held.inverse_temperature);
  }
  return 0;
}
