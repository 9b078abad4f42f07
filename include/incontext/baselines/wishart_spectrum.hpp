#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "incontext/baselines/detail/panel_rule.hpp"
#include "incontext/baselines/detail/wishart_density.hpp"
#include "incontext/core/compiled.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"

namespace incontext::baselines {

/// The mean spectrum of a Wishart matrix G^T G, G of independent N(0, 1), at finite size: as a quadrature rule.
///
/// \f[ E\sum_{x_i > 0} f(x_i) = \int_0^\infty \rho(x) f(x)\,dx
///     \approx \sum_k \mathtt{weights}_k\,f(\mathtt{nodes}_k) \f]
/// \f[ \rho(x) = \sum_{j=0}^{N-2}\phi_j(x)^2
///     - \frac12\sqrt{(N-1)(N-1+a)}\,\frac{\phi_{N-1}(x)}{\sqrt x}\,\frac12\int_0^\infty \mathrm{sgn}(x-t)
///       \frac{\phi_{N-2}(t)}{\sqrt t}\,dt
///     + [N \text{ odd}]\,\frac{\phi_{N-1}(x)/\sqrt x}{\int \phi_{N-1}(t)/\sqrt t\,dt} \f]
///
/// with N = min(examples, dimension), a = |examples - dimension| and the orthonormal Laguerre functions phi_j of weight
/// x^a exp(-x). G^T G is l times the sample covariance of l inputs N(0, I), so that every mean over contexts of a sum
/// over its eigenvalues is one sum over these nodes: the Bayes risk, the error of gradient descent, the information
/// that a context holds of its task. Whatever f is, the rule is the same.
///
///     const baselines::WishartSpectrum<double> of_40_examples(40, 20);
///     const double mean_trace = of_40_examples.mean_sum([](double x) { return x; });   // 40 * 20
///
/// Source    the structure: Adler, Forrester, Nagao and van Moerbeke, J. Stat. Phys. 99 (2000); the constant of the
///           second term derived, for even and odd N: docs/theory/baselines.md#spectrum.
/// Shapes    nodes and weights: one each per node, some 40 sqrt(N) + 11 N + 300 of them.
/// Units     of G^T G: squared entries.
/// Domain    0 <= examples <= 1e6, 1 <= dimension <= 1e6, min(examples, dimension) <= 1e4; f analytic for Re x > 0,
///           with its singularities at negative x or, at x = 0, integrable against x^((a - 1) / 2).
/// Limits    examples = 0: no nodes: all eigenvalues are 0.
/// Errors    std::invalid_argument outside.
/// Accuracy  means of 1, x, x^2, x^3 and 1/x: 5e-15 for min(examples, dimension) <= 100, 1e-12 to 1000; not tested
///           beyond (tests/baselines/wishart_spectrum.cpp).
template <Real T>
class WishartSpectrum {
 public:
  WishartSpectrum(std::int64_t examples, std::int64_t dimension) : examples_(examples), dimension_(dimension) {
    require_count("examples", examples, 0, 1'000'000);
    require_count("dimension", dimension, 1, 1'000'000);
    require_count("min(examples, dimension)", nonzeros(), 0, 10'000);
    if (nonzeros() > 0) fill();
  }

  std::int64_t examples() const { return examples_; }
  std::int64_t dimension() const { return dimension_; }
  /// The eigenvalues that are not 0, almost surely: min(examples, dimension).
  std::int64_t nonzeros() const { return (std::min)(examples_, dimension_); }
  /// The eigenvalues that are 0 in every draw: dimension - examples, or none.
  std::int64_t zeros() const { return dimension_ - nonzeros(); }

  const std::vector<T>& nodes() const { return nodes_; }
  const std::vector<T>& weights() const { return weights_; }

  /// The mean of the sum of f over the eigenvalues that are not 0.
  template <class Function>
  T mean_sum(const Function& f) const {
    T sum = T(0);
    for (std::size_t k = 0; k < nodes_.size(); ++k) sum += weights_[k] * f(nodes_[k]);
    return sum;
  }

 private:
  /// float is computed as double.
  using Wide = std::conditional_t<(std::numeric_limits<T>::digits < 53), double, T>;
  static constexpr int digits = std::numeric_limits<Wide>::digits10;
  /// Gauss-Legendre's nodes per panel: their error on a pole as far off as the panels' ratio leaves it is below
  /// rounding.
  static constexpr int points = digits <= 15 ? 16 : (digits + 7) / 4 * 4;
  using Rule = detail::PanelRule<Wide, points>;
  using Density = detail::SingularValueDensity<Wide, points>;

  static void require_count(const char* parameter, std::int64_t value, std::int64_t least, std::int64_t most) {
    if (value >= least && value <= most) return;
    throw_invalid_argument("WishartSpectrum", std::string(parameter) + " is out of range", value,
                           std::to_string(least) + " to " + std::to_string(most));
  }

  void fill() {
    const std::vector<Wide> edges = panels();
    const Density density(nonzeros(), (std::max)(examples_, dimension_));
    const Rule& rule = Rule::get();
    typename Density::Block half_integral = Density::Block::Zero();
    Wide below = -density.first_integral() / Wide(2);  // eps_0 at the panel's left end
    for (std::size_t p = 0; p + 1 < edges.size(); ++p) {
      const Wide half = (edges[p + 1] - edges[p]) / Wide(2), middle = (edges[p + 1] + edges[p]) / Wide(2);
      const typename Density::Block u = middle + half * rule.places;
      const typename Density::Functions first = density.first(u);
      if (nonzeros() % 2 == 0) {
        const typename Density::Block slope = Wide(2) * half * first.factor;
        half_integral = below + (rule.antiderivative * slope.matrix()).array();
        below += (rule.weights * slope).sum();
      }
      const typename Density::Block weights = half * rule.weights * density(u, first, half_integral);
      for (int i = 0; i < points; ++i) {
        if (!(weights(i) != Wide(0))) continue;
        nodes_.push_back(T(u(i) * u(i)));
        weights_.push_back(T(weights(i)));
      }
    }
  }

  /// Panels in u = sqrt(x), in rising order. The singular values leave the interval sqrt(n) -+ sqrt(N) by t with a
  /// probability of exp(-t^2 / 2) at most (Davidson and Szarek 2001). The density oscillates with the wave number 4
  /// sqrt(N) at most, of which a panel holds two waves. Toward 0 a panel ends at a quarter of its other end at least,
  /// because f may have a pole near 0, down to where rounding begins or where no singular value is.
  std::vector<Wide> panels() const {
    using std::log;
    using std::pow;
    using std::sqrt;
    const Wide eps = std::numeric_limits<Wide>::epsilon();
    const std::int64_t fewer = nonzeros(), more = (std::max)(examples_, dimension_);
    const Wide root_more = sqrt(math::from_count<Wide>(more)), root_fewer = sqrt(math::from_count<Wide>(fewer));
    const Wide tail = Wide(1) + sqrt(Wide(-2 * log(eps)));
    const Wide width = (std::min)(Wide(3), Wide(points * 3 / (Wide(16) * root_fewer)));
    const Wide smallest = pow(eps, Wide(0.75));
    Wide least = smallest;
    if (more > fewer + 1) {
      const Wide gap = root_more - sqrt(math::from_count<Wide>(fewer - 1));
      least = (std::max)(least, Wide(gap / 10 * pow(eps, Wide(Wide(1) / math::from_count<Wide>(more - fewer - 1)))));
    }
    least = (std::max)(least, Wide(root_more - root_fewer - tail));
    std::vector<Wide> edges;
    Wide edge = root_more + root_fewer + tail;
    for (; edge > least; edge -= (std::min)(width, Wide(edge * Wide(0.75)))) edges.push_back(edge);
    edges.push_back(least > smallest ? least : Wide(0));
    std::reverse(edges.begin(), edges.end());
    return edges;
  }

  std::int64_t examples_, dimension_;
  std::vector<T> nodes_ = {}, weights_ = {};
};

INCONTEXT_COMPILED_DECLARATION(baselines_wishart_spectrum, class WishartSpectrum<double>);

}  // namespace incontext::baselines
