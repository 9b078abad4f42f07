#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/scoring/checked.hpp"
#include "incontext/scoring/softmax_of.hpp"

/// Attention layers on tokens that are all alike: n unit vectors with equal inner products, a regular simplex. A layer
/// takes every token to the weighted mean of all, itself included, plus the token times a residual, and to unit norm
/// again; its score of two tokens is their inner product. The tokens remain a regular simplex, so that one number says
/// all: 1 - cosine of two tokens, their disagreement.
namespace incontext::laws {

/// What n tokens with equal inner products disagree by after a layer of attention, for any map that is softmax after an
/// elementwise map.
///
/// \f[ \delta' = \frac{n k \delta}{n - (n-1)(1 - k)\delta},\qquad
///     k = \Bigl(\frac{a - b + \alpha}{1 + \alpha}\Bigr)^2,\qquad
///     a - b = \frac{1 - e^{-g}}{1 + (n-1) e^{-g}},\quad g = \phi(1) - \phi(1 - \delta) \f]
///
/// a is a token's weight on itself and b that on each other. The ratio of the two eigenvalues of the tokens' Gram
/// matrix is multiplied by k, which is below 1 for residuals >= 0 and finite scores: every layer brings the tokens
/// together, unless their sum is 0, and the map says how fast. For softmax at inverse temperature gamma log n and n -> infinity a layer keeps
/// the tokens apart if gamma delta > 1, and makes them one if it is less.
///
///     const scoring::Softmax<double> map{1 / (2 * std::log(512.0))};                       // gamma = 2
///     const double after = laws::simplex_disagreement<double>(map, 512, 0.7, 0.0);         // 0.6655
///
/// Source    the tokens: arXiv 2510.05554, of which only a summary was read; the map derived:
///           docs/theory/laws.md#simplex-layers.
/// Shapes    (map, tokens n, disagreement delta, residual alpha) -> scalar
/// Units     dimensionless: tokens have norm 1.
/// Domain    tokens >= 2; 0 <= disagreement <= n / (n - 1); residual >= 0; map in its domain.
/// Limits    disagreement = 0: 0. disagreement = n / (n - 1), tokens of mean 0: itself. residual -> infinity: itself.
/// Errors    std::invalid_argument for tokens, std::domain_error for the rest.
/// Accuracy  16 eps (1 + |g|) relative, if phi is linear; else that of phi(1) - phi(1 - delta):
///           tests/laws/simplex_layer.cpp.
template <class T, scoring::SoftmaxLike Map>
T simplex_disagreement(const Map& map, std::int64_t tokens, const T& disagreement, const T& residual) {
  using std::exp;
  constexpr std::string_view where = "laws::simplex_disagreement";
  require_at_least(where, "tokens", tokens, std::int64_t{2});
  require_non_negative(where, "residual", residual);
  scoring::require_valid(map);
  const T n = math::from_count<T>(tokens), largest = n / (n - T(1));
  if (!(T(0) <= disagreement && disagreement <= largest)) {
    throw_domain_error(where, "disagreement is out of range", disagreement, "0 to n / (n - 1)");
  }
  const auto phi = map.elementwise(static_cast<std::ptrdiff_t>(tokens));
  if (!phi.in_domain()) {
    throw_domain_error(where, "the map is outside its domain in a row of", tokens, "parameters as its header states");
  }
  T gap;
  if constexpr (scoring::is_linear<decltype(phi)>) {
    gap = phi.slope(T(0)) * disagreement;
  } else {
    gap = phi.difference(T(1), T(T(1) - disagreement));
  }
  const T apart = gap < T(0) ? T(math::exp_minus_one(gap) / (exp(gap) + n - T(1)))
                             : T(-math::exp_minus_one(T(-gap)) / (T(1) + (n - T(1)) * exp(T(-gap))));
  const T factor = (apart + residual) / (T(1) + residual), kept = factor * factor;
  // n - (n - 1) (1 - k) delta as a sum of positive terms
  const T rest = n * (T(1) - disagreement) + disagreement;
  return n * kept * disagreement / (rest + (n - T(1)) * kept * disagreement);
}

/// The disagreement after 0, 1, 2, ... layers: rank collapse in depth, by iteration.
///
/// Source    simplex_disagreement.
/// Shapes    (map, tokens, disagreement, residual, layers) -> layers + 1
/// Domain    as simplex_disagreement; 0 <= layers <= 1e6.
/// Errors    as simplex_disagreement; std::invalid_argument for layers.
/// Accuracy  as simplex_disagreement for one layer; errors of later layers add up.
template <class T, scoring::SoftmaxLike Map>
std::vector<T> simplex_depth(const Map& map, std::int64_t tokens, const T& disagreement, const T& residual,
                             std::int64_t layers) {
  if (!(0 <= layers && layers <= 1'000'000)) {
    throw_invalid_argument("laws::simplex_depth", "layers is out of range", layers, "0 to 1e6");
  }
  std::vector<T> depth{disagreement};
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    depth.push_back(simplex_disagreement<T>(map, tokens, depth.back(), residual));
  }
  return depth;
}

}  // namespace incontext::laws
