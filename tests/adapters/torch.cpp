#include "incontext/adapters/torch.hpp"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/forward_grad.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "incontext/scoring/checked.hpp"
#include "scoring/maps.hpp"
#undef CHECK  // torch's own
#include "support/catch.hpp"
#include "support/refusal.hpp"

namespace scoring = incontext::scoring;
namespace adapters = incontext::adapters;
namespace parameter = incontext::scoring::parameter;
using at::Tensor;
using incontext::testing::for_each_map;
using incontext::testing::for_each_parameter;
using torch::autograd::variable_list;

namespace {

constexpr double masked = -std::numeric_limits<double>::infinity();

template <class T>
constexpr at::ScalarType type_of = c10::CppTypeToScalarType<T>::value;

/// Scores of both signs without ties, and away from points where a map is not differentiable.
Tensor some_scores(at::IntArrayRef shape) {
  const Tensor scores = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < scores.numel(); ++i) {
    scores.data_ptr<double>()[i] = 1.5 * std::sin(1.3 + 2.9 * static_cast<double>(i)) + 0.25;
  }
  return scores;
}

/// A batch of 2 with 3 rows of 5 scores each: whole rows, rows with one score masked, and a row with three masked.
Tensor some_masked_scores() {
  Tensor scores = some_scores({2, 3, 5});
  scores[0][1][2] = masked;
  scores[1][0][0] = masked;
  for (const int j : {0, 1, 4}) scores[1][2][j] = masked;
  return scores;
}

using Operation = std::function<Tensor(const variable_list&)>;

/// The whole Jacobian by torch, with one backward pass per row.
Tensor jacobian_by_backward(const Operation& operation, const variable_list& inputs) {
  const Tensor result = operation(inputs);
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    Tensor cotangent = at::zeros(result.sizes(), result.options());
    cotangent.view({-1})[i] = 1;
    std::vector<Tensor> row;
    for (const Tensor& gradient : torch::autograd::grad({result}, inputs, {cotangent}, true)) {
      row.push_back(gradient.reshape({-1}));
    }
    rows.push_back(at::cat(row));
  }
  return at::stack(rows);
}

/// The whole Jacobian by central differences over every element of every input; a masked score stays masked.
Tensor jacobian_by_differences(const Operation& operation, const variable_list& inputs) {
  const at::NoGradGuard no_graph;
  constexpr double step = 1e-5;
  std::vector<Tensor> columns;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    for (std::int64_t i = 0; i < inputs[k].numel(); ++i) {
      variable_list moved = inputs;
      const auto at_distance = [&](double distance) {
        moved[k] = inputs[k].detach().clone();
        moved[k].view({-1})[i] += distance;
        return operation(moved).reshape({-1});
      };
      columns.push_back((at_distance(step) - at_distance(-step)) / (2 * step));
    }
  }
  return at::stack(columns, 1);
}

