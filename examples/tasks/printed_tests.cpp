#include "examples/tasks/printed_tests.hpp"

#include <algorithm>
#include <boost/math/distributions/hypergeometric.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <cstddef>

namespace incontext::examples::tasks {

double fisher_p(const Count& one, const Count& other) {
  const auto successes = static_cast<unsigned>(one.successes + other.successes);
  const auto drawn = static_cast<unsigned>(one.runs), all = static_cast<unsigned>(one.runs + other.runs);
  const boost::math::hypergeometric law(successes, drawn, all);
  const double observed = boost::math::pdf(law, static_cast<unsigned>(one.successes));
  const unsigned least = successes + drawn > all ? successes + drawn - all : 0;
  double p = 0;
  for (unsigned k = least; k <= std::min(successes, drawn); ++k) {
    const double chance = boost::math::pdf(law, k);
    if (chance <= observed * (1 + 1e-9)) p += chance;  // equal but for rounding
  }
  return std::min(p, 1.0);
}

namespace {

/// Twice the ranks of sizes, equal sizes sharing their mean rank.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& sizes) {
  std::vector<std::size_t> ranks;
  for (const double size : sizes) {
    const auto smaller = std::count_if(sizes.begin(), sizes.end(), [&](double other) { return other < size - 1e-9; });
    const auto larger = std::count_if(sizes.begin(), sizes.end(), [&](double other) { return other > size + 1e-9; });
    const auto count = static_cast<std::ptrdiff_t>(sizes.size());
    ranks.push_back(static_cast<std::size_t>(smaller + count - larger + 1));
  }
  return ranks;
}

/// The chance that the sum of ranks with random signs is as far from its mean as the sum of those that are positive.
double signed_rank_p(const std::vector<double>& differences) {
  std::vector<double> sizes;
  for (const double difference : differences) sizes.push_back(std::abs(difference));
  const std::vector<std::size_t> ranks = doubled_ranks(sizes);
  std::size_t all = 0, positive = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    all += ranks[i];
    positive += differences[i] > 0 ? ranks[i] : 0;
  }
  std::vector<double> chances(all + 1, 0.0);  // of each sum
  chances[0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t sum = all + 1; sum-- > 0;) {
      chances[sum] = (chances[sum] + (sum >= rank ? chances[sum - rank] : 0)) / 2;
    }
  }
  const auto distance = [all](std::size_t sum) {
    return std::abs(2 * static_cast<double>(sum) - static_cast<double>(all));
  };
  double p = 0;
  for (std::size_t sum = 0; sum <= all; ++sum) {
    if (distance(sum) >= distance(positive)) p += chances[sum];
  }
  return p;
}

}  // namespace

PairedTest paired_test(const std::vector<double>& one, const std::vector<double>& other) {
  PairedTest test{};
  std::vector<double> differences;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const double difference = one[i] - other[i];
    test.mean += difference / static_cast<double>(one.size());
    test.positive += difference > 1e-9 ? 1 : 0;
    if (std::abs(difference) <= 1e-9) {
      ++test.ties;
    } else {
      differences.push_back(difference);
    }
  }
  double squares = 0;
  for (std::size_t i = 0; i < one.size(); ++i) squares += std::pow(one[i] - other[i] - test.mean, 2);
  const auto freedom = static_cast<double>(one.size()) - 1;
  test.standard_error = std::sqrt(squares / freedom / static_cast<double>(one.size()));
  const boost::math::students_t law(freedom);
  test.t_p = 2 * boost::math::cdf(boost::math::complement(law, std::abs(test.mean) / test.standard_error));
  test.wilcoxon_p = signed_rank_p(differences);
  return test;
}

}  // namespace incontext::examples::tasks
