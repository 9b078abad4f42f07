#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "examples/verify/edition.hpp"

/// Whether verdicts can die: each row of a claim is reversed, alone, and the claim is decided again.
namespace incontext::examples::verify {

/// A claim with a group of its rows reversed.
struct Mutant {
  std::size_t claim = 0;
  std::size_t group = 0;
  std::string reversal = {};  ///< what was done to it
  Outcome outcome = Outcome::undecided;
  bool changed = false;  ///< the verdict is another, or holds in other regimes
};

/// The mutants of a ledger: of each claim that was decided, every group of the paper and every near miss.
///
/// rises and falls change places, and above and below; `equals` asks for 10% more, and what it tolerates twice; the
/// worst of the rows that agree has a theory that is off by twice what would be seen, or the other relation; of rows
/// that are `steady` the last is beyond the factor. A near miss, and what does not hold, is made true. Another seed is
/// taken to say the same. Of a claim that does not hold, all rejected rows are reversed together: one of several
/// changes nothing.
std::vector<Mutant> mutants_of(const Ledger& ledger);

}  // namespace incontext::examples::verify
