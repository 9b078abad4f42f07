// A program of docs/model.md, word for word: approximate and true softmax, each at its own best temperature.
#include <cstdio>
#include <incontext/regression/generalization_error.hpp>
#include <incontext/regression/pretrained_attention.hpp>
#include <incontext/regression/softmax_error.hpp>
#include <incontext/regression/softmax_optimum.hpp>
#include <incontext/regression/trained_attention.hpp>
#include <incontext/scoring/softmax.hpp>

namespace reg = incontext::regression;

bool print_errors(const char* layer, const reg::Attention<double>& attention, const reg::LinearTask<double>& shifted) {
  const auto approximate = reg::generalization_error(attention, shifted, 40);  // a parabola in 1/temperature
  const double closed_form = approximate.optimal_temperature();
  const auto softmax = [&](double temperature) {
    return reg::softmax_error(attention, shifted, 40, incontext::scoring::Softmax<double>{temperature}).value;
  };
  const auto best =
      reg::minimize_softmax_error(softmax, reg::SearchRange<double>{closed_form / 100, closed_form, closed_form * 100});

  std::printf("%s\ntemperature  approximate softmax  true softmax\n", layer);
  for (const double temperature : {1.0, closed_form, best.parameter}) {
    std::printf("%11.4f  %19.6f  %12.6f\n", temperature, approximate(temperature), softmax(temperature));
  }
  return best.error < softmax(closed_form);
}

int main() {
  const auto pretraining =
      reg::LinearTask<double>::isotropic({.dimension = 20, .task_variance = 0.05, .noise_variance = 0.1});
  const auto shifted = pretraining.with_input_covariance_scaled(2.0);
  const bool paper = print_errors("pretrained, Proposition 4.4", reg::pretrained_attention(pretraining, 40), shifted);
  const bool trained = print_errors("trained", reg::trained_attention(pretraining, 40), shifted);
  return paper && trained ? 0 : 1;
}
