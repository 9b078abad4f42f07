#include "incontext/training/reasoning_transformer.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <stdexcept>
#include <vector>

#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "incontext/training/reasoning_task.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/refusal.hpp"
#include "support/worst.hpp"

namespace incontext::testing {

using namespace training;

namespace reasoning {

using Number = long double;
using Parameters = std::vector<Number>;

constexpr ReasoningShape small_shape{.largest_value = 2, .width = 6, .heads = 2, .hidden = 5};

/// Parameters without any symmetry, gains about 1.
Parameters some_parameters(const ReasoningLayout& layout, double scale = 0.7) {
  std::mt19937_64 generator(11);
  std::normal_distribution<double> normal;
  Parameters parameters;
  for (const auto& place : layout.places()) {
    for (std::ptrdiff_t k = 0; k < place.size; ++k) {
      parameters.push_back(static_cast<Number>((place.kind == PartKind::gain ? 1 : 0) + scale * normal(generator)));
    }
  }
  return parameters;
}

std::vector<ReasoningExample> some_examples(int largest_value) {
  std::vector<ReasoningExample> examples;
  for (std::int64_t index = 0; index < reasoning_task(largest_value).inputs; index += 7) {
    examples.push_back(reasoning_example(largest_value, index));
  }
  examples[1].chance_of_c = 0.3;
  return examples;
}

/// The loss of one example, token by token, without tables, blocks or the gradient's code.
template <class Map>
Number loss_of(const ReasoningLayout& layout, const Map& map, const Parameters& parameters,
               const ReasoningExample& example) {
  using Column = std::vector<Number>;
  const ReasoningShape& shape = layout.shape();
  const auto entry = [&](TransformerPart part, int row, int column = 0) {
    return parameters[static_cast<std::size_t>(layout.place(part).first + row + column * layout.place(part).rows)];
  };
  const auto times = [&](TransformerPart part, const Column& x) {
    Column y(static_cast<std::size_t>(layout.place(part).rows), 0);
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) y[i] += entry(part, static_cast<int>(i), static_cast<int>(j)) * x[j];
    }
    return y;
  };
  const auto norm = [&](const Column& x, TransformerPart gain, TransformerPart shift) {
    Number mean = 0, square = 0;
    for (const Number v : x) mean += v / static_cast<Number>(x.size());
    for (const Number v : x) square += v * v / static_cast<Number>(x.size());
    Column y;
    for (const Number v : x) {
      const int i = static_cast<int>(y.size());
      y.push_back(entry(gain, i) * (v - mean) / std::sqrt(square - mean * mean + 1e-5) + entry(shift, i));
    }
    return y;
  };
  std::vector<Column> tokens(5, Column(static_cast<std::size_t>(shape.width)));
  for (int i = 0; i < shape.width; ++i) {
    for (int p = 0; p < 4; ++p) {
      tokens[static_cast<std::size_t>(p)][static_cast<std::size_t>(i)] =
          entry(TransformerPart::embedding, i, example.values[static_cast<std::size_t>(p)]) +
          entry(TransformerPart::position_embedding, i, p);
    }
    tokens[4][static_cast<std::size_t>(i)] = entry(TransformerPart::class_token, i);
  }
  std::vector<Column> keys, values;
  Column query;
  for (const Column& token : tokens) {
    const Column z = norm(token, TransformerPart::attention_norm_gain, TransformerPart::attention_norm_shift);
    keys.push_back(times(TransformerPart::key, z));
    values.push_back(times(TransformerPart::value, z));
    query = times(TransformerPart::query, z);
  }
  Column heads(static_cast<std::size_t>(shape.width), 0);
  for (int h = 0; h < shape.heads; ++h) {
    const auto first = static_cast<std::size_t>(h * shape.head_width()),
               last = first + static_cast<std::size_t>(shape.head_width());
    Column row(5, 0);
    for (std::size_t t = 0; t < 5; ++t) {
      for (std::size_t i = first; i < last; ++i) row[t] += keys[t][i] * query[i];
    }
    weights(map, scoring::Row<const Number>(row), scoring::Row<Number>(row));
    for (std::size_t t = 0; t < 5; ++t) {
      for (std::size_t i = first; i < last; ++i) heads[i] += row[t] * values[t][i];
    }
  }
  Column residual = tokens[4];
  const auto add = [&](const Column& more) {
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] += more[i];
  };
  const auto add_bias = [&](Column& to, TransformerPart bias) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += entry(bias, static_cast<int>(i));
  };
  add(times(TransformerPart::output, heads));
  Column hidden =
      times(TransformerPart::mlp_in, norm(residual, TransformerPart::mlp_norm_gain, TransformerPart::mlp_norm_shift));
  add_bias(hidden, TransformerPart::mlp_in_bias);
  for (Number& v : hidden) v = std::max(v, Number(0));
  Column out = times(TransformerPart::mlp_out, hidden);
  add_bias(out, TransformerPart::mlp_out_bias);
  add(out);
  Column logits =
      times(TransformerPart::head, norm(residual, TransformerPart::final_norm_gain, TransformerPart::final_norm_shift));
  add_bias(logits, TransformerPart::head_bias);
  Number total = 0;
  for (const Number v : logits) total += std::exp(v);
  const auto surprise = [&](std::int32_t answer) { return std::log(total) - logits[static_cast<std::size_t>(answer)]; };
  return example.chance_of_c * surprise(example.values[2]) + (1 - example.chance_of_c) * surprise(example.values[3]);
}

