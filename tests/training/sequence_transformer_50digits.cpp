#include "incontext/training/sequence_transformer.hpp"

#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/normalized_sa_softmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/sa_softmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "support/catch.hpp"
#include "support/foreign_maps.hpp"
#include "support/real50.hpp"
#include "training/sequence_cases.hpp"

/// Gradients of sequence transformers at 50 digits.
namespace incontext::testing::sequence_50digits {

using namespace sequence;
using namespace scoring::parameter;

constexpr double step = 1e-9, bound = 1e-24;

template <class Map>
Worst error_of(const Map& map, SequenceShape shape = small_shape, SequenceLoss loss = SequenceLoss::squared_error) {
  return gradient_error(shape, map, loss, step);
}

template <class Map, class... Parameters>
using Learned = LearnedMap<Map, Parameters...>;

TEST_CASE("gradients of a sequence transformer are differences at 50 digits, for every map", "[training][50digits]") {
  CHECK(error_of(Learned<scoring::Softmax<Real50>>{{Real50(1.7)}}) <= bound);
  CHECK(error_of(Learned<scoring::Softmax<Real50>, Temperature>{{Real50(1.7)}}) <= bound);
  CHECK(error_of(Learned<scoring::SSA<Real50>, Base, Exponent>{{Real50(0.8), Real50(1.5), Real50(1.3)}}) <= bound);
  CHECK(error_of(Learned<scoring::SSMax<Real50>, Scale, Bias>{{Real50(0.6), Real50(0.2)}}) <= bound);
  CHECK(error_of(Learned<scoring::ApproximateSoftmax<Real50>, Temperature>{{Real50(1.7)}}) <= bound);
  CHECK(error_of(Learned<scoring::SaSoftmax<Real50>>{}) <= bound);
  CHECK(error_of(Learned<scoring::NormalizedSaSoftmax<Real50>>{}) <= bound);
  CHECK(error_of(Learned<scoring::Entmax<Real50>, Alpha>{{Real50(1.5)}}) <= 1e-20);
  CHECK(error_of(Learned<scoring::RatioScore<scoring::Tanh, Real50>>{}) <= bound);
  CHECK(error_of(Learned<scoring::RatioScore<scoring::Square, Real50>>{}) <= bound);
  CHECK(error_of(Learned<foreign::Asinh<Real50>>{foreign::Asinh<Real50>(Real50(0.9))}) <= bound);
  CHECK(error_of(Learned<foreign::SinkSoftmax<Real50>>{foreign::SinkSoftmax<Real50>(Real50(1.2))}) <= bound);
}

TEST_CASE("gradients of a sequence transformer are differences at 50 digits, for every kind", "[training][50digits]") {
  const Learned<scoring::SSA<Real50>, Base, Exponent> map{{Real50(0.8), Real50(1.5), Real50(1.3)}};
  for (const auto loss : {SequenceLoss::squared_error, SequenceLoss::cross_entropy}) {
    for (const auto norms : {LayerNorms::none, LayerNorms::first}) {
      for (const int hidden : {0, 3}) {
        SequenceShape shape = small_shape;
        shape.layers = 2;
        shape.hidden = hidden;
        shape.norms = norms;
        CHECK(error_of(map, shape, loss) <= bound);
      }
    }
  }
  CHECK(gradient_error(small_shape, map, SequenceLoss::cross_entropy, step, 1 + 1e-15) > 1e-16);
}

}  // namespace incontext::testing::sequence_50digits
