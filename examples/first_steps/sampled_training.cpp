// Shown by docs/first_steps.md: attention is trained to classify in context.
#include <cstdio>
#include <incontext/sampled_training.hpp>
#include <incontext/scoring/softmax.hpp>

namespace scoring = incontext::scoring;
namespace training = incontext::training;

int main() {
  const training::ContextLayer layer{.task = {.dimension = 3, .classes = 3, .context_length = 30}, .scale = 0.4};
  const training::ContextTraining attention(layer, scoring::Softmax<float>{1}, {.batch = 256, .seed = 1});
  training::Trainer trainer(attention.initial(0.5), attention.gradient(), {.rate = {.peak = 0.05}});
  std::printf("steps  held-out loss +- error  accuracy\n");
  for (const int steps : {0, 20, 100, 500}) {
    while (trainer.steps() < steps) trainer.step();
    const auto [loss, accuracy] = attention.evaluate(trainer.parameters(), 8192);
    std::printf("%5d         %.3f +- %.3f     %.3f\n", steps, loss.mean, loss.standard_error, accuracy.mean);
  }
  return 0;
}