/// For each part, the largest error of its gradient against differences of the loss, over the largest entry of the
/// part. `sign` -1 is a wrong gradient.
template <class Map>
Worst gradient_error(const Map& map, Number sign = 1) {
  const ReasoningLayout layout(small_shape);
  const auto examples = some_examples(small_shape.largest_value);
  Parameters parameters = some_parameters(layout);
  const auto loss = [&] { return reasoning_gradient(layout, map, std::span<const Number>(parameters), examples).loss; };
  const auto gradient = reasoning_gradient(layout, map, std::span<const Number>(parameters), examples).gradient;
  Worst worst;
  for (const auto& place : layout.places()) {
    const auto first = static_cast<std::size_t>(place.first);
    const auto last = first + static_cast<std::size_t>(place.size);
    Number largest = 0, error = 0;
    for (std::size_t k = first; k < last; ++k) {
      largest = std::max(largest, std::abs(gradient[k]));
      constexpr Number step = 2e-5L;
      const Number center = parameters[k];
      Number difference = 0;
      // central differences of the fourth order
      for (const auto& [shift, factor] : {std::pair{1, 8.0L}, std::pair{2, -1.0L}}) {
        parameters[k] = center + static_cast<Number>(shift) * step;
        difference += factor * loss();
        parameters[k] = center - static_cast<Number>(shift) * step;
        difference -= factor * loss();
      }
      parameters[k] = center;
      error = std::max(error, std::abs(difference / (12 * step) - sign * gradient[k]));
    }
    worst.add(static_cast<double>(error / largest), transformer_part_names[static_cast<std::size_t>(place.part)]);
  }
  return worst;
}

}  // namespace reasoning

TEST_CASE("gradients of a reasoning transformer are differences of its loss, part by part, for any map", "[training]") {
  using reasoning::Number, reasoning::gradient_error;
  CHECK(gradient_error(scoring::Softmax<Number>{1.7L}) <= 1e-8);
  CHECK(gradient_error(scoring::NormSoftmax<Number>{1e3L}) <= 1e-8);  // every row has its own temperature
  CHECK(gradient_error(scoring::NormSoftmax<Number>{0.2L}) <= 1e-8);  // no row has
  CHECK(gradient_error(scoring::SSMax<Number>{0.6L}) <= 1e-8);
  CHECK(gradient_error(scoring::SSA<Number>{0.8L, 1.5L}) <= 1e-8);
  CHECK(gradient_error(foreign::Asinh<Number>(0.9L)) <= 1e-8);
  CHECK(gradient_error(foreign::SinkSoftmax<Number>(1.2L)) <= 1e-8);
  CHECK(gradient_error(scoring::Softmax<Number>{1.7L}, -1) > 1);  // the check can fail
  CHECK(gradient_error(scoring::Softmax<Number>{1.7L}, 1.0001L) > 1e-5);
}