/// torch.autograd.gradcheck, tighter than its defaults.
bool gradients_agree(const Operation& operation, const variable_list& inputs) {
  variable_list leaves;
  for (const Tensor& input : inputs) leaves.push_back(input.detach().clone().requires_grad_());
  const Tensor exact = jacobian_by_backward(operation, leaves);
  const Tensor numerical = jacobian_by_differences(operation, leaves);
  return at::allclose(exact, numerical, /*rtol=*/1e-6, /*atol=*/1e-8);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous();
  const Tensor y = b.contiguous();
  return x.sizes() == y.sizes() && x.scalar_type() == y.scalar_type() &&
         std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

/// visit(row, row, ...) over the rows of contiguous tensors.
template <class T, class Visit, class... Tensors>
void over_rows(Visit visit, const Tensors&... tensors) {
  const std::int64_t length = std::get<0>(std::tie(tensors...)).size(-1);
  const std::int64_t count = std::get<0>(std::tie(tensors...)).numel() / length;
  for (std::int64_t i = 0; i < count; ++i)
    visit(scoring::Row<T>(tensors.template data_ptr<T>() + i * length, length)...);
}

template <class Map, class Parameter>
Tensor value_of(Map map, Parameter, at::IntArrayRef shape) {
  Tensor value = at::full(shape, static_cast<double>(Parameter::of(map)), at::kDouble);
  // rows that differ from each other, inside the domain of every parameter
  for (std::int64_t i = 0; i < value.numel(); ++i) value.view({-1})[i] *= 1 + 0.0625 * static_cast<double>(i);
  return value;
}

/// Softmax with derivatives that are wrong by one part in ten thousand.
struct WrongSoftmax {
  using value_type = double;
  double temperature = 0.75;
  double by_scores = 1;
  double by_temperature = 1;
  scoring::Softmax<double> right() const { return {temperature}; }
};
void scale(scoring::Row<double> row, double factor) {
  for (std::ptrdiff_t i = 0; i < row.size; ++i) row[i] *= factor;
}
void weights(const WrongSoftmax& map, scoring::Row<const double> scores, scoring::Row<double> out) {
  weights(map.right(), scores, out);
}
[[maybe_unused]] void jvp(const WrongSoftmax& map, scoring::Row<const double> scores,
                          scoring::Row<const double> direction, scoring::Row<double> out) {
  jvp(map.right(), scores, direction, out);
}
void vjp(const WrongSoftmax& map, scoring::Row<const double> scores, scoring::Row<const double> cotangent,
         scoring::Row<double> out) {
  vjp(map.right(), scores, cotangent, out);
  scale(out, map.by_scores);
}
void derivative(const WrongSoftmax& map, parameter::Temperature name, scoring::Row<const double> scores,
                scoring::Row<double> out) {
  derivative(map.right(), name, scores, out);
  scale(out, map.by_temperature);
}

}  // namespace

TEST_CASE("every map's gradient by the scores is the one of central differences") {
  for_each_map<double>([](const auto& map, const incontext::testing::Facts& facts) {
    INFO(facts.name);
    const auto operation = [&](const variable_list& in) { return adapters::weights(map, in[0]); };
    CHECK(gradients_agree(operation, {some_masked_scores()}));
  });
}

TEST_CASE("every map's gradient by each parameter is the one of central differences") {
  for_each_map<double>([](const auto& map, const incontext::testing::Facts& facts) {
    using Map = std::decay_t<decltype(map)>;
    for_each_parameter<Map>([&](auto name, const char* word) {
      using Parameter = decltype(name);
      for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {1}, {3, 1}, {2, 3, 1}}) {
        INFO(facts.name << ", " << word << ", dimensions " << shape.size());
        const auto operation = [&](const variable_list& in) { return adapters::weights<Parameter>(map, in[0], in[1]); };
        CHECK(gradients_agree(operation, {some_masked_scores(), value_of(map, name, shape)}));
      }
    });
  });
}

TEST_CASE("the gradients by several parameters at once are those of central differences") {
  const auto scalable = [](const variable_list& in) {
    return adapters::weights<parameter::Scale, parameter::Bias>(scoring::SSMax<double>{}, in[0], in[1], in[2]);
  };
  const Tensor scale = at::full({3, 1}, 0.5, at::kDouble);
  const Tensor bias = at::full({}, 0.25, at::kDouble);
  CHECK(gradients_agree(scalable, {some_masked_scores(), scale, bias}));

  const auto averaging = [](const variable_list& in) {
    return adapters::weights<parameter::Exponent, parameter::Base, parameter::Temperature>(scoring::SSA<double>{},
                                                                                           in[0], in[1], in[2], in[3]);
  };
  CHECK(gradients_agree(averaging, {some_masked_scores(), at::full({}, 2.5, at::kDouble),
                                    at::full({}, 0.5, at::kDouble), at::full({2, 1, 1}, 4.0, at::kDouble)}));
}

