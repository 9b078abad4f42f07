#pragma once

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"

/// One normal score g, in units of its standard deviation, under a map w = e^phi(z). At one s, with t = e^s w, these
/// are averages over g of products of t, e^-t and g.
namespace incontext::laws::detail {

/// Panels for the Gauss-Legendre rule, on each of which an elementwise map phi of a normal score is a polynomial to
/// what the rule can integrate. Its singularities may be anywhere near the real axis, and kinks on it.
template <Real T>
class PolynomialPanels {
 public:
  static constexpr int order = 15;

  struct Values {
    T at[order] = {};
    T& operator[](int i) { return at[i]; }
    const T& operator[](int i) const { return at[i]; }
  };

  /// phi and d phi / d x at the nodes x of the panel from g = low to high, x from -1 to 1, and d phi / d x just within
  /// its ends.
  struct Piece {
    Values g, phi, rate;
    T least, largest, rate_low, rate_high;
  };

  static T weight(int i) {
    const int k = i - order / 2;
    return Rule::weights()[static_cast<std::size_t>(k < 0 ? -k : k)];
  }

  template <class Phi>
  static Piece piece(const Phi& phi, const T& deviation, const T& low, const T& high) {
    const T center = (low + high) / T(2), half = (high - low) / T(2);
    Piece p;
    p.least = p.largest = phi.value(T(deviation * high));
    const auto meet = [&p](const T& value) {
      if (value < p.least) p.least = value;
      if (p.largest < value) p.largest = value;
    };
    meet(phi.value(T(deviation * low)));
    const T within = half * T(1 - 1e-12);
    p.rate_low = deviation * half * phi.slope(T(deviation * (center - within)));
    p.rate_high = deviation * half * phi.slope(T(deviation * (center + within)));
    for (int i = 0; i < order; ++i) {
      p.g[i] = center + half * abscissa(i);
      const T z = deviation * p.g[i];
      p.phi[i] = phi.value(z);
      p.rate[i] = deviation * half * phi.slope(z);
      meet(p.phi[i]);
    }
    return p;
  }

  /// 0 and the ends of the panels out to `end`, in the direction of the deviation's sign; empty if they are too many.
  /// At a kink of phi panels halve until what the rule misses of it is below rounding. A phi that has no digits enough
  /// to be resolved anywhere uses `halvings` up, and its panels then follow its changes alone.
  template <class Phi>
  static std::vector<T> edges(const Phi& phi, const T& deviation, const T& end, const T& longest) {
    constexpr std::size_t most = 20000;
    const T shortest = longest * T(1024) * std::numeric_limits<T>::epsilon();
    int halvings = 1000;
    const auto fits = [&](const T& low, const T& high) {
      const Piece p = piece(phi, deviation, low, high);
      if (!(p.largest - p.least <= longest)) return false;
      if (halvings == 0 || high - low < shortest) return true;
      if (resolved(p)) return true;
      --halvings;
      return false;
    };
    std::vector<T> result{T(0)};
    T step = longest;
    while (result.back() < end) {
      if (result.size() == most) return {};
      const T from = result.back();
      step = step + step < longest ? T(step + step) : longest;
      while (from < from + step && !fits(from, T(from + step))) step = step / T(2);
      if (!(from < from + step)) return {};
      result.push_back(from + step);
    }
    return result;
  }

 private:
  using Rule = boost::math::quadrature::gauss<T, order>;

  static T abscissa(int i) {
    const int k = i - order / 2;
    return k < 0 ? T(-Rule::abscissa()[static_cast<std::size_t>(-k)]) : Rule::abscissa()[static_cast<std::size_t>(k)];
  }

  /// Coefficients of Legendre polynomials through values at the nodes.
  static Values coefficients(const Values& values) {
    Values sums{};
    for (int i = 0; i < order; ++i) {
      const T x = abscissa(i);
      T before = T(0), here = T(1);
      for (int k = 0; k < order; ++k) {
        sums[k] += weight(i) * values[i] * here * T(double(k) + 0.5);
        const T next = (T(double(2 * k + 1)) * x * here - T(double(k)) * before) / T(double(k + 1));
        before = here;
        here = next;
      }
    }
    return sums;
  }

