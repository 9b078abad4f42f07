#pragma once

#include <incontext/laws/fading.hpp>
#include <incontext/training/layer_gradients.hpp>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "examples/scores/figures.hpp"

/// Fig. 2 of arXiv 2508.14685: the prompt (1, True, -2, False, 3, False, 70), "is every number positive?", and a head
/// that was built by hand to answer it.
namespace incontext::examples::scores {

namespace detail {

/// A token: its number (0 for a label), and what it says about "every": 1 for a positive number or True, else -1.
struct PromptToken {
  std::string text;
  double number, evidence;
};

inline std::vector<PromptToken> prompt_with(double last) {
  return {{"1", 1, 1},
          {"True", 0, 1},
          {"-2", -2, -1},
          {"False", 0, -1},
          {"3", 3, 1},
          {"False", 0, -1},
          {short_text(last, 4), last, 1}};
}

/// What the head's output must exceed for the answer True: half-way between no evidence against it and one of the 40
/// tokens of the longest prompts in training, at even weights.
inline constexpr double prompt_threshold = 1 - 1.0 / 40;

/// The head: features (number, 1, evidence) of a token; W_Q takes the 1, W_K the number, W_V the evidence. So scores
/// are the numbers, as with the paper's linear embedding, and the output is the mean evidence that attention sees.
template <class Map>
training::LayerGradients<double> prompt_head(const Map& map, double last) {
  const std::vector<PromptToken> prompt = prompt_with(last);
  Eigen::MatrixXd tokens(Eigen::Index(prompt.size()), 3);
  for (std::size_t j = 0; j < prompt.size(); ++j) {
    tokens.row(Eigen::Index(j)) << prompt[j].number, 1.0, prompt[j].evidence;
  }
  const training::LayerWeights<double> layer{Eigen::Vector3d(0, 1, 0), Eigen::Vector3d(1, 0, 0),
                                             Eigen::Vector3d(0, 0, 1)};
  const Eigen::MatrixXd query = tokens.bottomRows(1), upstream = Eigen::MatrixXd::Zero(1, 1);
  return training::layer_gradients(map, tokens, query, layer, upstream);
}

/// A map on the prompt: the head by the last number, and the last number above which it answers True, from
/// w(X) = (2 / (1 - threshold) - 1) F - R, F the kernel's sum over the evidence against, R over the other tokens' rest.
struct PromptMap {
  std::string name, heading;
  std::function<training::LayerGradients<double>(double last)> head;
  double largest_number;
};

template <class Map, class Kernel, class Inverse>
PromptMap prompt_map(std::string name, std::string heading, const Map& map, const Kernel& kernel,
                     const Inverse& inverse) {
  const double against = kernel(-2) + 2 * kernel(0), rest = kernel(1) + kernel(0) + kernel(3);
  const double last = inverse((2 / (1 - prompt_threshold) - 1) * against - rest);
  return {std::move(name), std::move(heading), [map](double number) { return prompt_head(map, number); }, last};
}

inline std::vector<PromptMap> prompt_maps(const MapParameters& p) {
  std::vector<PromptMap> maps;
  const double s = p.s, beta = s * std::log(7.0), b = p.base;
  maps.push_back(prompt_map(
      "softmax", "softmax", scoring::Softmax<double>{}, [](double z) { return std::exp(z); },
      [](double w) { return std::log(w); }));
  maps.push_back(prompt_map(
      "ssmax", "SSMax", scoring::SSMax<double>{s}, [beta](double z) { return std::exp(beta * z); },
      [beta](double w) { return std::log(w) / beta; }));
  for (const double k : {1.1, 1.5, 2.0}) {
    const std::string text = short_text(k, 3);
    maps.push_back(prompt_map(
        "ssa_" + text, "SSA, k = " + text, scoring::SSA<double>{b, k},
        [b, k](double z) { return std::pow(1 + b * std::abs(z), z < 0 ? -k : k); },
        [b, k](double w) { return (std::pow(w, 1 / k) - 1) / b; }));
  }
  return maps;
}

}  // namespace detail

inline std::vector<Table> prompt_figure(Claims& claims) {
  const MapParameters usual;
  const auto maps = detail::prompt_maps(usual);
  const double deviant = 70;
  Table weights{
      .title = "Weights of a hand-built head on the prompt, query 70: is every number positive?",
      .columns = {
          {"token"}, {.name = "score", .style = Style::shortest}, {.name = "evidence", .style = Style::shortest}}};
  Table answers{.title = "Its output, the answer (False is right), and the largest last number that it answers rightly",
                .columns = {{"map"},
                            {.name = "output", .digits = 8},
                            {"answer"},
                            {.name = "largest_number", .digits = 5},
                            {.name = "even_output", .heading = "output at even weights", .digits = 4}}};
  std::vector<training::LayerGradients<double>> heads;
  for (const auto& one : maps) {
    weights.columns.push_back({.name = one.name, .heading = one.heading, .digits = 4});
    heads.push_back(one.head(deviant));
  }
  const auto prompt = detail::prompt_with(deviant);
  double even = 0;
  for (std::size_t j = 0; j < prompt.size(); ++j) {
    even += prompt[j].evidence / static_cast<double>(prompt.size());
    std::vector<Cell> cells{prompt[j].text, prompt[j].number, prompt[j].evidence};
    for (const auto& head : heads) cells.emplace_back(head.attention(0, Eigen::Index(j)));
    weights.add_row(std::move(cells));
  }
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const double output = heads[i].output(0, 0), edge = maps[i].largest_number;
    const bool says_true = output > detail::prompt_threshold;
    answers.add_row({maps[i].heading, output, std::string(says_true ? "True, wrong" : "False, right"), edge, even});
    const std::string at = maps[i].heading;
    claims.equal("the output at the largest number is the threshold", at, maps[i].head(edge).output(0, 0),
                 detail::prompt_threshold);
    claims.at_most("the answer is right below that number", at, maps[i].head(0.9 * edge).output(0, 0),
                   detail::prompt_threshold);
    claims.at_least("and wrong above it", at, maps[i].head(1.1 * edge).output(0, 0), detail::prompt_threshold);
    claims.differs("control: the head averages evenly", at, output, even);
  }
  claims.at_least("softmax gives 70 at least 1 / (1 + 6 e^-67)", "softmax", heads[0].attention(0, 6),
                  laws::largest_weight_lower_bound(7.0, deviant - 3));
  weights.notes = {
      "Features of a token: its number (labels 0), 1, and evidence, 1 for a positive number or True, else -1. W_Q "
      "takes "
      "the 1, W_K the number, W_V the evidence: scores are the numbers, as with the paper's linear embedding."};
  answers.notes = {
      "True if the output is above 1 - 1/40: half-way between no evidence against it and one token of 40 at even "
      "weights. SSA: b = " +
          short_text(usual.base, 6) + ", SSMax: s = " + short_text(usual.s, 6) + ".",
      "SSA pushes the largest number out, by how much its exponent decides; it does not remove the failure."};
  return {std::move(weights), std::move(answers)};
}

}  // namespace incontext::examples::scores
