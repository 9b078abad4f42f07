#include "incontext/training/sequence_transformer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "incontext/scoring/hardmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "incontext/training/reasoning_transformer.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/refusal.hpp"
#include "training/sequence_cases.hpp"

namespace incontext::testing::sequence_test {

using namespace sequence;
using namespace scoring::parameter;
using Number = long double;

constexpr double step = 2e-5, bound = 1e-8;
using LearnedSsa = LearnedMap<scoring::SSA<Number>, Base, Exponent>;
const LearnedSsa ssa{{0.8L, 1.5L, 1.3L}};

TEST_CASE("gradients of a sequence transformer are differences of its loss, part by part, for any map", "[training]") {
  const auto error = [](const auto& map) {
    return gradient_error(small_shape, map, SequenceLoss::squared_error, step);
  };
  CHECK(error(LearnedMap<scoring::Softmax<Number>, Temperature>{{1.7L}}) <= bound);
  CHECK(error(ssa) <= bound);
  CHECK(error(LearnedMap<scoring::SSMax<Number>, Scale, Bias>{{0.6L, 0.2L}}) <= bound);
  CHECK(error(LearnedMap<foreign::SinkSoftmax<Number>>{foreign::SinkSoftmax<Number>(1.2L)}) <= bound);
  CHECK(gradient_error(small_shape, ssa, SequenceLoss::squared_error, step, -1) > 1);  // the check can fail
  CHECK(gradient_error(small_shape, ssa, SequenceLoss::squared_error, step, 1.0001) > 1e-5);
}

TEST_CASE("gradients of a sequence transformer are right for both losses, with and without its parts", "[training]") {
  for (const auto loss : {SequenceLoss::squared_error, SequenceLoss::cross_entropy}) {
    for (const int hidden : {0, 3}) {
      SequenceShape shape = small_shape;
      shape.layers = 2;
      shape.hidden = hidden;
      shape.norms = hidden == 0 ? LayerNorms::none : LayerNorms::first;
      CHECK(gradient_error(shape, ssa, loss, step) <= bound);
    }
  }
}

TEST_CASE("heads of one layer may have different maps, and a map may be chosen at run time", "[training]") {
  using Any = AnyLearnedMap<Number>;
  const std::vector<Any> maps{Any{{scoring::RatioScore<scoring::Average, Number>{}}},
                              Any{{ssa.start}, {"base", "exponent"}}};
  CHECK(gradient_error(small_shape, maps, SequenceLoss::squared_error, step) <= bound);
  const auto examples = some_examples<Number>(small_shape);
  const auto check = [&](const Any& any, const auto& fixed_map, bool same) {
    const SequenceTransformer chosen(small_shape, std::vector<Any>(2, any));
    const SequenceTransformer fixed(small_shape, fixed_map);
    const auto parameters = some_parameters<Number>(fixed.layout());
    const auto by = [&](const auto& model) {
      return model.gradient(std::span<const Number>(parameters), SequenceLoss::squared_error, examples).gradient;
    };
    CHECK((by(chosen) == by(fixed)) == same);
  };
  check({{scoring::Softmax<Number>{1.7L}}}, LearnedMap<scoring::Softmax<Number>>{{1.7L}}, true);
  check({{ssa.start}, {"base", "exponent"}}, ssa, true);
  check({{ssa.start}, {"exponent", "base"}}, ssa, false);
  check({{ssa.start}, {"exponent", "base"}}, LearnedMap<scoring::SSA<Number>, Exponent, Base>{ssa.start}, true);
  const Number trained[]{0.3L, -0.2L};
  const auto values = Any({ssa.start}, {"exponent", "base"}).values(trained);
  CHECK(values == std::vector<Number>{1 + (ssa.start.exponent - 1) * std::exp(0.3L), ssa.start.base * std::exp(-0.2L)});
  const auto at_bound = [] { Any({scoring::SSA<Number>{1, 1, 2}}, {"exponent"}); };
  CHECK(refuses<std::domain_error>(at_bound, {"exponent", "value = 1", "above 1"}));
  const auto make = [](std::vector<std::string> trained) { return [=] { Any({ssa.start}, trained); }; };
  CHECK(
      refuses<std::invalid_argument>(make({"scale"}), {"value = scale; needs base, exponent, temperature, each once"}));
  CHECK(refuses<std::invalid_argument>(make({"base", "base"}), {"value = base"}));
  CHECK(refuses<std::invalid_argument>([] { Any({scoring::Hardmax<Number>{}}, {"alpha"}); }, {"none, for hardmax"}));
}

/// The same attention by other code: the reasoning transformer's values and positions are features, and its class token
/// is the last of five.
TEST_CASE("a sequence transformer of one-hot tokens is the reasoning transformer", "[training]") {
  const ReasoningShape other_shape{.largest_value = 2, .width = 6, .heads = 2, .hidden = 5};
  const ReasoningLayout other(other_shape);
  const int values = other_shape.values(), class_feature = values + 4;
  const SequenceShape shape{.features = class_feature + 1, .outputs = values, .width = 6, .heads = 2, .hidden = 5};
  const SequenceTransformer model(shape, LearnedMap<scoring::Softmax<Number>>{{1.7L}});
  const SequenceLayout& layout = model.layout();
  const auto parameters = some_parameters<Number>(layout);
  std::vector<Number> others(static_cast<std::size_t>(other.size()));
  // Every part of either, side by side.
  const auto embedding = layout.part(parameters.data(), TransformerPart::embedding);
  other.part(others.data(), TransformerPart::embedding) = embedding.leftCols(values);
  other.part(others.data(), TransformerPart::position_embedding) = embedding.middleCols(values, 4);
  other.part(others.data(), TransformerPart::class_token) = embedding.col(class_feature);
  std::vector<TransformerPart> shared;
  for (const auto& place : layout.places()) {
    if (place.size > 0 && place.part != TransformerPart::embedding) shared.push_back(place.part);
  }
  REQUIRE(shared.size() == 16);
  for (const TransformerPart part : shared) {
    other.part(others.data(), part) = layout.part(parameters.data(), part);
  }
  const std::vector<ReasoningExample> reasoning{
      reasoning_example(2, 17), reasoning_example(2, 70), {.values = {2, 0, 1, 2}, .chance_of_c = 0.3}};
  SequenceExamples<Number> examples;
  examples.resize(shape, std::ssize(reasoning), 5);
  for (std::size_t e = 0; e < reasoning.size(); ++e) {
    const auto last = static_cast<Eigen::Index>(5 * e + 4);
    for (int p = 0; p < 4; ++p) {
      const auto column = static_cast<Eigen::Index>(5 * e) + p;
      examples.features(reasoning[e].values[static_cast<std::size_t>(p)], column) = 1;
      examples.features(values + p, column) = 1;
    }
    examples.features(class_feature, last) = 1;
    examples.targets(reasoning[e].values[2], last) += static_cast<Number>(reasoning[e].chance_of_c);
    examples.targets(reasoning[e].values[3], last) += static_cast<Number>(1 - reasoning[e].chance_of_c);
    examples.weights[last] = 1;
  }
  const auto at = model.gradient(std::span<const Number>(parameters), SequenceLoss::cross_entropy, examples);
  const auto expected =
      reasoning_gradient(other, scoring::Softmax<Number>{1.7L}, std::span<const Number>(others), reasoning);
  CHECK(std::abs(at.loss - expected.loss) <= 1e-16L);
  CHECK(std::abs(at.loss_standard_error - expected.loss_standard_error) <= 1e-16L);
  const auto distance = [&](const auto& own, const auto& theirs) {
    return static_cast<double>((own - theirs).cwiseAbs().maxCoeff() / theirs.cwiseAbs().maxCoeff());
  };
  Worst worst;
  for (const TransformerPart part : shared) {
    worst.add(distance(layout.part(at.gradient.data(), part), other.part(expected.gradient.data(), part)),
              transformer_part_names[static_cast<std::size_t>(part)]);
  }
  const auto by_embedding = layout.part(at.gradient.data(), TransformerPart::embedding);
  worst.add(distance(by_embedding.leftCols(values), other.part(expected.gradient.data(), TransformerPart::embedding)),
            "values");
  worst.add(
      distance(by_embedding.col(class_feature), other.part(expected.gradient.data(), TransformerPart::class_token)),
      "class token");
  CHECK(worst <= 1e-15);
}

TEST_CASE("memory that another model left at other sizes changes no bit", "[training]") {
  using Map = LearnedMap<scoring::SSA<double>, Base, Exponent>;
  const Map map{{0.8, 1.5, 1.3}};
  SequenceShape larger = small_shape, plain = small_shape;
  larger.width = 8;
  larger.layers = 2;
  plain.hidden = 0;
  plain.norms = LayerNorms::none;
  SequenceTransformer<Map>::Memory memory;
  SequenceTransformer<Map>::Sums sums;
  for (const SequenceShape& shape : {small_shape, larger, small_shape, plain, larger}) {
    for (const int length : {4, 9, 2}) {
      const SequenceTransformer<Map> model(shape, map);
      const auto parameters = some_parameters<double>(model.layout());
      const auto examples = some_examples<double>(shape, length);
      const auto expected = model.gradient(parameters, SequenceLoss::squared_error, examples);
      model.sum(parameters, SequenceLoss::squared_error, examples, sums, memory);
      const auto found = model.means(SequenceLoss::squared_error, sums, examples.sequences());
      CHECK(found.loss == expected.loss);
      CHECK(found.gradient == expected.gradient);
      CHECK(model.outputs(parameters, examples, memory) == model.outputs(parameters, examples));
    }
  }
}

TEST_CASE("tokens do not see what comes after them", "[training]") {
  const SequenceTransformer model(small_shape, LearnedMap<scoring::Softmax<double>>{{1.7}});
  const auto parameters = some_parameters<double>(model.layout());
  auto examples = some_examples<double>(small_shape, 6, 2);
  const Matrix<double> before = model.outputs(std::span<const double>(parameters), examples);
  examples.features.col(3) *= -2;  // of the first sequence
  const Matrix<double> after = model.outputs(std::span<const double>(parameters), examples);
  CHECK(before.leftCols(3) == after.leftCols(3));
  CHECK(before.rightCols(6) == after.rightCols(6));
  for (int t = 3; t < 6; ++t) CHECK(before.col(t) != after.col(t));
}

TEST_CASE("attention without norms and with scores blind to a feature is linear in it", "[training]") {
  SequenceShape shape = small_shape;
  shape.hidden = 0;
  shape.norms = LayerNorms::none;
  const SequenceTransformer model(shape, LearnedMap<scoring::Softmax<double>>{{1.7}});
  auto parameters = some_parameters<double>(model.layout());
  auto examples = some_examples<double>(shape, 6, 2);
  for (const auto part : {TransformerPart::query, TransformerPart::key}) {  // scores read the other two features alone
    auto own = model.layout().part(parameters.data(), part);
    const auto label = model.layout().part(parameters.data(), TransformerPart::embedding).col(2).eval();
    own -= (own * label) * label.transpose() / label.squaredNorm();
  }
  const auto at = [&](double scale) {
    auto scaled = examples;
    scaled.features.row(2) *= scale;
    return model.outputs(std::span<const double>(parameters), scaled).eval();
  };
  const Matrix<double> zero = at(0);
  CHECK((at(10) - zero - 10 * (at(1) - zero)).cwiseAbs().maxCoeff() <= 1e-12);
}

TEST_CASE("float and double gradients of a sequence transformer are long double's, rounded", "[training]") {
  SequenceShape shape{.features = 3, .outputs = 2, .width = 16, .heads = 4, .layers = 2, .hidden = 24};
  using Exact = LearnedMap<scoring::Softmax<Number>>;
  const SequenceTransformer<Exact> exact(shape, Exact{{2}});
  const auto numbers = some_parameters<Number>(exact.layout(), 0.2);
  const auto expected = exact.gradient(std::span<const Number>(numbers), SequenceLoss::cross_entropy,
                                       some_examples<Number>(shape, 12, 5));
  const auto error = [&]<class T>(T) {
    using Own = LearnedMap<scoring::Softmax<T>>;
    const SequenceTransformer<Own> model(shape, Own{{2}});
    const std::vector<T> parameters(numbers.begin(), numbers.end());
    const auto at =
        model.gradient(std::span<const T>(parameters), SequenceLoss::cross_entropy, some_examples<T>(shape, 12, 5));
    Number largest = 0;
    Worst worst;
    for (const Number g : expected.gradient) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < at.gradient.size(); ++i) {
      worst.add(static_cast<double>(std::abs(static_cast<Number>(at.gradient[i]) - expected.gradient[i]) / largest),
                "parameter ", i);
    }
    return worst;
  };
  CHECK(error(0.0f) <= 3e-5);
  CHECK(error(0.0) <= 1e-13);
}

