#pragma once

#include <vector>

#include "examples/support/report.hpp"
#include "examples/verify/edition.hpp"

/// The ledger as tables and a verdict.
namespace incontext::examples::verify {

/// A row for each claim, with what it says, what was found and where; the text table has the numbers.
Table claims_table(const Ledger& ledger);

/// Every row of evidence, with its claims.
Table rows_table(const Ledger& ledger);

/// The runs of the programs.
Table runs_table(const Ledger& ledger);

/// The claims of the registry, before anything ran.
Table list_table(const std::vector<Claim>& claims);

/// Whether every claim came out as the registry has it; its text counts the outcomes.
Verdict verdict_of(const Ledger& ledger);

/// "to 0.2%", the least relative deviation that would have been seen.
std::string resolution_text(double resolution);

}  // namespace incontext::examples::verify
