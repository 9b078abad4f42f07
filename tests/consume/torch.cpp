// The program of docs/torch.md, word for word: Scalable-Softmax in LibTorch, with one trained scale per head.
#include <torch/torch.h>
#include <incontext/adapters/torch.hpp>
#include <incontext/scoring/ssmax.hpp>

int main() {
  using incontext::scoring::SSMax, incontext::scoring::parameter::Scale;
  const auto scores = torch::randn({2, 4, 16, 16}, torch::requires_grad());  // batch, head, query, key
  const auto scale = torch::full({4, 1, 1}, 0.4, torch::requires_grad());    // of each head, to be trained
  const auto weights = incontext::adapters::weights<Scale>(SSMax<float>{}, scores, scale);
  weights.square().sum().backward();
  return scale.grad().gt(0).all().item<bool>() ? 0 : 1;  // larger scales give sharper rows
}
