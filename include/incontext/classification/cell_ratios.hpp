#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "incontext/classification/context.hpp"
#include "incontext/classification/kernel_mean.hpp"
#include "incontext/classification/partition_function.hpp"
#include "incontext/core/contracts.hpp"
#include "incontext/random/philox.hpp"
#include "incontext/random/sphere.hpp"
#include "incontext/random/streams.hpp"
#include "incontext/random/uniform.hpp"

/// Classes on the sphere in any dimension: how a query's kernel is shared among the cells, estimated from random draws.
namespace incontext::classification {

/// Which points are drawn: uniform points, weighted by the kernel, or points of the von Mises-Fisher law about the
/// query, counted.
///
/// Source    automatic: uniform where partition_function_excess v_d(kappa) is at most 2; beyond, counting has the
///           smaller error.
enum class CellDraws { automatic, uniform, about_query };

/// Thrown for prototypes that are too close for the number of draws: a cell receives too few for its volume.
class TooFewDraws : public std::domain_error {
 public:
  using std::domain_error::domain_error;
};

/// An estimate with its standard error.
struct Estimated {
  double value, standard_error;
};

/// How a query's kernel is shared among the cells, one number per class.
struct CellRatios {
  std::vector<Estimated> volume;            ///< share of the sphere
  std::vector<Estimated> density;           ///< P_c / vol_c: mean kernel in the cell over that on the sphere
  std::vector<Estimated> balanced_weights;  ///< limit of attention on each class in long class-balanced contexts
  std::vector<Estimated> mean_cosine;       ///< E[u.x | C_c]: limit of k z_c / eta of linear descent
};

/// How a query's kernel is shared among the cells: the long-context limits of the algorithms for any number of classes.
///
/// \f[ \pi_c = \frac{P_c/\mathrm{vol}_c}{\sum_{c'} P_{c'}/\mathrm{vol}_{c'}},\quad
///     \frac{P_c}{\mathrm{vol}_c} = \frac{E[e^{\kappa (u\cdot x - 1)} | C_c]}{A_d(\kappa)\, e^{-\kappa}} \f]
///
/// As class-balanced contexts grow, the context-adaptive step tends to softmax(c pi), kernel descent to the logits
/// (eta/k) e^-kappa A_d P_c/vol_c, and linear descent to the logits (eta/k) E[u.x | C_c].
///
/// `kind` chooses between points drawn uniformly and weighted by the kernel, and points drawn about the query and
/// counted.
///
/// Source    derived: docs/theory/classification.md#cell-ratios. The classes share their draws; errors are by the delta
///           method. A class that received no draw about the query has density 0 with the error of one draw. That error
///           is not normal: the truth is beyond 14 of them with probability 1 in 10^6.
/// Shapes    (prototypes: k x d, query: d) -> k each
/// Domain    k >= 1, d >= 2, points of the unit sphere, 0 <= kappa <= 1e8, draws >= 16 k.
/// Limits    kappa = 0: weights 1/k, without error; kappa -> infinity: all weight in the query's own cell.
/// Errors    std::invalid_argument for shapes and counts, std::domain_error for values, TooFewDraws where a cell
///           received fewer than 8.
/// Accuracy  standard errors; compared by z with circle_cells and with contexts of 4000 points
///           (tests/classification/cell_ratios.cpp).
/// Random    draw i takes the counters of trial i in the streams uniform and about_query; deterministic for a seed.
CellRatios cell_ratios(const Matrix<double>& prototypes, const Vector<double>& query, double kappa,
                       std::int64_t draws = 65536, std::uint64_t seed = 1, CellDraws kind = CellDraws::automatic);

// Random points of the sphere, each a pure function of its stream.
namespace detail {

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

}  // namespace detail

// Points drawn on the sphere and sorted into the cells of prototypes, and the standard errors of their counts.
namespace detail {

inline std::size_t nearest(const Eigen::MatrixXd& prototypes, const Eigen::VectorXd& point) {
  Eigen::Index at = 0;
  (prototypes * point).maxCoeff(&at);
  return static_cast<std::size_t>(at);
}

/// Running mean and its standard error within one cell.
struct CellMean {
  double count = 0, mean = 0, square = 0;
  void add(double x) {
    count += 1;
    const double step = x - mean;
    mean += step / count;
    square += step * (x - mean);
  }
  double standard_error() const { return std::sqrt(square / (count * (count - 1))); }
};

/// Standard error of a share of `draws` independent draws; where the share is 0 or 1, the error is that of one draw.
inline double share_error(double share, double draws) {
  return (std::max)(std::sqrt(share * (1 - share) / draws), 1 / draws);
}

/// Standard deviation of sum_c g_c (count_c / draws) over multinomial counts; a count of 0 has the error of one.
inline double multinomial_error(const std::vector<double>& g, const std::vector<double>& shares, double draws) {
  double mean = 0, square = 0;
  for (std::size_t c = 0; c < g.size(); ++c) {
    mean += g[c] * shares[c];
    square += g[c] * g[c] * (std::max)(shares[c], 1 / draws);
  }
  return std::sqrt((std::max)(0.0, square - mean * mean) / draws);
}

inline void require_unit(std::string_view where, std::string_view parameter, double length) {
  if (!(std::abs(length - 1) <= 1e-6)) throw_domain_error(where, parameter, length, "length 1");
}

}  // namespace detail

namespace detail {

class CellSampler {
 public:
  CellSampler(const Matrix<double>& prototypes, const Vector<double>& query, double kappa, std::int64_t draws,
              std::uint64_t seed)
      : prototypes_(prototypes),
        query_(query),
        kappa_(kappa),
        draws_(draws),
        seed_(seed),
        kernel_(static_cast<std::size_t>(prototypes.rows())),
        cosine_(kernel_.size()) {
    Vector<double> point(query_.size());
    each_draw(random::CellStream::uniform, [&](const random::LaneStream<1>& stream) {
      direction(stream, 0, point);
      const auto c = nearest(prototypes_, point);
      const double cosine = point.dot(query_);
      kernel_[c].add(std::exp(kappa_ * (cosine - 1)));
      cosine_[c].add(cosine);
    });
    for (const CellMean& cell : kernel_) {
      if (cell.count < 8) {
        throw TooFewDraws(incontext::detail::contract_message("classification::cell_ratios",
                                                              "a cell caught too few draws for its volume", cell.count,
                                                              "at least 8: prototypes further apart, or more draws"));
      }
    }
  }

