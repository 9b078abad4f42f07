#include <incontext/classification/kernel_mean.hpp>
#include <incontext/classification/two_class_kernel_risk.hpp>
#include <incontext/classification/two_class_risk.hpp>
#include <incontext/classification/two_class_risk_range.hpp>
#include <incontext/simulate/classification/classifiers.hpp>

#include "docs/explorer/panel.hpp"

namespace incontext::explorer {

namespace {

const std::vector<double>& simulated_kappas() {
  static const std::vector<double> kappas{0.2, 0.5, 1, 2, 4, 8};
  return kappas;
}

/// The fixed learning rate of kernel descent that equals the adaptive one in a context of average density.
double fixed_rate(std::int64_t dimension, double kappa, double gain) {
  return gain * std::exp(kappa - classification::log_kernel_mean(dimension, kappa));
}

Picture theory(const Settings& at) {
  const auto d = at.count("d"), n = at.count("n");
  const double gain = at.at("gain");
  Picture picture{log_axis(0.1, 15, 49), at.at("kappa"), simulated_kappas(), {}};
  picture.curves.push_back(approximation_of(
      "context-adaptive rate", picture,
      [=](double kappa) { return classification::adaptive_cross_entropy(d, kappa, n, gain, QueryToken::excluded); },
      [=](double kappa) {
        return classification::adaptive_cross_entropy_error(d, kappa, n, gain, QueryToken::excluded);
      }));
  picture.curves.push_back(approximation_of(
      "one rate for all contexts", picture,
      [=](double kappa) { return classification::kernel_cross_entropy(d, kappa, n, fixed_rate(d, kappa, gain)); },
      [=](double kappa) {
        return classification::kernel_cross_entropy_error(d, kappa, n, fixed_rate(d, kappa, gain));
      }));
  return picture;
}

Simulated simulation(const Settings& at, const simulate::Options& options) {
  using simulate::ClassificationRule;
  const auto d = at.count("d");
  const double gain = at.at("gain");
  std::vector<simulate::Classifier> classifiers;
  for (const double kappa : simulated_kappas()) {
    classifiers.push_back({ClassificationRule::adaptive, kappa, gain});
    classifiers.push_back({ClassificationRule::kernel, kappa, fixed_rate(d, kappa, gain)});
  }
  const auto run = simulate::classification({d, 2, at.count("n")}, classifiers, options);
  Simulated result(2);
  for (std::size_t i = 0; i < classifiers.size(); ++i) {
    result[i % 2].push_back(run.at(i, simulate::ClassificationMetric::loss));
  }
  return result;
}

}  // namespace

Panel adaptive_rate_panel() {
  return {.name = "adaptive-rate",
          .tab = "Kernel descent",
          .title = "Softmax attention as kernel descent",
          .text =
              "Two classes on the sphere, n labeled points. Softmax attention is a step of kernel gradient descent "
              "whose rate adapts to the context; the second curve is the same step at one rate for all contexts. Both "
              "curves take the context's noise as Gaussian. Where that may be wrong by more than 5%, with few points "
              "within the kernel's width, they are dotted, and the points, hollow there, are to be believed alone.",
          .source = "arXiv 2510.10425, eqs. 2 and 3",
          .x_label = "κ, one over the squared width of the kernel",
          .y_label = "cross entropy",
          .sliders = {{"d", "dimension d", 2, 12, 3, Scale::whole},
                      {"n", "context length n", 8, 400, 40, Scale::whole_logarithmic, 2},
                      {"gain", "gain c", 0.5, 40, 8, Scale::logarithmic},
                      {"kappa", "κ", 0.1, 15, 2, Scale::logarithmic}},
          .theory = theory,
          .simulate = simulation};
}

}  // namespace incontext::explorer
