#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>

#include "incontext/random/philox.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/random/uniform.hpp"

/// Random points of the sphere, each a pure function of its stream.
namespace incontext::classification::detail {

/// Draws a uniform point of the unit sphere, from block `first_block` of the stream on.
inline void direction(const random::LaneStream<1>& stream, std::uint32_t first_block, Eigen::VectorXd& out) {
  random::sphere_point(stream, first_block, static_cast<int>(out.size()), out.data(), 1);
}

/// Draws points u of the von Mises-Fisher law about a query x, whose density on the sphere is proportional to
/// e^(kappa u.x), by Wood's rejection sampling (Wood 1994). It proposes the cosine u.x as a rational function t of a
/// beta variate, and accepts it so often that its law is exact. Both things that are needed come from one uniform point
/// v of the sphere: (1 - v.x)/2 is the beta variate, and the part of v orthogonal to x, whose direction is independent
/// of v.x, becomes the direction of u about x.
class AboutQuery {
 public:
  AboutQuery(const Eigen::VectorXd& query, double kappa)
      : query_(query), kappa_(kappa), below_(static_cast<double>(query.size() - 1)) {
    ratio_ = below_ / (2 * kappa + std::sqrt(4 * kappa * kappa + below_ * below_));
    typical_ = (1 - ratio_) / (1 + ratio_);
    log_bound_ = kappa * typical_ + below_ * std::log1p(-typical_ * typical_);
  }

  void draw(const random::LaneStream<1>& stream, Eigen::VectorXd& out) const {
    const auto blocks = random::sphere_blocks<double>(static_cast<int>(query_.size()));
    for (std::uint32_t first = 0;; first += blocks + 1) {
      direction(stream, first, out);
      const double cosine = out.dot(query_), beta = (1 - cosine) / 2;
      const double t = (1 - (1 + ratio_) * beta) / (1 - (1 - ratio_) * beta);
      std::uint32_t words[4][1];
      stream.words(first + blocks, words);
      const double log_uniform = std::log(random::uniform_open(words[0][0], words[1][0]));
      if (kappa_ * t + below_ * std::log1p(-typical_ * t) - log_bound_ < log_uniform) continue;
      out -= cosine * query_;
      out *= std::sqrt((1 - t) * (1 + t)) / out.norm();
      out += t * query_;
      return;
    }
  }

 private:
  Eigen::VectorXd query_;
  double kappa_, below_, ratio_, typical_, log_bound_;
};

}  // namespace incontext::classification::detail