TEST_CASE("views: transposed, every second score, one row shared by all, negated") {
  const scoring::SSA<double> map{0.5, 2.0, 4.0};
  const Tensor scores = some_masked_scores();
  const Operation transposed = [&](const variable_list& in) { return adapters::weights(map, in[0].transpose(0, 2)); };
  const Operation skipping = [&](const variable_list& in) { return adapters::weights(map, in[0].slice(2, 0, 5, 2)); };
  const Operation shared = [&](const variable_list& in) { return adapters::weights(map, in[0][0].expand({4, 3, 5})); };
  for (const Operation& operation : {transposed, skipping, shared}) CHECK(gradients_agree(operation, {scores}));

  const Tensor view = some_scores({5, 3, 2}).transpose(0, 2);
  CHECK(!view.is_contiguous());
  CHECK(same_bits(adapters::weights(map, view), adapters::weights(map, view.contiguous())));
  const Tensor negated = at::_neg_view(view);  // a view that torch negates when it is read: memory has the other sign
  CHECK(same_bits(adapters::weights(map, negated), adapters::weights(map, -view)));
}

TEST_CASE("a wrong gradient is found") {
  const Tensor scores = some_masked_scores();
  const Tensor temperature = at::full({}, 0.75, at::kDouble);
  const auto judge = [&](const WrongSoftmax& map) {
    const auto operation = [&](const variable_list& in) {
      return adapters::weights<parameter::Temperature>(map, in[0], in[1]);
    };
    return gradients_agree(operation, {scores, temperature});
  };
  CHECK(judge({}));
  CHECK(!judge({.by_scores = 1.0001}));
  CHECK(!judge({.by_temperature = 1.0001}));

  const auto exchanged = [](const variable_list& in) {
    const auto right = adapters::weights<parameter::Scale>(scoring::SSMax<double>{1.0, 0.5}, in[0], in[1]);
    const auto other = adapters::weights<parameter::Bias>(scoring::SSMax<double>{1.0, 0.5}, in[0], in[1]);
    return right.detach() + other - other.detach();
  };
  CHECK(!gradients_agree(exchanged, {scores, at::full({}, 0.5, at::kDouble)}));
}

TEMPLATE_TEST_CASE("rows keep the bits the map gives them alone, forward and backward", "", float, double) {
  using T = TestType;
  Tensor scores = some_masked_scores();
  scores[0][2].fill_(masked);  // NaN in every entry
  scores = scores.to(type_of<T>);
  const Tensor cotangent = some_scores({2, 3, 5}).cos().to(type_of<T>);
  for_each_map<T>([&](const auto& map, const incontext::testing::Facts& facts) {
    INFO(facts.name);
    const Tensor expected = at::empty_like(scores);
    over_rows<T>([&](auto z, auto out) { weights(map, z, out); }, scores, expected);
    const Tensor leaf = scores.detach().clone().requires_grad_();
    const Tensor result = adapters::weights(map, leaf);
    CHECK(same_bits(result.detach(), expected));

    over_rows<T>([&](auto z, auto g, auto out) { vjp(map, z, g, out); }, scores, cotangent, expected);
    CHECK(same_bits(torch::autograd::grad({result}, {leaf}, {cotangent})[0], expected));
  });
}

TEST_CASE("the gradient by one number is the rows' sum, also in single precision") {
  const Tensor scores = some_masked_scores();
  const Tensor cotangent = some_scores({2, 3, 5}).cos();
  const auto gradient = [&](auto map) {
    using T = typename decltype(map)::value_type;
    const Tensor value = at::full({}, 0.5, type_of<T>).requires_grad_();
    const Tensor result = adapters::weights<parameter::Scale>(map, scores.to(type_of<T>), value);
    return torch::autograd::grad({result}, {value}, {cotangent.to(type_of<T>)})[0].template item<double>();
  };
  double sum = 0;
  over_rows<double>(
      [&](auto z, auto g) {
        const std::vector<double> row(z.data, z.data + z.size);
        const auto change = incontext::testing::derivative_of(scoring::SSMax<double>{0.5}, parameter::Scale{}, row);
        for (std::size_t j = 0; j < row.size(); ++j) sum += g[static_cast<std::ptrdiff_t>(j)] * change[j];
      },
      scores, cotangent);
  CHECK(std::abs(gradient(scoring::SSMax<double>{}) - sum) <= 1e-14);
  CHECK(std::abs(gradient(scoring::SSMax<float>{}) - sum) <= 1e-6);
}