TEST_CASE("the loss of a reasoning transformer is that of its definition, token by token", "[training]") {
  using reasoning::Number;
  const ReasoningLayout layout(reasoning::small_shape);
  const auto parameters = reasoning::some_parameters(layout);
  const auto examples = reasoning::some_examples(reasoning::small_shape.largest_value);
  const auto check = [&](const auto& map) {
    Number mean = 0;
    for (const auto& example : examples) mean += reasoning::loss_of(layout, map, parameters, example);
    mean /= static_cast<Number>(examples.size());
    const auto at = reasoning_gradient(layout, map, std::span<const Number>(parameters), examples);
    CHECK(std::abs(at.loss - mean) <= 1e-14L);
    CHECK(std::abs(1.01L * at.loss - mean) > 1e-3L);
  };
  check(scoring::Softmax<Number>{1.7L});
  check(scoring::NormSoftmax<Number>{1e3L});
  check(foreign::SinkSoftmax<Number>(1.2L));
}

TEST_CASE("float and double gradients of a reasoning transformer are long double's, rounded", "[training]") {
  using reasoning::Number;
  const ReasoningLayout layout({.largest_value = 3, .width = 40, .heads = 4, .hidden = 24});
  const auto examples = reasoning::some_examples(3);
  const auto exact = reasoning::some_parameters(layout, 0.2);
  const auto expected =
      reasoning_gradient(layout, scoring::Softmax<Number>{3}, std::span<const Number>(exact), examples);
  const auto check = [&]<class T>(T, double bound) {
    const std::vector<T> parameters(exact.begin(), exact.end());
    const auto at = reasoning_gradient(layout, scoring::Softmax<T>{3}, std::span<const T>(parameters), examples);
    Worst worst;
    Number largest = 0;
    for (const Number g : expected.gradient) largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < at.gradient.size(); ++i) {
      worst.add(static_cast<double>(std::abs(static_cast<Number>(at.gradient[i]) - expected.gradient[i]) / largest),
                "parameter ", i);
    }
    CHECK(worst <= bound);
    CHECK(std::abs(static_cast<double>(expected.loss) - static_cast<double>(at.loss)) <= bound);
    CHECK(std::abs(static_cast<double>(expected.accuracy) - static_cast<double>(at.accuracy)) <= 1e-12);
  };
  check(0.0f, 3e-5);
  check(0.0, 1e-13);
}

TEST_CASE("before training the loss is that of a guess, and equal scores are attended to alike", "[training]") {
  const ReasoningLayout layout({.largest_value = 10, .width = 8, .heads = 2, .hidden = 4});
  std::vector<double> parameters(static_cast<std::size_t>(layout.size()), 0.0);
  for (const auto& place : layout.places()) {
    if (place.kind == PartKind::gain) layout.part(parameters.data(), place.part).setOnes();
  }
  const std::vector<ReasoningExample> examples{reasoning_example(10, 1234), reasoning_example(10, 77)};
  const auto at =
      reasoning_gradient(layout, scoring::Softmax<double>{2}, std::span<const double>(parameters), examples);
  CHECK(std::abs(at.loss - std::log(11.0)) <= 1e-15);
  REQUIRE(at.entropy.size() == 2);
  CHECK(std::abs(at.entropy[0] - std::log(5.0)) <= 1e-15);
}

