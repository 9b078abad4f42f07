// The gradients of training/ beside LibTorch's automatic differentiation of the same transformer, in double.

#include <ATen/ATen.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "incontext/scoring/softmax.hpp"
#include "incontext/training/sequence_transformer.hpp"
#undef CHECK  // torch's own
#include "support/catch.hpp"

namespace torch_training_test {

using at::Tensor;
using incontext::training::LayerNorms;
using incontext::training::LearnedMap;
using incontext::training::SequenceExamples;
using incontext::training::SequenceLayout;
using incontext::training::SequenceLoss;
using incontext::training::SequenceShape;
using incontext::training::SequenceTransformer;
using incontext::training::TransformerPart;
using Map = LearnedMap<incontext::scoring::Softmax<double>>;

constexpr double temperature = 1.7;

/// Numbers between -1 and 1 without a pattern.
double some_number(std::int64_t i) { return std::sin(1.3 + 2.9 * static_cast<double>(i)); }

SequenceExamples<double> some_examples(const SequenceShape& shape, SequenceLoss loss) {
  SequenceExamples<double> examples;
  examples.resize(shape, 3, 5);
  for (Eigen::Index j = 0; j < examples.features.cols(); ++j) {
    for (int i = 0; i < shape.features; ++i) examples.features(i, j) = some_number(7 * j + i);
    examples.weights[j] = j % 4 == 0 ? 0 : 0.3 + 0.1 * static_cast<double>(j % 3);
    if (loss == SequenceLoss::cross_entropy) {
      examples.targets(j % shape.outputs, j) = 1;
    } else {
      for (int i = 0; i < shape.outputs; ++i) examples.targets(i, j) = some_number(5 * j + i + 100);
    }
  }
  return examples;
}

/// A matrix of Eigen's, which stores columns, as torch's.
Tensor tensor_of(const Eigen::MatrixXd& matrix) {
  const Tensor copy = at::empty({matrix.cols(), matrix.rows()}, at::kDouble);
  std::copy(matrix.data(), matrix.data() + matrix.size(), copy.data_ptr<double>());
  return copy.t();
}

enum class Mask { causal, none };

/// The same transformer in torch's operations. Parameters are one vector in the layout's order.
class TorchTransformer {
 public:
  TorchTransformer(const SequenceLayout& layout, const Tensor& parameters, Mask mask)
      : layout_(layout), parameters_(parameters), mask_(mask) {}

  Tensor loss(SequenceLoss kind, const SequenceExamples<double>& examples) const {
    const SequenceShape& shape = layout_.shape();
    Tensor x = at::matmul(part(TransformerPart::embedding), tensor_of(examples.features));
    for (int i = 0; i < shape.layers; ++i) {
      x = x + at::matmul(part(TransformerPart::output, i),
                         attended(normalized(x, TransformerPart::attention_norm_gain, i), i, examples.length));
      if (shape.hidden == 0) continue;
      const Tensor z = normalized(x, TransformerPart::mlp_norm_gain, i);
      const Tensor hidden =
          at::relu(at::matmul(part(TransformerPart::mlp_in, i), z) + part(TransformerPart::mlp_in_bias, i));
      x = x + at::matmul(part(TransformerPart::mlp_out, i), hidden) + part(TransformerPart::mlp_out_bias, i);
    }
    const Tensor y = at::matmul(part(TransformerPart::head), normalized(x, TransformerPart::final_norm_gain, 0)) +
                     part(TransformerPart::head_bias);
    const Tensor target = tensor_of(examples.targets), weights = tensor_of(examples.weights).squeeze(1);
    const Tensor each =
        kind == SequenceLoss::squared_error ? (y - target).square().sum(0) : at::logsumexp(y, 0) - (y * target).sum(0);
    return (weights * each).sum() / static_cast<double>(examples.sequences());
  }

 private:
  Tensor part(TransformerPart which, int layer = 0) const {
    for (const auto& at : layout_.places()) {
      if (at.part != which || at.layer != layer) continue;
      return parameters_.slice(0, at.first, at.first + at.size).view({layout_.columns(which), layout_.rows(which)}).t();
    }
    throw std::logic_error("no such part");
  }

