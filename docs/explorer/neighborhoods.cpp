#include <incontext/classification/partition_function.hpp>
#include <incontext/classification/two_class_layer.hpp>
#include <incontext/simulate/classification/partition_function.hpp>

#include "docs/explorer/panel.hpp"

namespace incontext::explorer {

namespace {

const std::vector<double>& simulated_kappas() {
  static const std::vector<double> kappas{0.25, 0.5, 1, 2, 4, 8};
  return kappas;
}

Picture theory(const Settings& at) {
  const auto d = at.count("d"), n = at.count("n");
  Picture picture{log_axis(0.1, 100, 61), at.at("kappa"), simulated_kappas(), {}};
  const auto independent = [=](double kappa) {
    const double spread = classification::partition_function_variation(d, kappa, n, QueryToken::excluded);
    return spread * spread;
  };
  picture.curves.push_back(curve_of("independent points", picture, independent));
  picture.curves.push_back(curve_of("two classes", picture, [&](double kappa) {
    return independent(kappa) * classification::two_class_layer(d, kappa, n).variance_ratio;
  }));
  return picture;
}

Simulated simulation(const Settings& at, const simulate::Options& options) {
  Simulated result;
  simulate::Options of_law = options;
  for (const auto law : {simulate::ContextLaw::independent, simulate::ContextLaw::balanced}) {
    of_law.seed += 0x9E3779B97F4A7C15ULL;
    const simulate::SphereTask task{at.count("d"), 2, at.count("n"), law};
    const auto run = simulate::partition_function(task, simulated_kappas(), of_law);
    std::vector<statistics::Estimate> estimates;
    for (std::size_t i = 0; i < simulated_kappas().size(); ++i) {
      estimates.push_back(run.at(i, simulate::PartitionFunctionMetric::squared_deviation));
    }
    result.push_back(std::move(estimates));
  }
  return result;
}

}  // namespace

Panel neighborhoods_panel() {
  return {
      .name = "neighborhoods",
      .tab = "Adaptive rate",
      .title = "How much the adaptive rate adapts",
      .text =
          "Softmax divides the votes of a context by its partition function Z, the number of points near the "
          "query, so that its learning rate adapts. The picture has the relative variance of Z, for n points of the "
          "sphere and the kernel exp(κ (cosine − 1)), whose width is 1/√κ.",
      .source = "arXiv 2510.10425, Fig. 8a; exact law of this library",
      .x_label = "κ",
      .y_label = "Var Z / (E Z)²",
      .y_scale = Scale::logarithmic,
      .sliders = {{"d", "dimension d", 2, 20, 3, Scale::whole},
                  {"n", "context length n", 4, 1000, 100, Scale::whole_logarithmic, 2},
                  {"kappa", "κ", 0.1, 100, 1, Scale::logarithmic}},
      .theory = theory,
      .simulate = simulation};
}

}  // namespace incontext::explorer
