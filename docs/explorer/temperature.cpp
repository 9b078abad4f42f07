#include <incontext/regression/centered_ridge_risk.hpp>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/regression/softmax_optimum.hpp>
#include <incontext/scoring/approximate_softmax.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/simulate/regression/regression_error.hpp>

#include "docs/explorer/panel.hpp"

namespace incontext::explorer {

namespace {

/// A layer pretrained on inputs of variance 1 and noise 0.1, and the law that it meets now.
struct Situation {
  std::int64_t context_length;
  regression::Attention<double> attention;
  regression::LinearTask<double> met;
};

Situation situation_of(const Settings& at) {
  const auto dimension = at.count("d");
  const auto law = [&](double input_variance, double noise_variance) {
    return regression::LinearTask<double>::isotropic({.dimension = dimension,
                                                      .input_variance = input_variance,
                                                      .task_variance = 1 / static_cast<double>(dimension),
                                                      .noise_variance = noise_variance});
  };
  const auto l = at.count("l");
  return {l, regression::pretrained_attention(law(1, 0.1), l), law(at.at("shift"), at.at("noise"))};
}

const std::vector<double>& simulated_temperatures() {
  static const std::vector<double> temperatures{0.7, 1, 1.5, 2.2, 3.3, 5, 8, 16};
  return temperatures;
}

Picture theory(const Settings& at) {
  const auto [l, attention, met] = situation_of(at);
  Picture picture{log_axis(0.5, 25, 61), at.at("temperature"), simulated_temperatures(), {}};
  const auto parabola = regression::generalization_error(attention, met, l);
  picture.curves.push_back(
      curve_of("approximate softmax", picture, [&](double temperature) { return parabola(temperature); }));
  const double best = parabola.optimal_temperature();
  if (std::isfinite(best)) picture.curves.back().least = Least{best, parabola(best)};
  const auto softmax = [&, &attention = attention, &met = met, l = l](double t) {
    return regression::softmax_error(attention, met, l, scoring::Softmax<double>{t});
  };
  picture.curves.push_back(curve_of("softmax", picture, softmax));
  const auto least = regression::minimize_softmax_error([&](double t) { return softmax(t).value; },
                                                        regression::SearchRange<double>{0.05, 3, 3e4});
  constexpr double endless = 1e4;  // the error still falls: no temperature is better than having no scores
  if (least.parameter < endless) picture.curves.back().least = Least{least.parameter, least.error};
  const double least_risk = regression::centered_ridge_risk_equivalent(met, l + 1).risk;  // centering costs an example
  picture.curves.push_back({.name = "posterior mean (limit of large d)",
                            .values = std::vector<double>(picture.x.size(), least_risk),
                            .marked = least_risk,
                            .is_approximation = true});
  return picture;
}

Simulated simulation(const Settings& at, const simulate::Options& options) {
  const auto [l, attention, met] = situation_of(at);
  const auto run = [&, &attention = attention, &met = met, l = l](auto map) {
    return simulate::regression_error(attention, met, l, simulate::at_temperatures(simulated_temperatures(), map),
                                      options)
        .estimates;
  };
  return {run(scoring::ApproximateSoftmax<double>{}), run(scoring::Softmax<double>{})};
}

}  // namespace

Panel temperature_panel() {
  return {.name = "temperature",
          .tab = "Temperature",
          .title = "Temperature under a shift",
          .text =
              "A layer of attention was pretrained on inputs N(0, I), tasks N(0, I/d) and noise 0.1. It now meets "
              "other inputs and noise. Which temperature is best, for approximate softmax and for softmax? The rings "
              "and the "
              "table have the answer. The layer is that of Proposition 4.4, a limit of long contexts.",
          .source = "arXiv 2511.01292",
          .x_label = "temperature τ",
          .y_label = "mean squared error",
          .y_scale = Scale::logarithmic,
          .sliders = {{"d", "dimension d", 2, 40, 20, Scale::whole},
                      {"l", "context length l", 5, 400, 40, Scale::whole_logarithmic},
                      {"shift", "variance of the inputs", 0.25, 4, 2, Scale::logarithmic},
                      {"noise", "variance of the noise", 0, 4, 0.1},
                      {"temperature", "temperature τ", 0.5, 25, 1, Scale::logarithmic}},
          .theory = theory,
          .simulate = simulation};
}

}  // namespace incontext::explorer
