#include <incontext/core/count.hpp>
#include <incontext/laws/gaussian_needle.hpp>
#include <incontext/simulate/rows/score_rows.hpp>

#include <algorithm>

#include "docs/explorer/panel.hpp"

namespace incontext::explorer {

namespace {

/// A row of n scores: the needle, and n - 1 competitors N(0, stddev^2), at inverse temperature beta.
auto weight(const Settings& at, double n, double beta) {
  return laws::needle_weight<double>(n - 1, beta * at.at("stddev"), beta * at.at("gap"));
}

double ssmax_beta(const Settings& at, double n) { return at.at("s") * std::log(n); }

const std::vector<double>& simulated_lengths() {
  static const std::vector<double> lengths{4, 16, 64, 256, 1024, 4096, 16384};
  return lengths;
}

Picture theory(const Settings& at) {
  Picture picture{{}, at.at("n"), simulated_lengths(), {}};
  for (const double n : log_axis(3, 1e7, 61)) picture.x.push_back(std::round(n));
  picture.curves.push_back(curve_of("softmax", picture, [&](double n) { return weight(at, n, 1); }));
  picture.curves.push_back(curve_of("SSMax", picture, [&](double n) { return weight(at, n, ssmax_beta(at, n)); }));
  return picture;
}

Simulated simulation(const Settings& at, const simulate::Options& options) {
  Simulated result(2);
  simulate::Options of_length = options;
  for (const double n : simulated_lengths()) {
    of_length.seed += 0x9E3779B97F4A7C15ULL;
    of_length.trials = std::max<std::int64_t>(64, std::llround(static_cast<double>(options.trials) * 64 / (64 + n)));
    const auto row = simulate::normal_scores(std::llround(n) - 1, at.at("stddev") * at.at("stddev"));
    const auto run = simulate::score_rows(row.with_needle(at.at("gap")), {1, ssmax_beta(at, n)}, of_length);
    for (std::size_t i = 0; i < 2; ++i) result[i].push_back(run.at(i, simulate::RowFunctional::needle_weight));
  }
  return result;
}

}  // namespace

Panel needle_panel() {
  return {.name = "needle",
          .tab = "Needle",
          .title = "A needle in a long row",
          .text =
              "One score is above n - 1 normal scores of mean 0. How much weight does it keep as the row gets "
              "longer? SSMax multiplies the scores by s log n.",
          .source = "arXiv 2501.19399; exact law of this library",
          .x_label = "row length n",
          .y_label = "weight of the needle",
          .sliders = {{"gap", "height of the needle", 0, 12, 4.5},
                      {"stddev", "standard deviation of the others", 0.05, 3, 1},
                      {"s", "s of SSMax", 0.05, 1.5, 0.43},
                      {"n", "row length n", 3, 1e7, 1000, Scale::whole_logarithmic}},
          .theory = theory,
          .simulate = simulation};
}

}  // namespace incontext::explorer