  CellRatios all(bool counted) const {
    CellRatios cells;
    for (std::size_t c = 0; c < kernel_.size(); ++c) {
      const double draws = static_cast<double>(draws_), volume = kernel_[c].count / draws;
      cells.volume.push_back({volume, kernel_.size() > 1 ? share_error(volume, draws) : 0.0});
      cells.mean_cosine.push_back({cosine_[c].mean, cosine_[c].standard_error()});
    }
    counted ? count(cells) : average(cells);
    return cells;
  }

 private:
  template <class Visit>
  void each_draw(random::CellStream tag, const Visit& visit) const {
    for (std::int64_t i = 0; i < draws_; ++i) {
      visit(random::LaneStream<1>({seed_, static_cast<std::uint64_t>(i)}, tag));
    }
  }

  void average(CellRatios& cells) const {
    const double whole = std::exp(log_mean(query_.size(), kappa_).scaled);
    double sum = 0;
    for (const CellMean& cell : kernel_) {
      cells.density.push_back({cell.mean / whole, cell.standard_error() / whole});
      sum += cell.mean / whole;
    }
    for (std::size_t c = 0; c < kernel_.size(); ++c) {
      const double pi = cells.density[c].value / sum;
      double variance = 0;
      for (std::size_t j = 0; j < kernel_.size(); ++j) {
        const double slope = ((j == c ? 1 : 0) - pi) / sum * cells.density[j].standard_error;
        variance += slope * slope;
      }
      cells.balanced_weights.push_back({pi, std::sqrt(variance)});
    }
  }

  void count(CellRatios& cells) const {
    const std::size_t k = kernel_.size();
    const double draws = static_cast<double>(draws_);
    std::vector<double> shares(k), volumes(k), by_share(k), by_volume(k);
    const AboutQuery about(query_, kappa_);
    Vector<double> point(query_.size());
    each_draw(random::CellStream::about_query, [&](const random::LaneStream<1>& stream) {
      about.draw(stream, point);
      shares[nearest(prototypes_, point)] += 1 / draws;
    });
    double sum = 0;
    for (std::size_t c = 0; c < k; ++c) {
      const Estimated volume = cells.volume[c];
      const double ratio = shares[c] / volume.value, caught_error = k > 1 ? share_error(shares[c], draws) : 0.0;
      volumes[c] = volume.value;
      cells.density.push_back({ratio, std::hypot(caught_error, ratio * volume.standard_error) / volume.value});
      sum += ratio;
    }
    for (std::size_t c = 0; c < k; ++c) {
      const double pi = cells.density[c].value / sum;
      for (std::size_t j = 0; j < k; ++j) {
        by_share[j] = ((j == c ? 1 : 0) - pi) / (volumes[j] * sum);
        by_volume[j] = -by_share[j] * cells.density[j].value;
      }
      cells.balanced_weights.push_back(
          {pi, std::hypot(multinomial_error(by_share, shares, draws), multinomial_error(by_volume, volumes, draws))});
    }
  }

  Matrix<double> prototypes_;
  Vector<double> query_;
  double kappa_;
  std::int64_t draws_;
  std::uint64_t seed_;
  std::vector<CellMean> kernel_, cosine_;
};

}  // namespace detail

inline CellRatios cell_ratios(const Matrix<double>& prototypes, const Vector<double>& query, double kappa,
                              std::int64_t draws, std::uint64_t seed, CellDraws kind);

inline CellRatios cell_ratios(const Matrix<double>& prototypes, const Vector<double>& query, double kappa,
                              std::int64_t draws, std::uint64_t seed, CellDraws kind) {
  constexpr auto where = "classification::cell_ratios";
  const Eigen::Index k = prototypes.rows(), d = query.size();
  require_at_least(where, "prototypes.rows()", std::int64_t{k}, std::int64_t{1});
  require_at_least(where, "query.size()", std::int64_t{d}, std::int64_t{2});
  require_same_size(where, "prototypes.cols()", prototypes.cols(), d);
  require_non_negative(where, "kappa", kappa);
  if (!(kappa <= 1e8)) throw_domain_error(where, "kappa is too large", kappa, "at most 1e8");
  require_at_least(where, "draws", draws, std::int64_t{16} * k);
  detail::require_unit(where, "query", query.norm());
  for (Eigen::Index c = 0; c < k; ++c) detail::require_unit(where, "a prototype", prototypes.row(c).norm());
  const bool counted = kind == CellDraws::about_query ||
                       (kind == CellDraws::automatic && partition_function_excess(std::int64_t{d}, kappa) > 2);
  return detail::CellSampler(prototypes, query, kappa, draws, seed).all(counted);
}

}  // namespace incontext::classification