TEST_CASE("the examples of the reasoning task are all inputs, answered by the rule or by its coin", "[training]") {
  const auto task = reasoning_task(4);
  double by_rule = 0, by_coin = 0;
  for (std::int64_t i = 0; i < task.inputs; ++i) {
    const auto example = reasoning_example(4, i);
    const auto [a, b, c, d] = example.values;
    REQUIRE(((a * 5 + b) * 5 + c) * 5 + d == i);
    REQUIRE(example.chance_of_c == ((a + b) % 2 == 1 ? 1 : 0));
    by_rule += example.chance_of_c;
    by_coin += reasoning_example(4, i, ReasoningAnswers::coin).chance_of_c;
  }
  CHECK(std::abs(by_rule / static_cast<double>(task.inputs) - task.parities_differ) <= 1e-12);
  CHECK(std::abs(by_coin / static_cast<double>(task.inputs) - task.parities_differ) <= 1e-12);
}

TEST_CASE("weight decay acts on the matrices of a reasoning transformer", "[training]") {
  const ReasoningLayout layout(reasoning::small_shape);
  const auto decays = layout.decays();
  REQUIRE(std::ssize(decays) == layout.size());
  const auto at = [&](TransformerPart part) { return decays[static_cast<std::size_t>(layout.place(part).first)]; };
  CHECK(at(TransformerPart::query));
  CHECK(at(TransformerPart::mlp_out));
  CHECK(at(TransformerPart::embedding));
  CHECK_FALSE(at(TransformerPart::class_token));
  CHECK_FALSE(at(TransformerPart::mlp_in_bias));
  CHECK_FALSE(at(TransformerPart::final_norm_gain));
}

TEST_CASE("a reasoning transformer refuses what it cannot be, by name", "[training]") {
  CHECK(names(message_of([] { ReasoningLayout({.width = 10, .heads = 4}); }), "width", "10"));
  CHECK(names(message_of([] { ReasoningLayout({.heads = 0}); }), "heads", "0"));
  CHECK(names(message_of([] { ReasoningLayout({.largest_value = 0}); }), "largest_value", "0"));
  CHECK(names(message_of([] { ReasoningLayout({.hidden = 0}); }), "hidden", "0"));
  CHECK(names(message_of([] { reasoning_example(10, 14641); }), "index", "14641"));
  const ReasoningLayout layout(reasoning::small_shape);
  const std::vector<double> parameters(static_cast<std::size_t>(layout.size()));
  const auto refused = [&](std::span<const double> own, const std::vector<ReasoningExample>& examples, double tau = 1) {
    return message_of([&] { (void)reasoning_gradient(layout, scoring::Softmax<double>{tau}, own, examples); });
  };
  const std::vector<ReasoningExample> good{{.values = {0, 1, 2, 0}}};
  CHECK(names(refused(std::span(parameters).first(3), good), "parameters", "3"));
  CHECK(names(refused(parameters, {}), "number of examples", "0"));
  CHECK(names(refused(parameters, {{.values = {0, 1, 3, 0}}}), "value", "3"));
  CHECK(names(refused(parameters, {{.values = {0, 1, 2, 0}, .chance_of_c = 1.5}}), "chance_of_c", "1.5"));
  CHECK(names(refused(parameters, good, 0), "temperature", "0"));
}

TEST_CASE("the standard error of a reasoning loss is right where the losses hardly differ", "[training]") {
  const ReasoningLayout layout(reasoning::small_shape);
  std::vector<double> parameters(static_cast<std::size_t>(layout.size()), 0.0);
  auto bias = layout.part(parameters.data(), TransformerPart::head_bias);
  for (Eigen::Index value = 0; value < bias.size(); ++value) {
    bias(value) = value == 0 ? 1e9 : static_cast<double>(value);  // the answer is 0, and never right
  }
  const std::vector<ReasoningExample> examples{{.values = {0, 0, 1, 1}}, {.values = {0, 0, 2, 2}}};
  const auto at =
      reasoning_gradient(layout, scoring::Softmax<double>{1}, std::span<const double>(parameters), examples);
  REQUIRE(std::abs(at.loss - (1e9 - 1.5)) < 1e-6);
  CHECK(std::abs(at.loss_standard_error - 0.5 / std::sqrt(2.0)) < 1e-6);
}

}  // namespace incontext::testing
