#pragma once

#include <vector>

#include "examples/support/report.hpp"
#include "examples/verify/edition.hpp"
#include "examples/verify/mutants.hpp"

/// The ledger as tables and a verdict.
namespace incontext::examples::verify {

/// A row for each claim. Text shows the verdicts; JSON also has the quotations and the reasons.
Table claims_table(const Ledger& ledger, const Registry& registry, const std::vector<Mutant>& mutants = {});

/// A row for each group of rows of a claim: what it says, and what became of it.
Table groups_table(const Ledger& ledger);

/// Every row of the runs, with its claims.
Table rows_table(const Ledger& ledger);

/// What became of each claim with one row reversed.
Table mutants_table(const Ledger& ledger, const std::vector<Mutant>& mutants);

/// The runs.
Table runs_table(const Ledger& ledger);

/// The claims of the registry, before anything ran.
Table list_table(const std::vector<Claim>& claims, const Registry& registry);

/// Whether our own results hold: exact results, identities and additions. What became of the claims is counted, and is
/// no failure of the run. Undecided if rows are missing.
Verdict verdict_of(const Ledger& ledger);

/// A relative deviation as "0.2%"; empty if it is NaN.
std::string resolution_text(double resolution);

/// What became of a group, in a word or two.
std::string state_text(Role role, State state);

/// What the families consist of and how they are judged.
std::string family_text(const Ledger& ledger);

/// How many groups of rows change a verdict when they are reversed.
std::string mutants_text(const std::vector<Mutant>& mutants);

}  // namespace incontext::examples::verify
