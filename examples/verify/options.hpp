#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/verify/claim.hpp"

/// The options of incontext verify.
namespace incontext::examples::verify {

struct VerifyOptions {
  Edition edition = Edition::quick;
  Registry registry = {};                ///< the claims' files
  std::vector<std::string> claims = {};  ///< identities; empty: all
  std::vector<std::string> papers = {};  ///< their words or arXiv numbers; empty: all
  std::string claims_file = {};          ///< in the place of the claims that are part of the program
  std::uint64_t seed = 1;
  std::int64_t jobs = 0;  ///< 0: as many as the machine has cores
  bool list = false;
  bool print_claims = false;
  std::string page = {};  ///< a file for the report as HTML
  OutputOptions output = {};
};

void add_verify_options(CLI::App& app, VerifyOptions& o);

/// Checks the options and finds those without effect. Every output is tried before anything runs.
UnusedOptions complete(const CLI::App& app, VerifyOptions& o);

/// The claims that the options ask for. Those with runs that the edition leaves out are not tried, with the reason.
std::vector<Claim> claims_of(const VerifyOptions& o);

/// The file of the claims that the options ask for, as it was read. Throws InputError if they are of several papers.
std::string claims_text(const VerifyOptions& o);

}  // namespace incontext::examples::verify
