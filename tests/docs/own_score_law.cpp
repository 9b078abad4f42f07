// A program of docs/extending.md, word for word: competitors whose scores follow a law of one's own.
#include <cmath>
#include <cstdio>
#include <incontext/laws/retrieval_threshold.hpp>

struct TwoNormals {  // N(0, 1), and with a chance of 1% N(0, 4)
  double cumulants(double beta) const {
    return std::log(0.99 * std::exp(beta * beta / 2) + 0.01 * std::exp(2 * beta * beta));
  }
  double slope(double beta) const {
    const double usual = 0.99 * std::exp(beta * beta / 2), rare = 0.01 * std::exp(2 * beta * beta);
    return beta * (usual + 4 * rare) / (usual + rare);
  }
};

int main() {
  const auto mixed = incontext::laws::retrieval_threshold(TwoNormals{}, 100000, 1.0);
  const auto normal = incontext::laws::retrieval_threshold(incontext::laws::NormalLaw<double>{1}, 100000, 1.0);
  std::printf("score retrieved from 100000 competitors: %.4f, of normal ones %.4f\n", mixed.score, normal.score);
  std::printf("noise frozen from inverse temperature %.4f on, of normal ones %.4f\n", mixed.critical, normal.critical);
  return mixed.score > normal.score ? 0 : 1;
}
