#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "examples/verify/decision.hpp"
#include "examples/verify/options.hpp"
#include "examples/verify/processes.hpp"

/// One edition of the ledger: the runs of the program, the rows they reported, and the decisions.
namespace incontext::examples::verify {

/// A run of the program, as it was run.
struct Run {
  std::string command;        ///< its name in the registry
  std::string line = {};      ///< the command line, to repeat it
  double seconds = 0;         ///< of processor time
  std::string problem = {};   ///< why it has no report; empty if it has one
  std::string report = {};    ///< its JSON
  std::string recorded = {};  ///< the file of an earlier run's report, if this is one, with its commit
};

struct Ledger {
  std::vector<Claim> claims = {};
  std::vector<Run> runs = {};
  std::vector<Row> rows = {};
  std::vector<Decision> decisions = {};  ///< of the claims, in their order
  Family of_no_claim = {};               ///< of the other rows in the same figures
  bool complete = true;                  ///< false if it was interrupted

  std::size_t count(Outcome outcome) const;
  /// The families that a row is in: of the claims that ask whether it agrees, or of those of no claim.
  std::vector<const Family*> families_of(std::size_t row) const;
  /// What is wrong on our side, as sentences: rejected rows but for those that state only what a paper says, and groups
  /// of exact results, identities and additions that do not hold.
  std::vector<std::string> rejections() const;
  /// The runs to repeat with another seed, because a row of a paper is rejected by simulation.
  std::vector<std::string> runs_to_repeat() const;
};

/// The words of a command line, with the seed where its subcommand takes one.
std::vector<std::string> words_of(const Command& command, Edition edition, std::uint64_t seed);

/// The runs that claims need and that the edition has, those that take longest first.
std::vector<std::string> needed_runs(const Registry& registry, const std::vector<Claim>& claims, Edition edition);

/// A run and the seed to run it with.
struct Draw {
  std::string run;
  std::uint64_t seed;
  bool is_repeat = false;  ///< a recorded run is read from its second recording
};

/// Starts the runs and reads their reports; a run without a command line in this edition is read as it was recorded.
std::vector<Run> do_runs(const std::vector<Draw>& draws, const VerifyOptions& o, const Interrupts& interrupts);

/// The runs with one seed.
std::vector<Draw> with_seed(const std::vector<std::string>& runs, std::uint64_t seed);

/// How far the second seed is from the first: runs of training have seeds of their own from it on.
inline constexpr std::uint64_t another_seed = 100000;

/// Those of the runs that can be repeated with the second seed: run again, or recorded twice.
std::vector<Draw> repeated(const std::vector<std::string>& runs, const VerifyOptions& o);

/// The ledger of runs that are done.
Ledger ledger_of(std::vector<Claim> claims, std::vector<Run> runs);

/// The ledger with what runs with another seed say of rows of the papers that were rejected.
Ledger with_another_seed(Ledger ledger, const std::vector<Run>& runs);

}  // namespace incontext::examples::verify
