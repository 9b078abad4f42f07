#pragma once

#include "examples/support/report.hpp"
#include "examples/verify/edition.hpp"

/// Whether the p-values of the ledger's rows are uniform over fresh seeds, as those of right theories are.
namespace incontext::examples::verify {

struct Soak {
  Table table;      ///< a row for all runs together, and the rows whose p-values are least uniform
  Verdict verdict;  ///< agrees if neither the whole nor a row is rejected (Holm)
};

/// Runs every simulation that the claims need with `o.soak` seeds. Trained models are left out: their rows have
/// tolerances, and with them no uniform p-values.
Soak soak(const std::vector<Claim>& claims, const VerifyOptions& o, const Interrupts& interrupts);

/// The p-values of one row of a program over the seeds, in their order.
struct SeededRow {
  std::string command;
  std::string name;
  std::vector<double> p_values = {};
};

/// The verdict on p-values, by one test of all runs together and one of each row over its seeds. The first takes
/// one row of every run at each seed, another one at the next: its values are independent, because every run has a
/// seed of its own. `without` names claims that have no row to test.
Soak judge_uniformity(const std::vector<SeededRow>& rows, std::int64_t seeds,
                      const std::vector<std::string>& without = {});

}  // namespace incontext::examples::verify
