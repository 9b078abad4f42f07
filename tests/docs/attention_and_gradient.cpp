// A program of docs/extending.md, word for word: a layer of attention without its matrix of weights, and its gradient.
#include <cmath>
#include <cstdio>
#include <incontext/apply/attention_gradient.hpp>
#include <incontext/scoring/ssmax.hpp>
#include <vector>

namespace apply = incontext::apply;
namespace scoring = incontext::scoring;

constexpr std::int64_t queries = 512, keys = 512, width = 16;

scoring::MatrixView<const double> view(const std::vector<double>& numbers) { return {numbers.data(), queries, width}; }
scoring::MatrixView<double> view(std::vector<double>& numbers) { return {numbers.data(), queries, width}; }

int main() {
  std::vector<double> q(queries * width), k(keys * width), v(keys * width), g(queries * width);
  for (std::size_t i = 0; i < q.size(); ++i) {
    const auto t = static_cast<double>(i);
    q[i] = std::sin(0.7 * t), k[i] = std::sin(1.3 * t), v[i] = std::cos(0.9 * t), g[i] = std::sin(0.4 * t);
  }
  const apply::Options causal{.visibility = scoring::Visibility::causal};

  // The loss is the sum of the outputs times g, as in any step of backpropagation.
  const auto loss = [&](double scale) {
    std::vector<double> out(queries * width);
    apply::attend(scoring::SSMax<double>{.scale = scale}, view(q), view(k), view(v), view(out), causal);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * g[i];
    return sum;
  };

  std::vector<double> dq(q.size()), dk(k.size()), dv(v.size());
  const auto by = apply::attention_gradient(scoring::SSMax<double>{.scale = 0.43}, view(q), view(k), view(v), view(g),
                                            {view(dq), view(dk), view(dv)}, causal);
  const double h = 1e-5, difference = (loss(0.43 + h) - loss(0.43 - h)) / (2 * h);
  std::printf("loss %.6f, derivative by SSMax' scale %.6f\n", loss(0.43), by.scale);
  std::printf("from a difference %.4f; by the last query's first entry %.6f\n", difference, dq[(queries - 1) * width]);
  return std::abs(by.scale - difference) < 1e-6 ? 0 : 1;
}
