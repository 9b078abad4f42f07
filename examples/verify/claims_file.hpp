#pragma once

#include <string>
#include <vector>

#include "examples/verify/claim.hpp"

/// The claims' files: TOML, one for each paper.
namespace incontext::examples::verify {

/// A file of claims, a recorded report, or the page.
struct ClaimsText {
  std::string name;
  std::string text;
};

/// The files of examples/verify/claims and examples/verify/recorded, and the page, which are part of the program.
const std::vector<ClaimsText>& embedded_files();

/// Those of claims, in the order of the ledger.
std::vector<ClaimsText> built_in_claims();

/// The report of an earlier run, by its name in a claims file: a file, or one of those that are part of the program.
std::string recorded_report(const std::string& name);

/// Reads claims. Throws InputError, which names the file, the line and the key, for what is not TOML, for an unknown or a
/// missing key, and for a claim that its rows cannot decide.
Registry read_claims(const std::vector<ClaimsText>& files);

}  // namespace incontext::examples::verify