TEST_CASE("torch's own operations, composed, have the same values and gradients") {
  const Tensor scores = some_masked_scores();
  const Tensor visible = scores.isfinite();
  const Tensor count = visible.sum(-1, true).to(at::kDouble);
  const Tensor cotangent = some_scores({2, 3, 5}).cos();
  const auto compare = [&](const Operation& ours, const Operation& theirs, const std::vector<double>& values) {
    variable_list inputs{scores.clone().requires_grad_()};
    for (const double value : values) inputs.push_back(at::full({3, 1}, value, at::kDouble).requires_grad_());
    const Tensor a = ours(inputs);
    const Tensor b = theirs(inputs);
    CHECK(at::allclose(a, b, 1e-13, 1e-14));
    const auto by_ours = torch::autograd::grad({a}, inputs, {cotangent});
    const auto by_theirs = torch::autograd::grad({b}, inputs, {cotangent});
    for (std::size_t k = 0; k < inputs.size(); ++k) CHECK(at::allclose(by_ours[k], by_theirs[k], 1e-12, 1e-14));
  };
  const auto softmax_of = [&](const Tensor& exponents) {
    return exponents.masked_fill(visible.logical_not(), masked).softmax(-1);
  };
  const auto finite = [&](const Tensor& z) { return z.masked_fill(visible.logical_not(), 0.0); };

  compare(
      [](const auto& in) {
        return adapters::weights<parameter::Temperature>(scoring::Softmax<double>{}, in[0], in[1]);
      },
      [&](const auto& in) { return softmax_of(finite(in[0]) / in[1]); }, {0.625});
  compare(
      [](const auto& in) {
        return adapters::weights<parameter::Scale, parameter::Bias>(scoring::SSMax<double>{}, in[0], in[1], in[2]);
      },
      [&](const auto& in) { return softmax_of(finite(in[0]) * (in[1] * count.log() + in[2])); }, {0.75, -0.25});
  compare(
      [](const auto& in) {
        return adapters::weights<parameter::Base, parameter::Exponent, parameter::Temperature>(
            scoring::SSA<double>{}, in[0], in[1], in[2], in[3]);
      },
      [&](const auto& in) {
        const Tensor z = finite(in[0]);
        return softmax_of(z.sign() * in[2] * (1 + in[1] * z.abs() / in[3]).log());
      },
      {0.5, 2.5, 1.25});
}

TEST_CASE("only what asks for a gradient gets one") {
  const scoring::SSMax<double> map{};
  const Tensor scores = some_scores({2, 4});
  const Tensor value = at::full({}, 0.5, at::kDouble);
  CHECK(!adapters::weights<parameter::Scale>(map, scores, value).requires_grad());

  const Tensor trained = value.clone().requires_grad_();
  adapters::weights<parameter::Scale>(map, scores, trained).square().sum().backward();
  CHECK(trained.grad().defined());
  CHECK(trained.grad().dim() == 0);
  CHECK(!scores.grad().defined());

  const Tensor asked = scores.clone().requires_grad_();
  const at::NoGradGuard no_graph;
  CHECK(!adapters::weights(map, asked).requires_grad());
}

namespace {

/// The gradient of the weights by the scores in[0], for the cotangent in[1], as an operation of its own.
template <class Weights>
Operation gradient_of(const Weights& weights_of) {
  return [=](const variable_list& in) {
    const at::AutoGradMode on(true);
    const Tensor scores = in[0].requires_grad() ? in[0] : in[0].detach().requires_grad_();
    return torch::autograd::grad({weights_of(scores)}, {scores}, {in[1]}, true, /*create_graph=*/true)[0];
  };
}

}  // namespace

