#pragma once

#include <vector>

#include "examples/support/report.hpp"
#include "examples/verify/edition.hpp"

/// The ledger as tables and a verdict.
namespace incontext::examples::verify {

/// A row for each claim. Text shows the numbers; JSON also has what the claim says, what was found, and where.
Table claims_table(const Ledger& ledger);

/// Every row of evidence, with its claims.
Table rows_table(const Ledger& ledger);

/// The runs of the programs.
Table runs_table(const Ledger& ledger);

/// The claims of the registry, before anything ran.
Table list_table(const std::vector<Claim>& claims);

/// Whether every claim came out as the registry has it; its text counts the outcomes.
Verdict verdict_of(const Ledger& ledger);

/// A relative deviation as "0.2%"; empty if it is NaN.
std::string resolution_text(double resolution);

/// The least relative deviation that a claim's best row would have shown; "rounding" where all its rows are exact.
std::string resolution_text(const Decision& decision);

/// How many of a claim's rows of wrong formulas were rejected: "2 of 3".
std::string rejected_controls_text(const Decision& decision);

/// What a claim's evidence consists of: "60 rows beside simulations, 1 bound of a computed number"; or empty.
std::string evidence_text(const Decision& decision);

/// What the family consists of and how it is judged, in one or two sentences.
std::string family_text(const Ledger& ledger);

}  // namespace incontext::examples::verify
