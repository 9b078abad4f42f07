// A program of docs/extending.md, word for word: training attention with a scoring map that the library does not have.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <incontext/sampled_training/context_training.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/training/trainer.hpp>

namespace mine {

struct Phi {  // softmax(b asinh(z)): large scores count by their logarithm
  float b;
  bool in_domain() const { return b > 0; }
  bool decreasing() const { return false; }
  float value(float z) const { return b * std::asinh(z); }
  float difference(float z, float w) const { return value(z) - value(w); }
  float slope(float z) const { return b / std::sqrt(1 + z * z); }
  float curvature(float z) const { return -b * z / std::pow(1 + z * z, 1.5F); }
};

struct Asinh {
  using value_type = float;
  float b = 1;
  Phi elementwise(std::ptrdiff_t /*row_length*/) const { return {b}; }
};

}  // namespace mine

template <class Map>
double trained_loss(const char* name, const Map& map) {
  namespace training = incontext::training;
  const training::ContextLayer layer{.task = {.dimension = 3, .classes = 3, .context_length = 30}, .scale = 0.4};
  const training::ContextTraining attention(layer, map, {.batch = 256, .seed = 1});
  incontext::training::Trainer trainer(attention.initial(0.5), attention.gradient(), {.rate = {.peak = 0.05}});
  while (trainer.steps() < 500) trainer.step();
  const auto [loss, accuracy] = attention.evaluate(trainer.parameters(), 8192);
  std::printf("%s: held-out loss %.3f +- %.3f, accuracy %.3f\n", name, loss.mean, loss.standard_error, accuracy.mean);
  return loss.mean;
}

int main() {
  const double softmax = trained_loss("softmax    ", incontext::scoring::Softmax<float>{1});
  const double asinh = trained_loss("asinh map  ", mine::Asinh{2});
  return softmax < 0.5 && asinh < 0.5 ? 0 : 1;
}