  /// Whether phi and its slope are functions whose Legendre coefficients fall so fast that the rule, whose error is
  /// about the square of the last of them, is exact to rounding, and whose slope has no kink between the last node and
  /// an end.
  static bool resolved(const Piece& p) {
    using std::sqrt;
    const T eps = std::numeric_limits<T>::epsilon(), root = sqrt(eps);
    const T rounding = T(64) * eps * (std::max)(T(1), (std::max)(math::magnitude(p.least), math::magnitude(p.largest)));
    const auto of_phi = coefficients(p.phi), of_rate = coefficients(p.rate);
    T low = -p.rate_low, high = -p.rate_high;
    for (int k = 0; k < order; ++k) {
      low += k % 2 == 0 ? of_rate[k] : T(-of_rate[k]);
      high += of_rate[k];
    }
    T size = T(0);
    for (const auto* c : {&of_phi, &of_rate}) {
      T largest = T(0);
      for (int k = 1; k < order; ++k) largest = (std::max)(largest, math::magnitude((*c)[k]));
      const T last = (std::max)(math::magnitude((*c)[order - 1]), math::magnitude((*c)[order - 2]));
      if (!(last <= (std::max)(rounding, T(root * largest)))) return false;
      size = (std::max)(size, largest);
    }
    return (std::max)(math::magnitude(low), math::magnitude(high)) <=
           (std::max)(T(T(64) * rounding), T(T(1e3) * root * size));
  }
};

template <Real T>
struct ScoreBlocks {
  T log_psi;        // log E e^-t
  T first;          // E t e^-t
  T first_slope;    // E (d phi / d g) t e^-t
  T first_steep;    // E |d phi / d g| t e^-t
  T first_score;    // E g t e^-t
  T second;         // E t^2 e^-t
  T second_square;  // E g^2 t^2 e^-t
  T third, fourth;  // E t^3 e^-t, E t^4 e^-t
};

/// A discrete law in place of the normal law of g: nodes with weights, in panels of ascending phi.
template <Real T>
class SampledScores {
 public:
  using Panels = PolynomialPanels<T>;
  static constexpr int order = Panels::order;

  /// The number of standard deviations beyond which normal scores do not matter in a row of `count`.
  static T reach(const T& count) {
    using std::log;
    using std::sqrt;
    return sqrt(T(2) * (T(6) + log(count) - log(T(std::numeric_limits<T>::epsilon()))));
  }

  /// Nodes for phi(deviation g), piecewise smooth, by the Gauss-Legendre rule on panels over which neither g nor phi
  /// changes by more than `longest`, and on which phi and its slope are polynomials to what the rule can integrate.
  template <class Phi>
  static SampledScores panels(const Phi& phi, const T& deviation, const T& count, const T& longest) {
    SampledScores scores;
    const auto positive = Panels::edges(phi, deviation, reach(count), longest);
    const auto negative = Panels::edges(phi, T(-deviation), reach(count), longest);
    if (positive.empty() || negative.empty()) return scores;
    for (std::size_t i = negative.size() - 1; i > 0; --i) {
      scores.add_panel(phi, deviation, T(-negative[i]), T(-negative[i - 1]));
    }
    for (std::size_t i = 1; i < positive.size(); ++i) scores.add_panel(phi, deviation, positive[i - 1], positive[i]);
    scores.finish();
    return scores;
  }

  bool empty() const { return nodes_.empty(); }

  ScoreBlocks<T> operator()(const T& s) const {
    using std::exp;
    using std::log;
    ScoreBlocks<T> sums{};
    const T least = -s - lost_below_;
    const auto first = std::partition_point(panels_.begin(), panels_.end(),
                                            [&](const Panel& panel) { return panel.exponent < least; });
    T kept = first == panels_.end() ? T(1) : first->weight_below, complement = T(0);
    for (auto at = first; at != panels_.end(); ++at) {
      const Panel& panel = *at;
      const T top = exp(T(s + panel.exponent));
      if (largest_exponent() < exp(T(s + panel.least_from_here))) {
        complement += panel.weight_from_here;
        break;
      }
      if (top < negligible_square()) {
        accumulate(panel, top, sums, kept, complement,
                   [](const T& t) { return std::pair(T(T(1) - t), T(t - t * t / T(2))); });
      } else {
        accumulate(panel, top, sums, kept, complement, [](const T& t) {
          if (T(0.5) < t) {
            const T e = exp(T(-t));
            return std::pair(e, T(T(1) - e));
          }
          const T c = -math::exp_minus_one(T(-t));
          return std::pair(T(T(1) - c), c);
        });
      }
    }
    sums.log_psi = complement < T(0.5) ? math::log_one_plus(T(-complement)) : T(log(kept));
    return sums;
  }

