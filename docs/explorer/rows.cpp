#include <incontext/laws/gaussian_maximum.hpp>
#include <incontext/laws/gaussian_row.hpp>
#include <incontext/simulate/rows/score_rows.hpp>

#include <algorithm>

#include "docs/explorer/panel.hpp"

namespace incontext::explorer {

namespace {

const std::vector<double>& simulated_stddevs() {
  static const std::vector<double> stddevs{0.5, 1, 1.7, 2.5, 4, 6};
  return stddevs;
}

Picture theory(const Settings& at) {
  const double n = std::round(at.at("n"));
  Picture picture{{}, at.at("x"), simulated_stddevs(), {}};
  for (int i = 0; i <= 40; ++i) picture.x.push_back(0.2 * i);
  const auto row = [n](double x) { return laws::gaussian_row<double>(n, x); };
  picture.curves.push_back(curve_of("entropy / log n", picture, [&](double x) {
    return statistics::Theory(row(x).entropy / std::log(n), row(x).error_estimate);
  }));
  picture.curves.push_back(
      curve_of("largest weight", picture, [&](double x) { return laws::largest_weight<double>(n, x); }));
  picture.curves.push_back(curve_of("sum of squared weights", picture,
                                    [&](double x) { return statistics::Theory(row(x).ipr, row(x).error_estimate); }));
  return picture;
}

Simulated simulation(const Settings& at, const simulate::Options& options) {
  using simulate::RowFunctional;
  const auto n = at.count("n");
  simulate::Options of_length = options;
  of_length.trials = std::max<std::int64_t>(
      64, std::llround(static_cast<double>(options.trials) * 64 / (64 + static_cast<double>(n))));
  const auto run = simulate::score_rows(simulate::normal_scores(n, 1), simulated_stddevs(), of_length);
  Simulated result;
  for (const auto functional : {RowFunctional::entropy, RowFunctional::largest_weight, RowFunctional::ipr}) {
    const double unit = functional == RowFunctional::entropy ? std::log(static_cast<double>(n)) : 1;
    std::vector<statistics::Estimate> estimates;
    for (std::size_t i = 0; i < simulated_stddevs().size(); ++i) {
      statistics::Estimate estimate = run.at(i, functional);
      estimate.mean /= unit;
      estimate.standard_error /= unit;
      estimate.rounding /= unit;
      estimates.push_back(estimate);
    }
    result.push_back(std::move(estimates));
  }
  return result;
}

}  // namespace

Panel rows_panel() {
  return {.name = "rows",
          .tab = "Frozen rows",
          .title = "From even weights to a frozen row",
          .text =
              "Softmax over n normal scores whose standard deviation is x. Below x = √(2 log n) many scores share "
              "the weight; above it, a few have nearly all.",
          .source = "exact law of this library",
          .x_label = "standard deviation x of the scores",
          .y_label = "entropy / log n, largest weight, sum of squares",
          .sliders = {{"n", "row length n", 2, 30000, 1000, Scale::whole_logarithmic},
                      {"x", "standard deviation x", 0, 8, 3.7}},
          .theory = theory,
          .simulate = simulation};
}

}  // namespace incontext::explorer