TEST_CASE("a sequence transformer refuses what it cannot be, by name", "[training]") {
  const auto refused = [](const SequenceShape& shape) { return message_of([&] { SequenceLayout{shape}; }); };
  CHECK(names(refused({.width = 10, .heads = 4}), "width", "10"));
  CHECK(names(refused({.features = 0}), "features", "0"));
  CHECK(names(refused({.outputs = 0}), "outputs", "0"));
  CHECK(names(refused({.heads = 0}), "heads", "0"));
  CHECK(names(refused({.layers = 9}), "layers", "9"));
  CHECK(names(refused({.hidden = -1}), "hidden", "-1"));
  using Map = LearnedMap<scoring::Softmax<double>>;
  CHECK(names(message_of([] { SequenceTransformer<Map>(small_shape, std::vector<Map>(3, Map{{1}})); }), "maps", "3"));
  const SequenceTransformer<Map> model(small_shape, Map{{1}});
  const auto parameters = some_parameters<double>(model.layout());
  const auto gradient = [&](std::span<const double> own, const SequenceExamples<double>& examples) {
    return message_of([&] { (void)model.gradient(own, SequenceLoss::squared_error, examples); });
  };
  auto examples = some_examples<double>(small_shape);
  CHECK(names(gradient(std::span(parameters).first(3), examples), "parameters", "3"));
  examples.length = 5;
  CHECK(names(gradient(parameters, examples), "length", "12"));
  examples.length = 4;
  examples.weights.resize(7);
  CHECK(names(gradient(parameters, examples), "weights", "7"));
}

TEST_CASE("the standard error of a sequence's loss is right where the losses hardly differ", "[training]") {
  using Map = LearnedMap<scoring::Softmax<double>>;
  const SequenceTransformer<Map> model({.features = 1, .width = 2, .heads = 1, .norms = LayerNorms::none}, Map{{1}});
  const std::vector<double> zero(static_cast<std::size_t>(model.layout().size()), 0.0);
  SequenceExamples<double> examples;
  examples.resize(model.layout().shape(), 4, 1);
  examples.weights.setOnes();
  double mean = 0, variance = 0;
  std::vector<double> losses;
  for (Eigen::Index i = 0; i < 4; ++i) {
    const double target = 1e6 + static_cast<double>(i * i) / 1024;
    examples.targets(0, i) = target;
    losses.push_back(target * target);
    mean += losses.back() / 4;
  }
  for (const double loss : losses) variance += (loss - mean) * (loss - mean) / 4;
  const auto at = model.gradient(zero, SequenceLoss::squared_error, examples);
  REQUIRE(std::abs(at.loss / mean - 1) < 1e-15);
  CHECK(std::abs(at.loss_standard_error / std::sqrt(variance / 4) - 1) < 1e-6);
}

}  // namespace incontext::testing::sequence_test
