#include "examples/calibrate/plot.hpp"

#include <incontext/calibration/centered_needle.hpp>
#include <incontext/laws/gaussian_row.hpp>

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>

#include "examples/support/svg_plot.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

using calibration::RowStatistic;

/// The lengths of a predicted curve: eight per octave, and the trained length, whose value the tables have too.
std::set<std::int64_t> curve_lengths(std::int64_t trained_length) {
  std::set<std::int64_t> lengths{trained_length, 8 * trained_length};
  for (double n = 2; n < 8 * static_cast<double>(trained_length); n *= std::exp2(0.125)) {
    lengths.insert(std::llround(n));
  }
  return lengths;
}

/// The value that the tables predict; nothing where the law is not known to within the width of the curve.
std::optional<double> predicted_at(std::int64_t length, double score_stddev, double gap, RowStatistic which) {
  constexpr double width = 0.01;
  if (which == RowStatistic::entropy) return laws::gaussian_row<double>(length, score_stddev).entropy;
  const auto weight = calibration::centered_needle_weight(length, score_stddev, gap);
  return weight.error_estimate < width ? std::optional(weight.value) : std::nullopt;
}

Panel panel_of(const calibration::HeadDetail& one, RowStatistic which, const std::string& title) {
  Panel panel{.title = title, .x_label = "row length"};
  Series measured{.name = "measured", .line = false};
  for (const calibration::LengthBucket& bucket : one.measured.buckets) {
    const auto estimate = bucket.full.estimate(which);
    const double middle = std::sqrt(static_cast<double>(bucket.shortest) * static_cast<double>(bucket.longest));
    measured.points.push_back(
        {middle, estimate.mean, std::isfinite(estimate.standard_error) ? estimate.standard_error : 0});
  }
  Series predicted{.name = "predicted, normal scores of x = " + short_text(one.head.score_stddev, 3), .line = true};
  for (const std::int64_t n : curve_lengths(one.trained_length)) {
    const auto value = predicted_at(n, one.head.score_stddev, one.gap, which);
    if (value) predicted.points.push_back({static_cast<double>(n), *value, 0});
  }
  panel.series = {predicted, measured};
  return panel;
}

}  // namespace

std::string drawing_of(const calibration::HeadDetail& one) {
  const std::string head = "layer " + std::to_string(one.head.layer) + ", head " + std::to_string(one.head.head);
  return svg_of({panel_of(one, RowStatistic::entropy, "entropy in nats, " + head),
                 panel_of(one, RowStatistic::needle_weight,
                          "weight of a needle " + short_text(one.gap, 3) + " above the mean, " + head)});
}

}  // namespace incontext::examples::calibrate
