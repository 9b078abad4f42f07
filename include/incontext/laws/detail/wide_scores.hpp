#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "incontext/core/math.hpp"
#include "incontext/core/real.hpp"
#include "incontext/laws/detail/normal_scores.hpp"
#include "incontext/laws/detail/sampled_scores.hpp"

namespace incontext::laws::detail {

/// Averages over one normal score under phi(g) = x g, for x above `narrowest`: sums over nodes in y = s + x g. The
/// kernels e^(k y - e^y) are tabulated once, because s enters through a normal density alone.
///
/// In 1 - psi = E(1 - e^-e^y) the kernel tends to 1 on the right, so its sum would not end. Therefore only its
/// difference from the step Phi(y / width) is summed, and the average of that step is added in closed form.
template <Real T>
class WideScores {
 public:
  static T narrowest(const T& count) { return T(1.5) * SampledScores<T>::reach(count); }

  WideScores(const T& score_stddev, const T& count) : x_(score_stddev) {
    using std::ceil;
    using std::exp;
    using std::floor;
    using std::log;
    using std::sqrt;
    const T digits = T(5) - log(T(std::numeric_limits<T>::epsilon()));
    const T pi = math::pi<T>();
    // y = v - e^-(v + depth) ends the sum doubly exponentially on the left: densities grow like e^(-y reach / x)
    const T step = T(0.8) * pi * pi / digits, decay = T(1) - SampledScores<T>::reach(count) / x_;
    const T depth = T(3) / decay;
    const int first = static_cast<int>(floor(T((-depth - log(T(digits / decay))) / step)));
    const T end = log(digits) + T(1), width = end / sqrt(T(T(2) * digits));
    const int last = static_cast<int>(ceil(T(end / step)));
    const T scale = step / (x_ * sqrt(T(T(2) * pi)));
    for (int i = first; i <= last; ++i) {
      const T v = T(double(i)) * step, steep = exp(T(-v - depth)), y = v - steep, t = exp(y);
      const T weight = scale * (T(1) + steep), once = weight * t * exp(T(-t));
      const T beyond = y < T(0) ? T(-math::exp_minus_one(T(-t)) - math::normal_tail(T(-y / width)))
                                : T(math::normal_tail(T(y / width)) - exp(T(-t)));
      nodes_.push_back({T(y / x_), T(weight * beyond), once, T(once * t), T(once * t * t), T(once * t * t * t)});
    }
    smooth_ = sqrt(T(width * width + x_ * x_));
  }

  ScoreBlocks<T> operator()(const T& s) const {
    using std::exp;
    using std::log;
    const T center = -s / x_;
    ScoreBlocks<T> sums{};
    T beyond = T(0);
    for (const Node& node : nodes_) {
      const T g = node.place + center, density = exp(T(-g * g / T(2))), score = g * density;
      beyond += density * node.beyond;
      sums.first += density * node.first;
      sums.first_score += score * node.first;
      sums.second += density * node.second;
      sums.second_square += g * score * node.second;
      sums.third += density * node.third;
      sums.fourth += density * node.fourth;
    }
    sums.first_slope = sums.first_steep = x_ * sums.first;
    const T complement = math::normal_tail(T(-s / smooth_)) + beyond;
    sums.log_psi = complement < T(0.5) ? math::log_one_plus(T(-complement))
                                       : T(log(T(math::normal_tail(T(s / smooth_)) - beyond)));
    return sums;
  }

 private:
  struct Node {
    T place;  // y / x
    T beyond, first, second, third, fourth;
  };

  T x_, smooth_;
  std::vector<Node> nodes_;
};

}  // namespace incontext::laws::detail