TEST_CASE("second derivatives of softmax-like maps are those of central differences, as in gradgradcheck") {
  const Tensor cotangent = some_scores({2, 3, 5}).cos();
  incontext::testing::for_each_softmax_like<double>([&](const auto& map, const incontext::testing::Facts& facts) {
    INFO(facts.name);
    const auto gradient = gradient_of([=](const Tensor& z) { return adapters::weights(map, z); });
    CHECK(gradients_agree(gradient, {some_masked_scores(), cotangent}));
    const auto wrong = [=](const variable_list& in) {  // the cotangent's part is off by one part in ten thousand
      return gradient({in[0], in[1] + 1e-4 * (in[1] - in[1].detach())});
    };
    CHECK(!gradients_agree(wrong, {some_masked_scores(), cotangent}));
  });
  const Tensor temperature = at::full({}, 0.75, at::kDouble);
  CHECK(gradients_agree(gradient_of([=](const Tensor& z) {
                          return adapters::weights<parameter::Temperature>(scoring::Softmax<double>{}, z, temperature);
                        }),
                        {some_masked_scores(), cotangent}));
}

TEST_CASE("second derivatives that do not exist are refused, not taken for zero") {
  const Tensor scores = some_scores({2, 4}).requires_grad_();
  const Tensor value = at::full({}, 0.5, at::kDouble).requires_grad_();
  const Tensor upstream = some_scores({2, 4}).requires_grad_();
  const auto refused = [](const Tensor& gradient, const Tensor& by) {
    return incontext::testing::message_of<std::invalid_argument>([&] {
             torch::autograd::grad({gradient.sum()}, {by});
           }).find("adapters::weights: second derivatives do not exist") != std::string::npos;
  };
  const auto first = [&](const Tensor& weights_of, const Tensor& by) {
    return torch::autograd::grad({(upstream * weights_of).sum()}, {by}, {}, true, /*create_graph=*/true)[0];
  };
  const auto scalable = [&] { return adapters::weights<parameter::Scale>(scoring::SSMax<double>{}, scores, value); };
  for (const Tensor& by : {scores, value}) {
    CHECK(same_bits(first(scalable(), by).detach(), torch::autograd::grad({(upstream * scalable()).sum()}, {by})[0]));
    CHECK(refused(first(scalable(), by), value));
  }
  for (const Tensor& by : {scores, upstream}) CHECK(refused(first(scalable(), value), by));
  // not softmax after an elementwise map
  CHECK(refused(first(adapters::weights(scoring::Entmax<double>{1.5}, scores), scores), scores));
  const auto third = torch::autograd::grad({first(scalable(), scores).square().sum()}, {scores}, {}, true, true)[0];
  CHECK(refused(third, scores));
}

TEST_CASE("forward mode is refused") {
  const std::uint64_t level = torch::autograd::ForwardADLevel::get_next_idx();
  {
    const Tensor dual =
        at::_make_dual(some_scores({2, 4}), some_scores({2, 4}).cos(), static_cast<std::int64_t>(level));
    CHECK_THROWS_AS(adapters::weights(scoring::Softmax<double>{}, dual), c10::Error);
  }
  torch::autograd::ForwardADLevel::release_idx(level);
}

TEST_CASE("an input changed in place between the passes is found") {
  const Tensor value = at::full({}, 0.5, at::kDouble);
  const Tensor leaf = some_scores({2, 4}).requires_grad_();
  const Tensor scores = leaf * 2;
  const Tensor result = adapters::weights(scoring::Softmax<double>{}, scores);
  scores.mul_(2);
  CHECK_THROWS_AS(result.sum().backward(), c10::Error);
}

TEST_CASE("tensors of every rank and size are accepted, empty ones too") {
  const scoring::Softmax<double> map{};
  CHECK(adapters::weights(map, at::zeros({1}, at::kDouble)).item<double>() == 1);
  CHECK(at::equal(adapters::weights(map, at::zeros({4}, at::kDouble)), at::full({4}, 0.25, at::kDouble)));
  CHECK(adapters::weights(map, at::zeros({2, 0, 3}, at::kDouble)).sizes() == at::IntArrayRef({2, 0, 3}));

  const Tensor none = at::zeros({0, 3}, at::kDouble).requires_grad_();
  const Tensor temperature = at::ones({}, at::kDouble).requires_grad_();
  adapters::weights<parameter::Temperature>(map, none, temperature).sum().backward();
  CHECK(none.grad().sizes() == none.sizes());
  CHECK(temperature.grad().item<double>() == 0);

  const Tensor many = some_scores({2, 1, 3, 2, 2, 4});
  CHECK(same_bits(adapters::weights(map, many), adapters::weights(map, many.reshape({-1, 4})).reshape(many.sizes())));
  // enough rows for several threads
  const Tensor large = some_scores({3000, 64});
  CHECK(same_bits(adapters::weights(map, large)[2999], adapters::weights(map, large[2999])));
}

