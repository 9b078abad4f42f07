#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "incontext/training/sequence_transformer.hpp"
#include "support/worst.hpp"

/// Sequence transformers without any symmetry, and their gradients beside differences of the loss.
namespace incontext::testing::sequence {

using namespace training;

constexpr SequenceShape small_shape{.features = 3, .outputs = 2, .width = 4, .heads = 2, .layers = 1, .hidden = 3};

/// Parameters about which nothing is special, gains about 1.
template <class T>
std::vector<T> some_parameters(const SequenceLayout& layout, double scale = 0.6) {
  std::mt19937_64 generator(7);
  std::normal_distribution<double> normal;
  std::vector<T> parameters;
  for (const auto& at : layout.places()) {
    for (std::ptrdiff_t k = 0; k < at.size; ++k) {
      parameters.push_back(T((at.kind == PartKind::gain ? 1 : 0) + scale * normal(generator)));
    }
  }
  return parameters;
}

/// Three sequences of four tokens. Some tokens do not count; the targets are chances.
template <class T>
SequenceExamples<T> some_examples(const SequenceShape& shape, int length = 4, int sequences = 3) {
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  SequenceExamples<T> examples;
  examples.resize(shape, sequences, length);
  for (Eigen::Index j = 0; j < examples.features.cols(); ++j) {
    for (Eigen::Index i = 0; i < shape.features; ++i) examples.features(i, j) = T(normal(generator));
    const double chance = static_cast<double>(j % 3) / 2;
    for (Eigen::Index i = 0; i < shape.outputs; ++i)
      examples.targets(i, j) = T(i == 0 ? chance : i == 1 ? 1 - chance : 0);
    examples.weights[j] = T(j % 4 == 1 ? 0 : 0.2 + 0.1 * static_cast<double>(j % 5));
  }
  return examples;
}

/// For each part, the largest error of its gradient against fourth-order differences of the loss, over the part's
/// largest entry. `factor` other than 1 is a wrong gradient.
template <class Map>
Worst gradient_error(const SequenceShape& shape, std::vector<Map> maps, SequenceLoss loss, double step_size,
                     double factor = 1) {
  using T = typename Map::value_type;
  const SequenceTransformer<Map> model(shape, std::move(maps));
  const auto examples = some_examples<T>(shape);
  std::vector<T> parameters = some_parameters<T>(model.layout());
  const auto loss_at = [&] { return model.gradient(std::span<const T>(parameters), loss, examples).loss; };
  const auto gradient = model.gradient(std::span<const T>(parameters), loss, examples).gradient;
  const T step = T(step_size);
  Worst worst;
  for (const auto& at : model.layout().places()) {
    T largest = T(0), error = T(0);
    for (std::ptrdiff_t i = 0; i < at.size; ++i) {
      const auto k = static_cast<std::size_t>(at.first + i);
      using std::abs;
      largest = std::max(largest, T(abs(gradient[k])));
      const T center = parameters[k];
      T difference = T(0);
      for (const auto& [shift, weight] : {std::pair{1, 8}, std::pair{2, -1}}) {
        parameters[k] = T(center + T(shift) * step);
        difference += T(weight) * loss_at();
        parameters[k] = T(center - T(shift) * step);
        difference -= T(weight) * loss_at();
      }
      parameters[k] = center;
      error = std::max(error, T(abs(T(difference / (T(12) * step) - T(factor) * gradient[k]))));
    }
    if (at.size > 0)
      worst.add(static_cast<double>(T(error / largest)), transformer_part_names[static_cast<std::size_t>(at.part)]);
  }
  return worst;
}

template <class Map>
Worst gradient_error(const SequenceShape& shape, const Map& map, SequenceLoss loss, double step_size,
                     double factor = 1) {
  return gradient_error(shape, std::vector<Map>{map, map}, loss, step_size, factor);
}

}  // namespace incontext::testing::sequence