 private:
  struct Node {
    T g, weight, growth, slope;
  };
  struct Panel {
    T exponent;  // the largest phi on it; growth = e^(phi - exponent)
    std::size_t first, last;
    T weight_below, weight_from_here, least_from_here;  // the last: the smallest phi on it and on those after it
  };

  static T largest_exponent() {
    using std::log;
    return T(10) - T(2) * log(T(std::numeric_limits<T>::epsilon()));
  }
  /// The t below which t^3 / 6 is less than the last digit of t.
  static T negligible_square() {
    using std::sqrt;
    return sqrt(T(std::numeric_limits<T>::epsilon()));
  }

  template <class Kernel>
  void accumulate(const Panel& panel, const T& top, ScoreBlocks<T>& sums, T& kept, T& complement,
                  const Kernel& kernel) const {
    for (std::size_t i = panel.first; i < panel.last; ++i) {
      const Node& node = nodes_[i];
      const T t = top * node.growth;
      const auto [e, c] = kernel(t);
      kept += node.weight * e;
      complement += node.weight * c;
      const T first = node.weight * t * e, second = first * t, third = second * t;
      sums.first += first;
      sums.first_slope += node.slope * first;
      sums.first_steep += math::magnitude(node.slope) * first;
      sums.first_score += node.g * first;
      sums.second += second;
      sums.second_square += node.g * node.g * second;
      sums.third += third;
      sums.fourth += third * t;
    }
  }

  template <class Phi>
  void add_panel(const Phi& phi, const T& deviation, const T& low, const T& high) {
    const T half = (high - low) / T(2);
    const auto p = Panels::piece(phi, deviation, low, high);
    open_panel(p.largest);
    for (int i = 0; i < order; ++i) add(p.g[i], T(Panels::weight(i) * half), p.phi[i], T(p.rate[i] / half));
  }

  void open_panel(const T& exponent) {
    panels_.push_back({exponent, nodes_.size(), nodes_.size(), T(0), T(0), exponent});
  }

  void add(const T& g, const T& length, const T& phi, const T& slope) {
    using std::exp;
    Panel& panel = panels_.back();
    nodes_.push_back({g, T(length * exp(T(-g * g / T(2)))), T(exp(T(phi - panel.exponent))), slope});
    panel.last = nodes_.size();
    if (phi < panel.least_from_here) panel.least_from_here = phi;
  }

  /// Scales the weights to sum 1, orders the panels by phi, and sums the weights below and above each.
  void finish() {
    using std::log;
    std::stable_sort(panels_.begin(), panels_.end(),
                     [](const Panel& a, const Panel& b) { return a.exponent < b.exponent; });
    T total = T(0);
    for (const Node& node : nodes_) total += node.weight;
    for (Node& node : nodes_) node.weight = node.weight / total;
    const auto weight = [&](const Panel& panel) {
      T sum = T(0);
      for (std::size_t i = panel.first; i < panel.last; ++i) sum += nodes_[i].weight;
      return sum;
    };
    T below = T(0), above = T(0);
    for (std::size_t p = 0; p < panels_.size(); ++p) {
      panels_[p].weight_below = below;
      below += weight(panels_[p]);
    }
    for (std::size_t p = panels_.size(); p-- > 0;) {
      above += weight(panels_[p]);
      panels_[p].weight_from_here = above;
      if (p + 1 < panels_.size())
        panels_[p].least_from_here = (std::min)(panels_[p].least_from_here, panels_[p + 1].least_from_here);
    }
    // t below this, times a density at most this much larger, adds nothing to the sums
    const T& end = nodes_.front().g;
    lost_below_ = end * end / T(2) - log(T(std::numeric_limits<T>::epsilon()));
  }

  std::vector<Node> nodes_;
  std::vector<Panel> panels_;
  T lost_below_ = T(0);
};

}  // namespace incontext::laws::detail