TEST_CASE("scores that can't be taken are refused by name") {
  const auto message = [](const Tensor& scores) {
    return incontext::testing::message_of<std::invalid_argument>(
        [&] { adapters::weights(scoring::Softmax<double>{}, scores); });
  };
  const std::string where = "incontext::adapters::weights: ";
  CHECK(message(at::zeros({3}, at::kLong)) ==
        where + "scores have another type than the map (value = Long; needs Double)");
  CHECK(message(at::zeros({3}, at::kFloat)) ==
        where + "scores have another type than the map (value = Float; needs Double)");
  CHECK(message(at::zeros({2, 0}, at::kDouble)) ==
        where + "last dimension of scores is too small (value = 0; needs at least 1)");
  CHECK(message(at::zeros({}, at::kDouble)) ==
        where + "number of dimensions of scores is too small (value = 0; needs at least 1)");
  CHECK(message(at::zeros({3}, at::TensorOptions(at::kDouble).device(at::kMeta))) ==
        where + "scores are not on the CPU (value = meta; needs cpu)");
  CHECK(message(at::zeros({3}, at::kDouble).to_sparse()) ==
        where + "scores are not dense (value = Sparse; needs Strided)");
  CHECK(message(Tensor()) == where + "scores are not defined (value = none; needs a tensor)");
}

TEST_CASE("a map outside its domain is refused, one from a tensor gives NaN as in the map") {
  const at::Tensor scores = at::zeros({3}, at::kDouble);
  CHECK_THROWS_AS(adapters::weights(scoring::Softmax<double>{-1}, scores), std::domain_error);
  CHECK_THROWS_AS(adapters::weights(scoring::Entmax<double>{1}, scores), std::domain_error);
  const at::Tensor temperature = at::full({}, -1.0, at::kDouble);
  const at::Tensor out =
      adapters::weights<scoring::parameter::Temperature>(scoring::Softmax<double>{}, scores, temperature);
  CHECK(std::isnan(out[0].item<double>()));
}

TEST_CASE("values that can't be taken are refused by name") {
  const auto message = [](const Tensor& value) {
    return incontext::testing::message_of<std::invalid_argument>([&] {
      adapters::weights<parameter::Scale>(scoring::SSMax<double>{}, at::zeros({2, 3}, at::kDouble), value);
    });
  };
  const std::string where = "incontext::adapters::weights: values of incontext::scoring::parameter::Scale ";
  CHECK(message(at::ones({}, at::kLong)) == where + "have another type than the map (value = Long; needs Double)");
  CHECK(message(at::ones({}, at::TensorOptions(at::kDouble).device(at::kMeta))) ==
        where + "are not on the CPU (value = meta; needs cpu)");
  CHECK(message(Tensor()) == where + "are not defined (value = none; needs a tensor)");
  for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{3}, {2, 3}, {3, 1}, {1, 2, 1}}) {
    CHECK(message(at::ones(shape, at::kDouble)).find(where + "have the wrong shape") == 0);
  }
}

TEST_CASE("what a tensor can go through is known when it is compiled") {
  STATIC_REQUIRE(adapters::TensorScoring<scoring::SSMax<float>>);
  STATIC_REQUIRE(adapters::TensorScoring<WrongSoftmax>);
  STATIC_REQUIRE_FALSE(adapters::TensorScoring<scoring::SSMax<long double>>);
  STATIC_REQUIRE_FALSE(adapters::TensorScoring<double>);
  STATIC_REQUIRE(adapters::Trainable<scoring::SSMax<double>, parameter::Bias>);
  STATIC_REQUIRE_FALSE(adapters::Trainable<scoring::Softmax<double>, parameter::Bias>);
  // the number of scores: it has a derivative but cannot be set
  STATIC_REQUIRE_FALSE(adapters::Trainable<scoring::SSMax<double>, parameter::VisibleCount>);
}
