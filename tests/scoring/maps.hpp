#pragma once

#include <string>
#include <vector>

#include "incontext/scoring/approximate_softmax.hpp"
#include "incontext/scoring/entmax.hpp"
#include "incontext/scoring/hardmax.hpp"
#include "incontext/scoring/linear_attention.hpp"
#include "incontext/scoring/normalized_sa_softmax.hpp"
#include "incontext/scoring/normsoftmax.hpp"
#include "incontext/scoring/ratio_score.hpp"
#include "incontext/scoring/sa_softmax.hpp"
#include "incontext/scoring/scoring.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// Every map of the room, in every variant, with facts about it.
namespace incontext::testing {

struct Facts {
  std::string name;
  bool sums_to_one = true;
  bool non_negative = true;
  bool shift_invariant = true;
};

/// Softmax, SSMax and SSA.
template <class T, class Visit>
void for_each_softmax_like(Visit visit) {
  using namespace scoring;
  visit(Softmax<T>{}, Facts{"softmax"});
  visit(Softmax<T>{T(0.125)}, Facts{"softmax, cold"});
  visit(SSMax<T>{T(0.5)}, Facts{"SSMax"});
  visit(SSMax<T>{T(0.5), T(0.25)}, Facts{"SSMax with bias"});
  visit(SSMax<T>{T(0.25), T(-2)}, Facts{"SSMax, negative factor"});
  visit(SSA<T>{}, Facts{"SSA", true, true, false});
  visit(SSA<T>{T(0.5), T(2), T(4)}, Facts{"SSA with temperature", true, true, false});
}

/// The other maps with smooth weights at a generic row.
template <class T, class Visit>
void for_each_other_smooth_map(Visit visit) {
  using namespace scoring;
  visit(ApproximateSoftmax<T>{T(2)}, Facts{"approximate softmax", true, false, true});
  visit(LinearAttention<T>{T(2)}, Facts{"linear attention", false, false, false});
  visit(LinearAttention<T>{T(2), LinearNormalization::none}, Facts{"linear attention, raw", false, false, false});
  visit(NormSoftmax<T>{T(64), ScoreScale::population_stddev}, Facts{"NormSoftmax, population"});
  visit(NormSoftmax<T>{T(64), ScoreScale::sample_stddev}, Facts{"NormSoftmax, sample"});
  visit(NormSoftmax<T>{T(4096), ScoreScale::population_variance}, Facts{"NormSoftmax, variance"});
  visit(NormSoftmax<T>{T(0.0625), ScoreScale::population_stddev}, Facts{"NormSoftmax, capped"});
  visit(SaSoftmax<T>{}, Facts{"SA-softmax, first", false, false, false});
  visit(NormalizedSaSoftmax<T>{}, Facts{"SA-softmax, second", false, true, false});
  visit(Entmax<T>{T(1.25)}, Facts{"entmax 1.25"});
  visit(Entmax<T>{T(1.5)}, Facts{"entmax 1.5"});
  visit(Entmax<T>{T(3)}, Facts{"entmax 3"});
  visit(Sparsemax<T>{}, Facts{"sparsemax"});
}

/// Average, tanh, ReLU and square heads under every normalization.
template <class T, class Visit>
void for_each_ratio_score(Visit visit) {
  using namespace scoring;
  using enum ScoreNormalization;
  visit(RatioScore<Average, T>{none}, Facts{"average, raw", false, true, true});
  visit(RatioScore<Average, T>{context_length}, Facts{"average", true, true, true});
  visit(RatioScore<Average, T>{sum}, Facts{"average over sum", true, true, true});
  visit(RatioScore<Average, T>{absolute_sum}, Facts{"average over absolute sum", true, true, true});
  visit(RatioScore<Tanh, T>{none}, Facts{"tanh, raw", false, false, false});
  visit(RatioScore<Tanh, T>{context_length}, Facts{"tanh over n", false, false, false});
  visit(RatioScore<Tanh, T>{sum}, Facts{"tanh over sum", true, false, false});
  visit(RatioScore<Tanh, T>{absolute_sum}, Facts{"tanh over absolute sum", false, false, false});
  visit(RatioScore<Relu, T>{none}, Facts{"relu, raw", false, true, false});
  visit(RatioScore<Relu, T>{context_length}, Facts{"relu over n", false, true, false});
  visit(RatioScore<Relu, T>{sum}, Facts{"relu over sum", true, true, false});
  visit(RatioScore<Relu, T>{absolute_sum}, Facts{"relu over absolute sum", true, true, false});
  visit(RatioScore<Square, T>{none}, Facts{"square, raw", false, true, false});
  visit(RatioScore<Square, T>{context_length}, Facts{"square over n", false, true, false});
  visit(RatioScore<Square, T>{sum}, Facts{"square over sum", true, true, false});
  visit(RatioScore<Square, T>{absolute_sum}, Facts{"square over absolute sum", true, true, false});
}

template <class T, class Visit>
void for_each_smooth_map(Visit visit) {
  for_each_softmax_like<T>(visit);
  for_each_other_smooth_map<T>(visit);
  for_each_ratio_score<T>(visit);
}

template <class T, class Visit>
void for_each_map(Visit visit) {
  for_each_smooth_map<T>(visit);
  visit(scoring::Hardmax<T>{}, Facts{"hardmax"});
}

/// Calls visit(parameter) for every parameter that the map has as a member.
template <class Map, class Visit>
void for_each_parameter(Visit visit) {
  using namespace scoring;
  if constexpr (HasParameter<Map, parameter::Temperature>) visit(parameter::Temperature{}, "temperature");
  if constexpr (HasParameter<Map, parameter::Scale>) visit(parameter::Scale{}, "scale");
  if constexpr (HasParameter<Map, parameter::Bias>) visit(parameter::Bias{}, "bias");
  if constexpr (HasParameter<Map, parameter::Base>) visit(parameter::Base{}, "base");
  if constexpr (HasParameter<Map, parameter::Exponent>) visit(parameter::Exponent{}, "exponent");
  if constexpr (HasParameter<Map, parameter::Alpha>) visit(parameter::Alpha{}, "alpha");
}

template <class Map>
std::vector<typename Map::value_type> weights_of(const Map& map, const std::vector<typename Map::value_type>& scores) {
  std::vector<typename Map::value_type> out(scores.size());
  weights(map, scores, out);
  return out;
}

template <class Map>
std::vector<typename Map::value_type> jvp_of(const Map& map, const std::vector<typename Map::value_type>& scores,
                                             const std::vector<typename Map::value_type>& direction) {
  std::vector<typename Map::value_type> out(scores.size());
  jvp(map, scores, direction, out);
  return out;
}

template <class Map>
std::vector<typename Map::value_type> vjp_of(const Map& map, const std::vector<typename Map::value_type>& scores,
                                             const std::vector<typename Map::value_type>& cotangent) {
  std::vector<typename Map::value_type> out(scores.size());
  vjp(map, scores, cotangent, out);
  return out;
}

template <class Map, class Parameter>
std::vector<typename Map::value_type> derivative_of(const Map& map, Parameter parameter,
                                                    const std::vector<typename Map::value_type>& scores) {
  std::vector<typename Map::value_type> out(scores.size());
  derivative(map, parameter, scores, out);
  return out;
}

}  // namespace incontext::testing
