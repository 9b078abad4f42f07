#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "core.hpp"
#include "device_records.hpp"
#include "incontext/sampled_training/sphere_sequences.hpp"
#include "incontext/sampled_training/task_sequences.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/simulate/classification/classification_types.hpp"
#include "incontext/training/output_bound.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "transformer_training.hpp"

/// The transformers of sequences of incontext train, with its bits: of the affine task, of quantifiers, of the sphere
/// task or of one's own.
namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;
using SequenceMap = training::AnyLearnedMap<float>;
using Sequences = training::SequenceTraining<SequenceMap>;

/// Sequences and the sizes of their tokens.
struct Stream {
  int features, outputs;
  I length;
  training::SequenceStream<float> sequences;
};

/// Writes what a Python function drew into columns of examples.
void write_drawn(const std::tuple<DenseMatrix, DenseMatrix, DenseVector>& drawn, I length, Examples& examples,
                 Eigen::Index first) {
  constexpr auto where = "training::SequenceStream";
  const auto& features = std::get<0>(drawn).value;
  const auto& targets = std::get<1>(drawn).value;
  const auto& weights = std::get<2>(drawn).value;
  require_same_size(where, "tokens of the features", std::ptrdiff_t{features.rows()}, std::ptrdiff_t{length});
  require_same_size(where, "features", std::ptrdiff_t{features.cols()}, std::ptrdiff_t{examples.features.rows()});
  require_same_size(where, "tokens of the targets", std::ptrdiff_t{targets.rows()}, std::ptrdiff_t{length});
  require_same_size(where, "targets", std::ptrdiff_t{targets.cols()}, std::ptrdiff_t{examples.targets.rows()});
  require_same_size(where, "weights", std::ptrdiff_t{weights.size()}, std::ptrdiff_t{length});
  examples.features.middleCols(first, length) = features.transpose().cast<float>();
  examples.targets.middleCols(first, length) = targets.transpose().cast<float>();
  examples.weights.segment(first, length) = weights.cast<float>();
}

Stream stream_of(nb::handle given) {
  const auto seed = [&] { return whole_field<std::uint64_t>(given, "seed"); };
  const auto number = [&](const char* name) { return number_of(given, name); };
  if (is(given, "training.SphereSequences")) {
    const auto task = nb::cast<simulate::SphereTask>(given.attr("task"));
    simulate::validate(task);
    return {static_cast<int>(task.dimension + task.classes), static_cast<int>(task.classes), task.context_length + 1,
            training::sphere_sequences<float>(task, seed())};
  }
  const bool is_affine = is(given, "training.AffineSequences"), is_own = is(given, "training.SequenceStream");
  if (!is_affine && !is_own && !is(given, "training.QuantifierSequences")) {
    throw nb::type_error(
        "incontext.training.SequenceTraining: the sequences must be AffineSequences, QuantifierSequences, "
        "SphereSequences or a SequenceStream");
  }
  const I length = whole_field<I>(given, "length");
  require_at_least("training::SequenceStream", "length", length, I{1});
  if (is_affine) {
    const simulate::AffineSequences<float> task{
        seed(), number("input_stddev"), number("function_stddev"),
        given.attr("first_input_stddev").is_none() ? number("input_stddev") : number("first_input_stddev")};
    return {training::affine_features, 1, length, training::affine_sequences(task, length)};
  }
  if (!is_own) {
    const simulate::QuantifierSequences<float> task{seed(), number("input_stddev")};
    return {training::quantifier_features, 2, length,
            training::quantifier_sequences(task, chosen_field<training::Quantifier>(given, "quantifier"),
                                           chosen_field<training::QuantifierNumbers>(given, "numbers"), length)};
  }
  const auto draw = std::make_shared<nb::object>(given.attr("draw"));
  return {whole_field<int>(given, "features"),
          whole_field<int>(given, "outputs"),
          length,
          {.loss = chosen_field<training::SequenceLoss>(given, "loss"),
           .length = [length](I) { return length; },
           .draw =
               [draw](std::uint64_t index, I tokens, Examples& examples, Eigen::Index first) {
                 const nb::gil_scoped_acquire lock;
                 write_drawn(nb::cast<std::tuple<DenseMatrix, DenseMatrix, DenseVector>>((*draw)(index, tokens)),
                             tokens, examples, first);
               }}};
}

/// A map of scoring, or a LearnedMap of one with the names of the parameters that are trained.
SequenceMap sequence_map(nb::handle given) {
  if (!is(given, "training.LearnedMap")) return any_map<float>(given);
  const auto trained = nb::cast<std::vector<std::string>>(nb::list(given.attr("parameters")));
  return {any_map<float>(given.attr("map")), trained};
}

/// The parameters of every head's map, layer by layer.
std::vector<std::vector<std::vector<D>>> numbers_of_maps(const training::SequenceTransformer<SequenceMap>& model,
                                                         Parameters at) {
  require_same_size("training::SequenceTraining", "parameters", std::ssize(at), model.layout().size());
  std::vector<std::vector<std::vector<D>>> layers;
  for (int layer = 0; layer < model.layout().shape().layers; ++layer) {
    const training::Matrix<float> own =
        model.layout().part(at.data(), training::TransformerPart::map, layer).template cast<float>();
    auto& heads = layers.emplace_back();
    for (std::size_t head = 0; head < model.maps().size(); ++head) {
      const auto values = model.maps()[head].values(own.col(static_cast<Eigen::Index>(head)).data());
      heads.emplace_back(values.begin(), values.end());
    }
  }
  return layers;
}

