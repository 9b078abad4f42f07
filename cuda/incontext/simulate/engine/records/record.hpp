#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/statistics/moments.hpp"
#include "incontext/statistics/moments_tree.hpp"

namespace incontext::simulate {

/// The number of trials in a chunk, which is the unit of merging. Results are reproducible because it is a constant.
///
/// Runs on   host and device
inline constexpr std::int64_t chunk_trials = 1024;

/// The number of chunks that trials fill, the last one perhaps partly.
constexpr std::int64_t chunks_of(std::int64_t trials) { return (trials + chunk_trials - 1) / chunk_trials; }

/// The number of chunks in a pilot, from which a run with a target relative error takes its number of trials.
inline constexpr std::int64_t pilot_chunks = 16;

/// Which definition of a simulation's results a record follows: what a trial is and which random numbers it draws, the
/// size of a chunk, the chunks of a pilot, and the tree in which chunks merge. It changes with every change of these,
/// and records of another one are refused. The recorded bits of every trial, tests/simulate/bits.txt, begin with it.
inline constexpr std::int64_t contract_version = 1;

/// Consecutive chunks of a simulation: `count` from number `first` on.
struct ChunkRange {
  std::int64_t first = 0;
  std::int64_t count = 0;

  [[nodiscard]] std::int64_t end() const { return first + count; }
};

/// What a record knows of a simulation before its first chunk. The parameters of the model are not in it. That they are
/// the same is checked by the first chunk: it is a pure function of them, and other parameters almost surely give other
/// bits in one of its 1024 trials. This is strong evidence and no proof: two models that differ only in rare events may
/// agree in one chunk. A program therefore also compares all its options.
///
/// Units     trials and relative_error as those of Options.
struct SimulationIdentity {
  std::string scalar;
  std::int64_t outputs = 0;
  std::uint64_t seed = 0;
  std::int64_t trials = 0;
  double relative_error = 0;
  std::int64_t contract = contract_version;
  bool in_full = false;  ///< whether every part computes all chunks: what is simulated next depends on the estimates

  /// The first chunks, on which all processes that share a simulation must agree: the pilot, from which the number of
  /// trials follows, or else the first chunk, by which the parameters are checked; all of a simulation in full.
  [[nodiscard]] std::int64_t common_chunks() const {
    if (in_full) return (std::numeric_limits<std::int64_t>::max)();
    if (relative_error == 0) return 1;
    return trials > 0 ? (std::min)(pilot_chunks, chunks_of(trials)) : pilot_chunks;
  }
};

/// Which chunks of a program's simulations are known already, and which are to be computed here: the interface by
/// which a run is checkpointed, divided into parts, or shared by several processes. A run that is given a record (see
/// Options::record) takes its work from it and computes its estimates from what the record returns.
///
/// A run calls begin once; then for each of its stages (the pilot, if there is one, and the rest) next and add in turn
/// until next has no more, and totals once. Simulations come in the order in which the program calls them, which must
/// be the same in every process and in every run that resumes. Records that share a run between processes may
/// communicate in begin, next and totals.
///
/// Shapes    moments of add: those of chunk c, output k at [(c - range.first) * outputs + k]; totals: one per output.
/// Errors    begin and add throw std::invalid_argument if the simulation is not the recorded one.
/// Random    the estimates have the bits of one run if the chunks [0, end) are known at the end, whoever computed them.
class Record {
 public:
  Record() = default;
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  virtual ~Record() = default;

  /// Begins the next simulation.
  virtual void begin(const SimulationIdentity& identity) = 0;
  /// The next chunks to be computed here: at most `most`, all before chunk `end`. None if there is nothing left.
  virtual ChunkRange next(std::int64_t end, std::int64_t most) = 0;
  /// The moments of chunks that next named.
  virtual void add(const ChunkRange& range, const std::vector<statistics::Moments>& moments) = 0;
  /// How many chunks before `end` are still to be computed here.
  [[nodiscard]] virtual std::int64_t missing(std::int64_t end) const = 0;
  /// The moments of every output over the known chunks before `end`.
  virtual std::vector<statistics::Moments> totals(std::int64_t end) = 0;
};

/// The same record, for simulations whose estimates decide what is simulated next, as those of a search: every part of
/// a run computes them in full, so that all parts simulate the same points.
class RecordInFull final : public Record {
 public:
  explicit RecordInFull(Record& record) : record_(record) {}

  void begin(const SimulationIdentity& identity) override {
    SimulationIdentity whole = identity;
    whole.in_full = true;
    record_.begin(whole);
  }
  ChunkRange next(std::int64_t end, std::int64_t most) override { return record_.next(end, most); }
  void add(const ChunkRange& range, const std::vector<statistics::Moments>& moments) override {
    record_.add(range, moments);
  }
  [[nodiscard]] std::int64_t missing(std::int64_t end) const override { return record_.missing(end); }
  std::vector<statistics::Moments> totals(std::int64_t end) override { return record_.totals(end); }

 private:
  Record& record_;
};

namespace detail {

/// Calls visit(what, value in a, value in b) for everything in which two simulations' identities differ, in order.
template <class Visit>
void for_each_difference(const SimulationIdentity& a, const SimulationIdentity& b, const Visit& visit) {
  const auto compare = [&](std::string_view what, const auto& in_a, const auto& in_b) {
    if (in_a != in_b) visit(what, in_a, in_b);
  };
  compare("contract version", a.contract, b.contract);
  compare("scalar", a.scalar, b.scalar);
  compare("number of outputs", a.outputs, b.outputs);
  compare("seed", a.seed, b.seed);
  compare("number of trials", a.trials, b.trials);
  compare("relative_error", a.relative_error, b.relative_error);
  compare("share of every part (in_full)", a.in_full, b.in_full);
}

/// The record of a run that computes all chunks in order.
class OrderedRecord final : public Record {
 public:
  void begin(const SimulationIdentity& identity) override { trees_.resize(static_cast<std::size_t>(identity.outputs)); }

  ChunkRange next(std::int64_t end, std::int64_t most) override { return {done_, (std::min)(most, end - done_)}; }

  void add(const ChunkRange& range, const std::vector<statistics::Moments>& moments) override {
    for (std::size_t i = 0; i < moments.size(); ++i) trees_[i % trees_.size()].push(moments[i]);
    done_ = range.end();
  }

  [[nodiscard]] std::int64_t missing(std::int64_t end) const override { return end - done_; }

  std::vector<statistics::Moments> totals(std::int64_t) override {
    std::vector<statistics::Moments> result;
    for (const statistics::MomentsTree& tree : trees_) result.push_back(tree.total());
    return result;
  }

 private:
  std::vector<statistics::MomentsTree> trees_;
  std::int64_t done_ = 0;
};

}  // namespace detail

}  // namespace incontext::simulate
