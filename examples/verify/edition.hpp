#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "examples/verify/decision.hpp"
#include "examples/verify/options.hpp"
#include "examples/verify/processes.hpp"

/// One edition of the ledger: the runs of the programs, the rows they reported, and the decisions.
namespace incontext::examples::verify {

/// A run of a program, as it was run.
struct Run {
  std::string command;       ///< its name in the registry
  std::string line;          ///< the command line, to repeat it
  double seconds = 0;        ///< of processor time
  std::string problem = {};  ///< why it has no report; empty if it has one
  std::string report = {};   ///< its JSON
};

struct Ledger {
  std::vector<Claim> claims = {};
  std::vector<Run> runs = {};
  std::vector<Row> rows = {};
  Family family = {};
  std::vector<Decision> decisions = {};  ///< of the claims, in their order
  bool complete = true;                  ///< false if it was interrupted

  std::size_t count(Outcome outcome) const;
  /// Rows of the family that are evidence of a claim; the others are in the same figures.
  std::size_t members_of_claims() const;
  /// Judged rows that were rejected, as sentences.
  std::vector<std::string> rejections() const;
};

/// The words of a command line, with the seed where its program takes one.
std::vector<std::string> words_of(const Command& command, Edition edition, std::uint64_t seed);

/// The names of the commands that claims need, those that take longest first.
std::vector<std::string> needed_commands(const std::vector<Claim>& claims);

/// A command and the seed to run it with.
struct Draw {
  std::string command;
  std::uint64_t seed;
};

/// Runs the commands and reads their reports.
std::vector<Run> run_commands(const std::vector<Draw>& draws, const VerifyOptions& o, const Interrupts& interrupts);

/// The commands with one seed.
std::vector<Draw> with_seed(const std::vector<std::string>& commands, std::uint64_t seed);

/// The ledger of runs that are done.
Ledger ledger_of(std::vector<Claim> claims, std::vector<Run> runs);

}  // namespace incontext::examples::verify
