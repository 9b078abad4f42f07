#pragma once

#include <incontext/calibration/visible_scores.hpp>
#include <incontext/scoring/approximate_softmax.hpp>
#include <incontext/scoring/entmax.hpp>
#include <incontext/scoring/hardmax.hpp>
#include <incontext/scoring/jacobian_spectral_norm.hpp>
#include <incontext/scoring/linear_attention.hpp>
#include <incontext/scoring/normalized_sa_softmax.hpp>
#include <incontext/scoring/normsoftmax.hpp>
#include <incontext/scoring/ratio_score.hpp>
#include <incontext/scoring/sa_softmax.hpp>
#include <incontext/scoring/softmax.hpp>
#include <incontext/scoring/ssa.hpp>
#include <incontext/scoring/ssmax.hpp>

#include <functional>
#include <string>
#include <vector>

/// Every scoring map of one row behind one type, chosen by its name on the command line.
namespace incontext::examples::scores {

using Numbers = std::vector<double>;

/// The parameters of all maps; each map reads its own.
struct MapParameters {
  double temperature = 1;
  double s = 0.43;
  double bias = 0;
  double base = 1;
  double exponent = 1.5;
  double alpha = 1.5;
  scoring::ScoreScale scale = scoring::ScoreScale::population_stddev;
  scoring::ScoreNormalization over = scoring::ScoreNormalization::context_length;
};

/// A map as functions of a row; `log_weights` is empty for a map whose weights may be negative.
struct ScoreMap {
  std::function<Numbers(const Numbers&)> weights;
  std::function<Numbers(const Numbers&)> log_weights;
  std::function<Numbers(const Numbers&, const Numbers&)> jvp;
  bool counts_keys = true;  ///< whether a finite mask would change the other weights
};

template <scoring::Scoring Map>
ScoreMap score_map(const Map& map) {
  ScoreMap result;
  result.counts_keys = calibration::counts_keys<Map>;
  result.weights = [map](const Numbers& z) {
    Numbers out(z.size());
    weights(map, z, out);
    return out;
  };
  if constexpr (scoring::LogScoring<Map>) {
    result.log_weights = [map](const Numbers& z) {
      Numbers out(z.size());
      log_weights(map, z, out);
      return out;
    };
  }
  result.jvp = [map](const Numbers& z, const Numbers& u) {
    Numbers out(z.size());
    jvp(map, z, u, out);
    return out;
  };
  return result;
}

/// A map's name, the options that are its parameters, what it is, and how to make it.
struct MapEntry {
  std::string name;
  std::vector<std::string> parameters;
  std::string meaning;
  std::function<ScoreMap(const MapParameters&)> make;
};

inline const std::vector<MapEntry>& map_entries() {
  using namespace scoring;
  const auto linear = [](const MapParameters& p) {
    return p.over == ScoreNormalization::none ? LinearNormalization::none : LinearNormalization::context_length;
  };
  static const std::vector<MapEntry> entries{
      {"softmax",
       {"--temperature"},
       "e^(z/tau) over its sum",
       [](const MapParameters& p) { return score_map(Softmax<double>{p.temperature}); }},
      {"approximate-softmax",
       {"--temperature"},
       "(1 + (z - mean)/tau) / n",
       [](const MapParameters& p) { return score_map(ApproximateSoftmax<double>{p.temperature}); }},
      {"linear",
       {"--temperature", "--over"},
       "z / (tau n), or z / tau over none",
       [linear](const MapParameters& p) {
         return score_map(LinearAttention<double>{p.temperature, linear(p)});
       }},
      {"ssmax",
       {"--s", "--bias"},
       "softmax of (s log n + bias) z",
       [](const MapParameters& p) {
         return score_map(SSMax<double>{p.s, p.bias});
       }},
      {"ssa",
       {"--base", "--exponent", "--temperature"},
       "(1 + b|z/tau|)^(sgn(z) k) over its sum",
       [](const MapParameters& p) {
         return score_map(SSA<double>{p.base, p.exponent, p.temperature});
       }},
      {"normsoftmax",
       {"--temperature", "--score-scale"},
       "softmax of z / min(standard deviation of z, tau)",
       [](const MapParameters& p) {
         return score_map(NormSoftmax<double>{p.temperature, p.scale});
       }},
      {"entmax",
       {"--alpha"},
       "((alpha-1) z - t)_+^(1/(alpha-1))",
       [](const MapParameters& p) { return score_map(Entmax<double>{p.alpha}); }},
      {"sparsemax", {}, "entmax with alpha = 2", [](const MapParameters&) { return score_map(Sparsemax<double>{}); }},
      {"hardmax",
       {},
       "uniform on the largest scores",
       [](const MapParameters&) { return score_map(Hardmax<double>{}); }},
      {"sa-softmax", {}, "z softmax(z)", [](const MapParameters&) { return score_map(SaSoftmax<double>{}); }},
      {"normalized-sa-softmax",
       {},
       "z moved to [0, 1], times softmax(z)",
       [](const MapParameters&) { return score_map(NormalizedSaSoftmax<double>{}); }},
      {"average",
       {"--over"},
       "1, over n",
       [](const MapParameters& p) { return score_map(RatioScore<Average>{p.over}); }},
      {"tanh",
       {"--over"},
       "tanh z, over n, its sum, ...",
       [](const MapParameters& p) { return score_map(RatioScore<Tanh>{p.over}); }},
      {"relu",
       {"--over"},
       "max(z, 0), over n, its sum, ...",
       [](const MapParameters& p) { return score_map(RatioScore<Relu>{p.over}); }},
      {"square", {"--over"}, "z^2, over n, its sum, ...", [](const MapParameters& p) {
         return score_map(RatioScore<Square>{p.over});
       }}};
  return entries;
}

inline const MapEntry* find_map(const std::string& name) {
  for (const MapEntry& entry : map_entries()) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

/// The spectral and the Frobenius norm of a map's Jacobian at a row.
struct MatrixNorms {
  double spectral;
  double frobenius;
};

inline MatrixNorms jacobian_norms_at(const ScoreMap& map, const Numbers& z) {
  const std::size_t n = z.size();
  Numbers transposed;  // each row is stored as a column, which has the same norms
  double squares = 0;
  for (std::size_t j = 0; j < n; ++j) {
    Numbers unit(n, 0.0);
    unit[j] = 1;
    const Numbers column = map.jvp(z, unit);
    transposed.insert(transposed.end(), column.begin(), column.end());
    for (const double x : column) squares += x * x;
  }
  const auto size = static_cast<std::ptrdiff_t>(n);
  return {scoring::spectral_norm(scoring::MatrixView<double>(transposed.data(), size, size)), std::sqrt(squares)};
}

}  // namespace incontext::examples::scores
