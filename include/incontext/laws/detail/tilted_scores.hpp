#pragma once

#include <cmath>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/sampled_scores.hpp"

/// Standard normal scores and one of another mean under the same map, on the same nodes.
namespace incontext::laws::detail {

template <Real T>
struct TiltedBlocks {
  T log_psi, first, second;                    // log E e^-t, E t e^-t, E t^2 e^-t of a score N(0, 1)
  T log_right_psi, right_first, right_second;  // the same of the score N(separation, 1)
};

/// Averages at one s of t = e^(s + phi(z)) over both laws, by the Gauss-Legendre rule on panels on which phi is a
/// polynomial to what the rule can integrate.
template <Real T>
class TiltedScores {
 public:
  template <class Phi>
  TiltedScores(std::string_view where, const Phi& phi, const T& count, const T& separation) {
    using std::exp;
    using Panels = PolynomialPanels<T>;
    const T longest = T(0.75), reach = SampledScores<T>::reach(count) + math::magnitude(separation);
    T total = T(0), right_total = T(0);
    for (const T& side : {T(1), T(-1)}) {
      const auto edges = Panels::edges(phi, side, reach, longest);
      if (edges.empty()) throw_domain_error(where, "the map changes too fast over the scores", reach, "a smoother map");
      for (std::size_t k = 0; k + 1 < edges.size(); ++k) {
        const auto piece = Panels::piece(phi, side, edges[k], edges[k + 1]);
        for (int i = 0; i < Panels::order; ++i) {
          const T z = side * piece.g[i], off = z - separation;
          const T measure = Panels::weight(i) * (edges[k + 1] - edges[k]) / T(2);
          nodes_.push_back({piece.phi[i], T(measure * exp(T(-z * z / T(2)))), T(measure * exp(T(-off * off / T(2))))});
          total += nodes_.back().weight;
          right_total += nodes_.back().right_weight;
        }
      }
    }
    for (Node& node : nodes_) {
      node.weight = node.weight / total;
      node.right_weight = node.right_weight / right_total;
    }
  }

  TiltedBlocks<T> operator()(const T& s) const {
    using std::exp;
    T psi = T(0), lost = T(0), first = T(0), second = T(0), right_psi = T(0), right_lost = T(0), right_first = T(0),
      right_second = T(0);
    for (const Node& node : nodes_) {
      const T t = exp(T(s + node.phi)), survives = exp(T(-t));
      const T dies = -math::exp_minus_one(T(-t)), fired = survives > T(0) ? T(t * survives) : T(0);
      psi += node.weight * survives;
      lost += node.weight * dies;
      first += node.weight * fired;
      const T fired_square = fired > T(0) ? T(fired * t) : T(0);
      second += node.weight * fired_square;
      right_psi += node.right_weight * survives;
      right_lost += node.right_weight * dies;
      right_first += node.right_weight * fired;
      right_second += node.right_weight * fired_square;
    }
    return {log_share(psi, lost), first, second, log_share(right_psi, right_lost), right_first, right_second};
  }

 private:
  struct Node {
    T phi, weight, right_weight;
  };

  /// The logarithm of a share, from the smaller of it and the rest.
  static T log_share(const T& share, const T& rest) {
    using std::log;
    return share < rest ? T(log(share)) : math::log_one_plus(T(-rest));
  }

  std::vector<Node> nodes_ = {};
};

}  // namespace incontext::laws::detail
