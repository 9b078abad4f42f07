#pragma once

#include <cstdint>
#include <vector>

/// Tests of numbers that papers print, with nothing of ours in them.
namespace incontext::examples::tasks {

/// So many of so many runs.
struct Count {
  std::int64_t successes, runs;
};

/// Fisher's exact test of two counts, two-sided: the chance, given both totals, of a table that is no more likely.
double fisher_p(const Count& one, const Count& other);

/// What pairs of numbers say of their mean difference.
struct PairedTest {
  double mean, standard_error;
  std::int64_t positive, ties;
  double t_p;         ///< Student's t, two-sided
  double wilcoxon_p;  ///< Wilcoxon's signed ranks, two-sided, exact for these ranks; ties of 0 are left out
};

/// The tests of one less other, of the same size of at least 2.
PairedTest paired_test(const std::vector<double>& one, const std::vector<double>& other);

}  // namespace incontext::examples::tasks
