#include "examples/calibrate/plot.hpp"

#include <incontext/laws/gaussian_needle.hpp>
#include <incontext/laws/gaussian_row.hpp>

#include <cmath>

#include "examples/support/svg_plot.hpp"
#include "examples/support/text.hpp"

namespace incontext::examples::calibrate {

namespace {

using calibration::RowStatistic;

/// The lengths of a predicted curve: eight per octave.
std::vector<double> curve_lengths(double shortest, double longest) {
  std::vector<double> lengths;
  for (double n = shortest; n < longest; n = std::max(n + 1, std::round(n * std::exp2(0.125)))) lengths.push_back(n);
  lengths.push_back(longest);
  return lengths;
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
  const double longest = 8 * static_cast<double>(one.trained_length), x = one.head.score_stddev;
  for (const double n : curve_lengths(2, longest)) {
    const double value = which == RowStatistic::entropy ? laws::gaussian_row<double>(n, x).entropy
                                                        : laws::needle_weight<double>(n, x, one.gap).value;
    predicted.points.push_back({n, value, 0});
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