Transformer sequence_training(nb::handle sequences, const nb::list& maps, training::SequenceShape shape,
                              D initial_scale, const training::SequenceBatches& batches) {
  const Stream stream = stream_of(sequences);
  shape.features = stream.features;
  shape.outputs = stream.outputs;
  std::vector<SequenceMap> heads;
  for (const nb::handle map : maps) {
    heads.push_back(sequence_map(map));
    validate(heads.back().start());
  }
  const Sequences training({shape, heads}, stream.sequences, batches);
  Transformer result{
      {.initial = training.initial(initial_scale), .gradient = training.gradient(), .decays = training.decays()}};
  result.features = stream.features;
  result.parts = [training](Parameters at) { return parts_of(training.model().layout(), at); };
  result.trained_numbers = [training](Parameters at) { return numbers_of_maps(training.model(), at); };
  result.output_bound = [training](Parameters at, int output) {
    return training::output_bound(training.model().layout(), at, output);
  };
  result.outputs = [training, outputs = stream.outputs](Parameters at, const Examples& given, I count) {
    const I length = given.length;
    std::vector<float> all(static_cast<std::size_t>(count * length * outputs));
    const training::SequenceStream<float> copied{
        .length = [length](I) { return length; },
        .draw =
            [&](std::uint64_t index, I tokens, Examples& examples, Eigen::Index first) {
              examples.features.middleCols(first, tokens) =
                  given.features.middleCols(static_cast<Eigen::Index>(index) * tokens, tokens);
            }};
    training.each_output(at, copied, count, length,
                         [&](I first, const Examples&, const training::Matrix<float>& found) {
                           std::copy(found.data(), found.data() + found.size(), all.data() + first * length * outputs);
                         });
    return all;
  };
  return result;
}

/// The values of examples, one row each.
Eigen::Matrix<I, Eigen::Dynamic, 4, Eigen::RowMajor> values_of(
    const std::vector<training::ReasoningExample>& examples) {
  Eigen::Matrix<I, Eigen::Dynamic, 4, Eigen::RowMajor> values(std::ssize(examples), 4);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    for (std::size_t k = 0; k < 4; ++k) {
      values(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(k)) = examples[i].values[k];
    }
  }
  return values;
}

void bind_transformer_class(nb::module_& m) {
  nb::class_<Transformer, Sampled>(m, "TransformerTraining", "A transformer, its maps and its batches.")
      .def(
          "parts", [](const Transformer& self, const DenseVector& at) { return self.parts(plain(at)); }, "parameters"_a)
      .def(
          "trained_numbers",
          [](const Transformer& self, const DenseVector& at) { return self.trained_numbers(plain(at)); },
          "parameters"_a)
      .def(
          "output_bound",
          [](const Transformer& self, const DenseVector& at, int output) {
            return self.output_bound(plain(at), output);
          },
          "parameters"_a, "output"_a)
      .def(
          "outputs",
          [](const Transformer& self, const DenseVector& parameters, const DenseMatrix& tokens, I length) {
            const std::vector<D> at = plain(parameters);
            require_same_size("training::SequenceTraining::outputs", "features", tokens.value.cols(),
                              Eigen::Index{self.features});
            Examples given;
            given.length = length;
            given.features = tokens.value.transpose().cast<float>();
            const auto found = interruptible([&] { return self.outputs(at, given, given.features.cols() / length); });
            return Eigen::VectorXf(Eigen::Map<const Eigen::VectorXf>(found.data(), std::ssize(found)));
          },
          "parameters"_a, "tokens"_a, "length"_a)
      .def(
          "measure",
          [](const Transformer& self, const DenseVector& parameters, I step) {
            const std::vector<D> at = plain(parameters);
            return interruptible([&] { return self.measure(at, step); });
          },
          "parameters"_a, "step"_a)
      .def_prop_ro("trained", [](const Transformer& self) { return values_of(self.trained); })
      .def_prop_ro("held_out", [](const Transformer& self) { return values_of(self.held_out); });
}

}  // namespace

void bind_reasoning(Room& room);

void bind_transformers(Room& room) {
  nb::module_& m = room.module();
  bind_transformer_class(m);
  bind_reasoning(room);
  m.def(
      "_sequence_training",
      [](const nb::object& sequences, const nb::list& maps, int width, int layers, int hidden, int map_parameters,
         training::LayerNorms norms, D initial_scale, I batch, std::uint64_t seed, const nb::object& device,
         int threads) {
        const training::SequenceShape shape{.width = width,
                                            .heads = static_cast<int>(nb::len(maps)),
                                            .layers = layers,
                                            .hidden = hidden,
                                            .map_parameters = map_parameters,
                                            .norms = norms};
        return sequence_training(sequences, maps, shape, initial_scale, {seed, batch, device_of(device), threads});
      },
      "sequences"_a, "maps"_a, "width"_a, "layers"_a, "hidden"_a, "map_parameters"_a, "norms"_a, "initial_scale"_a,
      "batch"_a, "seed"_a, "device"_a, "threads"_a, "What incontext.training.SequenceTraining is made of.");
  m.def(
      "_drawn_sequences",
      [](const nb::object& sequences, std::uint64_t first, I count, I length) {
        const Stream stream = stream_of(sequences);
        require_at_least("training::SequenceStream", "count", count, I{1});
        const I tokens = length > 0 ? length : stream.length;
        Examples drawn;
        drawn.resize({.features = stream.features, .outputs = stream.outputs}, count, tokens);
        for (I i = 0; i < count; ++i) {
          stream.sequences.draw(first + static_cast<std::uint64_t>(i), tokens, drawn, i * tokens);
        }
        return std::tuple(Eigen::MatrixXf(drawn.features.transpose()), Eigen::MatrixXf(drawn.targets.transpose()),
                          Eigen::VectorXf(drawn.weights), tokens);
      },
      "sequences"_a, "first"_a, "count"_a, "length"_a, "Sequences of a stream: features, targets, weights, length.");
}

}  // namespace incontext::python
