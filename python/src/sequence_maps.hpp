#pragma once

#include "core.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/sa_softmax.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"
#include "incontext/training/learned_map.hpp"

/// The maps that the heads of a transformer of sequences may have.
namespace incontext::python {

namespace detail {

template <class Map, class... Parameters>
using Learned = training::LearnedMap<Map, Parameters...>;
template <class Function>
using LearnedRatio = Learned<scoring::RatioScore<Function, float>>;
using Temperature = scoring::parameter::Temperature;
using Base = scoring::parameter::Base;
using Exponent = scoring::parameter::Exponent;
using Scale = scoring::parameter::Scale;
using Bias = scoring::parameter::Bias;
using AnySequenceMap =
    training::AnyLearnedMap<Learned<scoring::Softmax<float>>, Learned<scoring::Softmax<float>, Temperature>,
                            Learned<scoring::SSA<float>>, Learned<scoring::SSA<float>, Base, Exponent>,
                            Learned<scoring::SSMax<float>>, Learned<scoring::SSMax<float>, Scale>,
                            Learned<scoring::SSMax<float>, Scale, Bias>, Learned<scoring::NormSoftmax<float>>,
                            Learned<scoring::SaSoftmax<float>>, LearnedRatio<scoring::Average>,
                            LearnedRatio<scoring::Tanh>, LearnedRatio<scoring::Relu>, LearnedRatio<scoring::Square>>;

}  // namespace detail

/// The map of one head. Its loops over rows are compiled in sequence_maps.cpp, apart from the transformer that calls
/// them.
struct SequenceMap : detail::AnySequenceMap {
  void apply(const float* trained, scoring::Row<const float> scores, scoring::Row<float> out) const;
  void pull_back(const float* trained, scoring::Row<const float> scores, scoring::Row<float> slopes,
                 scoring::Row<float> scratch, float* gradient) const;
};

/// A map of scoring, or a LearnedMap of one with the names of the parameters that are trained.
SequenceMap sequence_map(nb::handle given);

}  // namespace incontext::python