  Tensor normalized(const Tensor& x, TransformerPart gain, int layer) const {
    if (layout_.shape().norms == LayerNorms::none) return x;
    const Tensor shift = part(TransformerPart{static_cast<int>(gain) + 1}, layer);
    return at::layer_norm(x.t(), {layout_.shape().width}, part(gain, layer).squeeze(1), shift.squeeze(1), 1e-5).t();
  }

  Tensor attended(const Tensor& z, int layer, std::int64_t length) const {
    const Tensor queries = at::matmul(part(TransformerPart::query, layer), z);
    const Tensor keys = at::matmul(part(TransformerPart::key, layer), z);
    const Tensor values = at::matmul(part(TransformerPart::value, layer), z);
    const Tensor hidden = at::ones({length, length}, at::kBool).tril(-1);  // rows: keys, columns: queries
    const std::int64_t width = layout_.shape().head_width();
    std::vector<Tensor> sequences;
    for (std::int64_t first = 0; first < z.size(1); first += length) {
      std::vector<Tensor> heads;
      for (std::int64_t row = 0; row < z.size(0); row += width) {
        const auto block = [&](const Tensor& of) {
          return of.slice(0, row, row + width).slice(1, first, first + length);
        };
        Tensor scores = at::matmul(block(keys).t(), block(queries)) / temperature;
        if (mask_ == Mask::causal) scores = scores.masked_fill(hidden, -INFINITY);
        heads.push_back(at::matmul(block(values), at::softmax(scores, 0)));
      }
      sequences.push_back(at::cat(heads, 0));
    }
    return at::cat(sequences, 1);
  }

  const SequenceLayout& layout_;
  Tensor parameters_;
  Mask mask_;
};

struct Differences {
  double loss = 0, gradient = 0;  ///< the gradient's: over the largest entry of its part, the largest of all parts
};

Differences differences_of(const SequenceShape& shape, SequenceLoss kind, Mask mask) {
  const SequenceTransformer<Map> model(shape, Map{{temperature}});
  const SequenceLayout& layout = model.layout();
  std::vector<double> parameters;
  for (std::ptrdiff_t i = 0; i < layout.size(); ++i) parameters.push_back(0.7 * some_number(3 * i));
  const auto examples = some_examples(shape, kind);
  const auto own = model.gradient(parameters, kind, examples);

  const Tensor numbers = at::empty({static_cast<std::int64_t>(layout.size())}, at::kDouble);
  std::copy(parameters.begin(), parameters.end(), numbers.data_ptr<double>());
  numbers.set_requires_grad(true);
  const Tensor loss = TorchTransformer(layout, numbers, mask).loss(kind, examples);
  const Tensor gradient = torch::autograd::grad({loss}, {numbers})[0].contiguous();
  Differences result{.loss = std::abs(own.loss - loss.item<double>())};
  for (const auto& at : layout.places()) {
    double largest = 0, difference = 0;
    for (std::ptrdiff_t i = at.first; i < at.first + at.size; ++i) {
      const double theirs = gradient.data_ptr<double>()[i];
      largest = std::max(largest, std::abs(theirs));
      difference = std::max(difference, std::abs(own.gradient[static_cast<std::size_t>(i)] - theirs));
    }
    if (at.size > 0) result.gradient = std::max(result.gradient, largest == 0 ? difference : difference / largest);
  }
  return result;
}

TEST_CASE("gradients of a transformer are those of torch's automatic differentiation", "[adapters][training]") {
  const SequenceShape shape{.features = 3, .outputs = 4, .width = 8, .heads = 2, .layers = 2, .hidden = 12};
  for (const SequenceLoss loss : {SequenceLoss::cross_entropy, SequenceLoss::squared_error}) {
    for (const LayerNorms norms : {LayerNorms::first, LayerNorms::none}) {
      for (const int hidden : {12, 0}) {
        SequenceShape own = shape;
        own.norms = norms;
        own.hidden = hidden;
        const Differences at = differences_of(own, loss, Mask::causal);
        CAPTURE(static_cast<int>(loss), static_cast<int>(norms), hidden, at.loss, at.gradient);
        CHECK(at.loss <= 1e-12);
        CHECK(at.gradient <= 1e-11);
        CHECK(differences_of(own, loss, Mask::none).gradient > 1e-3);  // power: a token that sees later ones
      }
    }
  }
}

}  // namespace torch_training_test
