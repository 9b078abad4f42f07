#include "incontext/training/output_bound.hpp"

#include <cmath>
#include <span>
#include <vector>

#include "incontext/scoring/softmax.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "training/sequence_cases.hpp"

namespace incontext::testing::output_bound_test {

using namespace sequence;
using Map = LearnedMap<scoring::Softmax<double>>;

TEST_CASE("no prompt takes an answer out of the range of the last layer norm, and one nearly does", "[training]") {
  SequenceShape shape = small_shape;
  shape.features = shape.width = 6;  // any residual stream can be embedded
  const SequenceTransformer<Map> model(shape, Map{{1.7}});
  auto parameters = some_parameters<double>(model.layout());
  // Attention and the perceptron add nothing, so that the last norm reads the embedded token.
  for (const auto part : {TransformerPart::output, TransformerPart::mlp_out, TransformerPart::mlp_out_bias}) {
    model.layout().part(parameters.data(), part).setZero();
  }
  model.layout().part(parameters.data(), TransformerPart::embedding).setIdentity();
  const auto bound = output_bound(model.layout(), std::span<const double>(parameters), 1);
  auto examples = some_examples<double>(shape, 50, 40);
  examples.features *= 1e3;
  const numerics::Vector<double> slopes =
      model.layout()
          .part(parameters.data(), TransformerPart::head)
          .row(1)
          .transpose()
          .cwiseProduct(model.layout().part(parameters.data(), TransformerPart::final_norm_gain).col(0));
  examples.features.col(0) = 1e6 * slopes;  // the worst token of all
  examples.features.col(1) = -1e6 * slopes;
  const Matrix<double> outputs = model.outputs(std::span<const double>(parameters), examples);
  const auto apart = (outputs.row(1).array() - bound.center).abs().eval();
  CHECK(apart.maxCoeff() <= bound.radius * (1 + 1e-12));
  CHECK(std::abs(apart[0] / bound.radius - 1) <= 1e-12);
  CHECK(std::abs(apart[1] / bound.radius - 1) <= 1e-12);
  CHECK(apart.tail(1900).maxCoeff() < bound.radius);
  CHECK(bound.largest() == std::abs(bound.center) + bound.radius);
  // With the mean of the slopes, which the norm removes, the range would be another one.
  CHECK(std::sqrt(6.0) * slopes.norm() > 1.005 * bound.radius);
}

TEST_CASE("a transformer with attention and perceptron keeps within its range, whatever the size of the tokens",
          "[training]") {
  SequenceShape shape = small_shape;
  shape.layers = 2;
  const SequenceTransformer<Map> model(shape, Map{{1.7}});
  const auto parameters = some_parameters<double>(model.layout());
  const auto bound = output_bound(model.layout(), std::span<const double>(parameters));
  for (const double size : {1.0, 1e2, 1e4}) {
    auto examples = some_examples<double>(shape, 20, 50);
    examples.features *= size;
    const Matrix<double> outputs = model.outputs(std::span<const double>(parameters), examples);
    CHECK((outputs.row(0).array() - bound.center).abs().maxCoeff() <= bound.radius * (1 + 1e-12));
  }
}

TEST_CASE("output_bound refuses transformers without norms, and outputs that are not there", "[training]") {
  SequenceShape shape = small_shape;
  const std::vector<double> parameters(static_cast<std::size_t>(SequenceLayout(shape).size()));
  const auto refused = [&](int output) {
    return message_of([&] { (void)output_bound(SequenceLayout(shape), std::span<const double>(parameters), output); });
  };
  CHECK(names(refused(2), "output", "2"));
  CHECK(names(refused(-1), "output", "-1"));
  shape.norms = LayerNorms::none;
  CHECK(names(refused(0), "norms", "0"));
}

}  // namespace incontext::testing::output_bound_test
