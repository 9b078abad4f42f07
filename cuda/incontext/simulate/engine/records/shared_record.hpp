#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/simulate/engine/records/run_message.hpp"
#include "incontext/simulate/engine/records/shared_run.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/statistics/moments_tree.hpp"

namespace incontext::simulate {

/// How long a rank computes before it says what it has finished, if its waves are not longer.
///
/// Units     seconds.
inline constexpr double shared_block_seconds = 0.5;

/// The record of one rank of a shared run: it computes what rank 0 lends it, and all ranks get the totals of all.
///
/// Errors    every method: std::runtime_error, the same on all ranks, if a rank failed or runs something else.
class SharedRecord final : public Record {
 public:
  /// `call` brings a message to the shared run and returns its reply.
  explicit SharedRecord(std::function<RunReply(const RunMessage&)> call) : call_(std::move(call)) {}

  /// The name, for messages, of the simulations that begin from now on.
  void name_next(std::string name) { name_ = std::move(name); }

  /// The text that rank 0 gives, on every rank.
  std::string agreed(const std::string& text) { return ask({.request = RunRequest::agree, .text = text}).text; }

  void begin(const SimulationIdentity& identity) override {
    trees_.resize(static_cast<std::size_t>(identity.outputs));
    chunks_per_second_ = 0;  // of this simulation nothing is known yet
    take_up({});
    ask({.request = RunRequest::begin, .text = name_, .identity = identity});
  }

  ChunkRange next(std::int64_t end, std::int64_t most) override {
    if (block_.count == 0) {
      const double fitting = chunks_per_second_ * shared_block_seconds;
      take_up(ask(finished({.request = RunRequest::next,
                            .end = end,
                            .most = (std::max)(most, static_cast<std::int64_t>(fitting))}))
                  .range);
    }
    return {block_.first, (std::min)(block_.count, most)};
  }

  void add(const ChunkRange& range, const std::vector<statistics::Moments>& moments) override {
    if (range.first == 0) {
      first_chunk_ = moments;
    } else {
      for (std::size_t i = 0; i < moments.size(); ++i) trees_[i % trees_.size()].push(moments[i]);
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
      chunks_per_second_ = static_cast<double>(trees_.front().size()) / (std::max)(seconds.count(), 1e-9);
    }
    block_ = {range.end(), block_.count - range.count};
  }

  [[nodiscard]] std::int64_t missing(std::int64_t end) const override {
    return end - known_ - (trees_.empty() ? 0 : trees_.front().size());
  }

  std::vector<statistics::Moments> totals(std::int64_t end) override {
    RunReply reply = ask(finished({.request = RunRequest::totals, .end = end, .is_stopped = !has_no_more_}));
    take_up({});
    return std::move(reply.totals);
  }

 private:
  RunReply ask(const RunMessage& message) {
    RunReply reply = call_(message);
    if (!reply.error.empty()) throw std::runtime_error(reply.error);
    known_ = reply.known;
    return reply;
  }

  RunMessage finished(RunMessage message) {
    message.first_chunk = std::move(first_chunk_);
    message.finished = trees_;
    return message;
  }

  void take_up(const ChunkRange& block) {
    block_ = block;
    has_no_more_ = block.count == 0;
    first_chunk_.clear();
    std::fill(trees_.begin(), trees_.end(), statistics::MomentsTree(block.first));
    start_ = std::chrono::steady_clock::now();
  }

  std::function<RunReply(const RunMessage&)> call_;
  std::string name_;
  ChunkRange block_ = {};  // what is left of the chunks that this rank was lent
  std::vector<statistics::Moments> first_chunk_;
  std::vector<statistics::MomentsTree> trees_;  // of what it has finished of them
  std::chrono::steady_clock::time_point start_ = {};
  double chunks_per_second_ = 0;
  std::int64_t known_ = 0;
  bool has_no_more_ = false;
};

/// A shared run with those of its ranks that are threads of this process.
class LocalRanks {
 public:
  explicit LocalRanks(int ranks) : run_(ranks) {}

  /// Brings a rank's message to the run and waits for the reply.
  RunReply call(int rank, const RunMessage& message) {
    std::unique_lock lock(mutex_);
    run_.receive(rank, message);
    changed_.notify_all();
    std::optional<RunReply> reply;
    changed_.wait(lock, [&] { return (reply = run_.take(rank)).has_value(); });
    return *std::move(reply);
  }

  /// Calls function(SharedRun&) while no rank is served.
  template <class Function>
  auto with_run(const Function& function) {
    const std::lock_guard lock(mutex_);
    struct Notice {
      std::condition_variable& changed;
      ~Notice() { changed.notify_all(); }
    } const notice{changed_};
    return function(run_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  SharedRun run_;
};

}  // namespace incontext::simulate
