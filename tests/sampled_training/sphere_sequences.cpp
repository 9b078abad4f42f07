#include "incontext/sampled_training/sphere_sequences.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "incontext/scoring/softmax.hpp"
#include "incontext/simulate/classification/sphere_task.hpp"
#include "incontext/training/learned_map.hpp"
#include "incontext/training/sequence_transformer.hpp"
#include "support/catch.hpp"

namespace incontext::testing::sphere_sequences_test {

using training::SequenceExamples;
using training::SequenceShape;

constexpr SequenceShape shape{.features = 7, .outputs = 4, .width = 6, .heads = 1, .hidden = 5};
const simulate::SphereTask task{3, 4, 8, simulate::ContextLaw::balanced, 5};

SequenceExamples<double> drawn(const simulate::SphereTask& from, std::uint64_t index, std::uint64_t seed = 9) {
  SequenceExamples<double> examples;
  examples.resize(shape, 1, 9);
  training::sphere_sequences<double>(from, seed).draw(index, 9, examples, 0);
  return examples;
}

TEST_CASE("tokens of the sphere task are its points with their labels, then the query without one", "[training]") {
  CHECK(training::sphere_sequences<double>(task, 9).length(7) == 9);
  for (const std::uint64_t index : {0, 3, 1000}) {
    const auto context = simulate::draw_sphere_context<double>(task, 9, index);
    const auto examples = drawn(task, index);
    for (std::size_t j = 0; j < 9; ++j) {
      const auto token = examples.features.col(static_cast<Eigen::Index>(j));
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(token[static_cast<Eigen::Index>(i)] == (j < 8 ? context.inputs[3 * j + i] : context.query[i]));
      }
      for (std::int64_t c = 0; c < 4; ++c) CHECK(token[3 + c] == (j < 8 && context.labels[j] == c ? 1 : 0));
      CHECK(examples.weights[static_cast<Eigen::Index>(j)] == (j < 8 ? 0 : 1));
      CHECK(examples.targets.col(static_cast<Eigen::Index>(j)).sum() == (j < 8 ? 0 : 1));
    }
    CHECK(examples.targets(context.query_label, 8) == 1);
  }
  CHECK_THROWS_AS(drawn({3, 4, 9}, 0), std::invalid_argument);  // not balanced
}

TEST_CASE("a seed's sequences share their prototypes at all indices, and another seed's do not", "[training]") {
  const auto prototypes = [](std::uint64_t seed, std::uint64_t index) {
    return simulate::draw_sphere_context<double>(task, seed, index).prototypes;
  };
  const std::uint64_t held_out = std::uint64_t{5} << 58;  // a multiple of the 5 sets
  CHECK(prototypes(9, held_out + 2) == prototypes(9, 2));
  CHECK(prototypes(9, held_out + 2) != prototypes(9, 3));
  CHECK(prototypes(10, 2) != prototypes(9, 2));
  CHECK(drawn(task, held_out + 2).features != drawn(task, 2).features);
}

TEST_CASE("the order of the points has no effect on the query's answer, and their labels have", "[training]") {
  using Map = training::LearnedMap<scoring::Softmax<double>>;
  const training::SequenceTransformer<Map> model(shape, Map{{2}});
  std::vector<double> parameters;
  for (std::ptrdiff_t i = 0; i < model.layout().size(); ++i) {
    parameters.push_back(0.7 * std::sin(2.9 * static_cast<double>(i)));
  }
  const auto answer = [&](const SequenceExamples<double>& examples) {
    return Eigen::VectorXd(model.outputs(std::span<const double>(parameters), examples).col(8));
  };
  const auto examples = drawn(task, 4);
  auto turned = examples, relabeled = examples;
  turned.features.leftCols(8) = examples.features.leftCols(8).rowwise().reverse().eval();
  relabeled.features.bottomRows(4).leftCols(8) = turned.features.bottomRows(4).leftCols(8);
  CHECK((answer(turned) - answer(examples)).cwiseAbs().maxCoeff() <= 1e-14);
  CHECK((answer(relabeled) - answer(examples)).cwiseAbs().maxCoeff() > 1e-3);
}

}  // namespace incontext::testing::sphere_sequences_test
