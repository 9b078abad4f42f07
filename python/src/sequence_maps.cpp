#include "sequence_maps.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "map_arguments.hpp"

namespace incontext::python {

namespace parameter = scoring::parameter;
using training::LearnedMap;
template <class Function>
using Ratio = LearnedMap<scoring::RatioScore<Function, float>>;

void SequenceMap::apply(const float* trained, scoring::Row<const float> scores, scoring::Row<float> out) const {
  detail::AnySequenceMap::apply(trained, scores, out);
}

void SequenceMap::pull_back(const float* trained, scoring::Row<const float> scores, scoring::Row<float> slopes,
                            scoring::Row<float> scratch, float* gradient) const {
  detail::AnySequenceMap::pull_back(trained, scores, slopes, scratch, gradient);
}

SequenceMap sequence_map(nb::handle given) {
  nb::object map = nb::borrow(given);
  std::string trained;
  if (is(given, "training.LearnedMap")) {
    map = given.attr("map");
    for (const auto& name : nb::cast<std::vector<std::string>>(nb::list(given.attr("parameters")))) {
      trained += (trained.empty() ? "" : ", ") + name;
    }
  }
  const auto number = [&](const char* name) { return number_of(map, name); };
  if (is(map, "scoring.Softmax")) {
    const scoring::Softmax<float> start{number("temperature")};
    if (trained.empty()) return {LearnedMap<scoring::Softmax<float>>{start}};
    if (trained == "temperature") return {LearnedMap<scoring::Softmax<float>, parameter::Temperature>{start}};
  } else if (is(map, "scoring.SSA")) {
    const scoring::SSA<float> start{number("base"), number("exponent"), number("temperature")};
    if (trained.empty()) return {LearnedMap<scoring::SSA<float>>{start}};
    if (trained == "base, exponent") {
      return {LearnedMap<scoring::SSA<float>, parameter::Base, parameter::Exponent>{start}};
    }
  } else if (is(map, "scoring.SSMax")) {
    const scoring::SSMax<float> start{number("scale"), number("bias")};
    if (trained.empty()) return {LearnedMap<scoring::SSMax<float>>{start}};
    if (trained == "scale") return {LearnedMap<scoring::SSMax<float>, parameter::Scale>{start}};
    if (trained == "scale, bias") {
      return {LearnedMap<scoring::SSMax<float>, parameter::Scale, parameter::Bias>{start}};
    }
  } else if (is(map, "scoring.NormSoftmax")) {
    if (trained.empty()) {
      return {LearnedMap<scoring::NormSoftmax<float>>{
          {number("temperature"), chosen_field<scoring::ScoreScale>(map, "scale")}}};
    }
  } else if (is(map, "scoring.SaSoftmax")) {
    if (trained.empty()) return {LearnedMap<scoring::SaSoftmax<float>>{}};
  } else if (is(map, "scoring.RatioScore")) {
    const auto by = chosen_field<scoring::ScoreNormalization>(map, "normalization");
    const auto name = nb::cast<std::string>(map.attr("function"));
    if (trained.empty() && name == "average") return {Ratio<scoring::Average>{{by}}};
    if (trained.empty() && name == "tanh") return {Ratio<scoring::Tanh>{{by}}};
    if (trained.empty() && name == "relu") return {Ratio<scoring::Relu>{{by}}};
    if (trained.empty() && name == "square") return {Ratio<scoring::Square>{{by}}};
  } else {
    throw nb::type_error(
        "incontext.training.SequenceTraining: a head's map must be Softmax, SSA, SSMax, NormSoftmax, SaSoftmax or "
        "RatioScore");
  }
  throw_invalid_argument("training::LearnedMap", "these parameters of the map cannot be trained", trained,
                         "temperature of Softmax; base, exponent of SSA; scale, or scale, bias, of SSMax");
}

}  // namespace incontext::python
