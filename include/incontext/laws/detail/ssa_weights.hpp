#pragma once

#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <limits>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

/// Expectations over the SSA weight w = (1 + c|g|)^(sgn(g) k) of one normal score, c = b sqrt(v) / tau. w has a kink in
/// its second derivative at 0, so each side has its own Gauss-Legendre panels, in u = log(1 + c|g|) = |log w| / k.
namespace incontext::laws::detail {

template <Real T>
struct WeightMoments {
  T log_psi, first, second;
};

template <Real T>
class SsaWeights {
 public:
  using value_type = T;

  SsaWeights(const T& knee, const T& exponent) {
    if (!(T(0) < knee)) {
      nodes_.push_back({T(1), T(0)});
      return;
    }
    T g = T(0), u = T(0);
    const T reach = boundary();
    while (g < reach) {
      const T next = u + panel(g, knee, exponent);
      add_panel(u, next, knee, exponent);
      u = next;
      g = math::exp_minus_one(u) / knee;
    }
  }

  /// The largest exponent at which the square of the largest weight does not overflow.
  static T largest_exponent(const T& knee) {
    using std::log;
    const T most = log((std::numeric_limits<T>::max)()) * T(0.49), reach = knee * (boundary() + T(1));
    return T(0) < reach ? T(most / math::log_one_plus(reach)) : (std::numeric_limits<T>::max)();
  }

  T moment(int power) const {
    using std::exp;
    T sum = T(0);
    for (const Node& node : nodes_) sum += node.probability * exp(T(T(double(power)) * node.log_weight));
    return sum;
  }

  T log_psi(const T& s) const {
    using std::exp;
    using std::log;
    T kept = T(0), lost = T(0);
    for (const Node& node : nodes_) {
      const T e = exp(T(s + node.log_weight));
      if (e < T(0.5)) {
        lost += node.probability * -math::exp_minus_one(T(-e));
      } else {
        kept += node.probability * exp(T(-e));
        lost += node.probability * (T(1) - exp(T(-e)));
      }
    }
    if (lost < T(0.5)) return math::log_one_plus(T(-lost));
    for (const Node& node : nodes_) {
      const T e = exp(T(s + node.log_weight));
      if (e < T(0.5)) kept += node.probability * exp(T(-e));
    }
    return log(kept);
  }

  T first(const T& s) const { return moments(s).first; }

  WeightMoments<T> moments(const T& s) const {
    using std::exp;
    WeightMoments<T> m{log_psi(s), T(0), T(0)};
    for (const Node& node : nodes_) {
      const T e = exp(T(s + node.log_weight));
      const T term = node.probability * e * exp(T(-e));
      m.first += term;
      m.second += term * e;
    }
    return m;
  }

 private:
  struct Node {
    T probability, log_weight;
  };

  /// |g| beyond which the density is negligible
  static T boundary() {
    using std::log;
    using std::sqrt;
    return sqrt(T(T(2) * (T(14) - log(T(std::numeric_limits<T>::epsilon())))));
  }

  /// Width in u over which neither s + k u nor the density changes by more than a few units.
  static T panel(const T& g, const T& knee, const T& exponent) {
    T width = exponent < T(4) ? T(0.5) : T(T(2) / exponent);
    const T step = (g < T(3) ? T(1) : T(T(3) / g)) / (g + T(1) / knee);
    return step < width ? step : width;
  }

  void add_panel(const T& from, const T& to, const T& knee, const T& exponent) {
    using std::exp;
    using std::sqrt;
    using Rule = boost::math::quadrature::gauss<T, points>;
    const T half = (to - from) / T(2), middle = (to + from) / T(2);
    const T scale = half / (knee * sqrt(T(2) * math::pi<T>()));
    for (std::size_t i = 0; i < Rule::abscissa().size(); ++i) {
      for (const T& side : {T(1), T(-1)}) {
        const T u = middle + side * half * Rule::abscissa()[i];
        const T g = math::exp_minus_one(u) / knee;
        const T probability = scale * Rule::weights()[i] * exp(T(u - g * g / T(2)));
        nodes_.push_back({probability, T(exponent * u)});
        nodes_.push_back({probability, T(-exponent * u)});
      }
    }
  }

  static constexpr unsigned points = 20;
  std::vector<Node> nodes_;
};

}  // namespace incontext::laws::detail
