#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/simulate/engine/records/run_message.hpp"
#include "incontext/simulate/engine/records/simulation_record.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::simulate {

/// The chunks of a run that several ranks share, as rank 0 keeps them: who computes which, and what is known. It does
/// not communicate; its owner brings the messages of all ranks, one at a time, and takes the replies.
///
/// Every rank computes the first chunk of every simulation, by which the parameters are checked. The other chunks
/// are lent in blocks of at most half of a rank's fair share of what is left, so that fast ranks compute more and all
/// end together. What a rank has finished is in the record with its next message.
///
/// Errors    a rank that fails, or that runs another simulation than the first that began it, fails the run: from then
///           on every request but wait and leave gets the same error, which names the rank.
/// Random    as Record: the bits of one run, whoever computed what.
class SharedRun {
 public:
  explicit SharedRun(int ranks) : ranks_(static_cast<std::size_t>(ranks)), remaining_(ranks) {}
  SharedRun(const SharedRun&) = delete;
  SharedRun& operator=(const SharedRun&) = delete;

  /// Keeps the chunks in this record from now on; before the first simulation begins.
  void keep(SimulationRecord& record) { record_ = &record; }
  /// Is called with the number of a rank when its reply is due.
  void on_reply(std::function<void(int)> call) { replied_ = std::move(call); }

  /// Is called when a rank was stopped.
  void on_stop(std::function<void()> call) { stopped_ = std::move(call); }

  void receive(int rank, const RunMessage& message) {
    at(rank).pending = message.request;
    try {
      if (failure_.empty() || message.request == RunRequest::leave) handle(rank, message);
    } catch (const std::exception& error) {
      if (failure_.empty()) failure_ = error.what();
    }
    const bool goes_on = message.request == RunRequest::next || message.request == RunRequest::begin;
    if (!failure_.empty() || !goes_on) settle();  // a rank that goes on changes nothing for the others
  }

  /// The reply to the rank's last message, once it is due; each is returned once.
  std::optional<RunReply> take(int rank) { return std::exchange(at(rank).reply, std::nullopt); }

  /// Whether all have left.
  [[nodiscard]] bool is_over() const { return remaining_ == 0; }

 private:
  struct Rank {
    std::optional<RunRequest> pending = {};  // what it waits for
    std::optional<RunReply> reply = {};
    std::size_t begun = 0;
    bool is_checked = false, has_left = false;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool rank_0_waits() const { return ranks_.front().pending == RunRequest::wait; }
  [[nodiscard]] const RecordedSimulation& current() const { return record_->simulations()[record_->begun() - 1]; }

  void handle(int rank, const RunMessage& message) {
    Rank& own = at(rank);
    switch (message.request) {
      case RunRequest::agree:
        if (rank == 0) agreed_ = message.text;
        break;
      case RunRequest::begin:
        begin(rank, message);
        reply(own, {.known = known_});
        break;
      case RunRequest::next:
        absorb(rank, message);
        reply(own, {.range = lent(own, message.most), .known = known_});
        break;
      case RunRequest::totals:
        absorb(rank, message);
        ++asked_totals_;
        if (message.is_stopped) stop();
        break;
      case RunRequest::wait:  // rank 0 runs no further simulation
        is_stopped_ = true;
        break;
      case RunRequest::leave:
        leave(rank, message);
    }
  }

  void leave(int rank, const RunMessage& message) {
    at(rank).has_left = true;
    --remaining_;
    is_stopped_ = true;
    if (rank == 0) exit_code_ = message.exit_code;
    if (!message.text.empty()) throw std::runtime_error("rank " + std::to_string(rank) + ": " + message.text);
  }

  void begin(int rank, const RunMessage& message) {
    if (at(rank).begun++ < begun_) {
      const std::string& name = message.text.empty() ? current().name : message.text;
      compare(rank, [&] { record_->require_same(name, message.identity); });
      return;
    }
    ++begun_;
    if (!message.text.empty()) record_->name_next(message.text);
    record_->begin(message.identity);
    first_rank_ = rank;
    planned_ = 1;
    known_ = stage_end_ = unlent_ = 0;
    to_lend_.clear();
    is_stopped_ = rank_0_waits() || remaining_ < static_cast<int>(ranks_.size());
    for (Rank& one : ranks_) one.is_checked = false;
  }

  /// Calls what refuses a simulation that differs from that of the rank that began it.
  void compare(int rank, const auto& function) const {
    try {
      function();
    } catch (const std::exception& error) {
      std::string problem = error.what();  // perhaps after "room::function: "
      if (const std::size_t colon = problem.find(": "); colon != std::string::npos) problem.erase(0, colon + 2);
      throw std::runtime_error("ranks " + std::to_string(first_rank_) + " and " + std::to_string(rank) +
                               " run different simulations: " + problem);
    }
  }

  /// Takes what a rank has finished of the stage that ends at message.end.
  void absorb(int rank, const RunMessage& message) {
    if (stage_end_ != 0 && message.end != stage_end_) {
      throw std::runtime_error("rank " + std::to_string(rank) + " runs another number of trials than the others");
    }
    if (stage_end_ == 0) plan_until(message.end);
    if (!message.first_chunk.empty()) {
      at(rank).is_checked = true;
      if (current().first_chunk.empty()) {
        record_->add({0, 1}, message.first_chunk);
        ++known_;
      } else {
        compare(rank, [&] { record_->check_first_chunk(message.first_chunk); });
      }
    }
    if (message.finished.empty() || message.finished.front().size() == 0) return;
    known_ += message.finished.front().size();
    record_->add(KnownChunks{message.finished});
  }

  /// Counts what is known of the chunks before `end`, and lists those that nobody was lent; all know the first one.
  void plan_until(std::int64_t end) {
    stage_end_ = end;
    known_ = 0;
    const auto list_until = [this](std::int64_t chunk) {
      if (chunk <= planned_) return;
      to_lend_.push_back({planned_, chunk - planned_});
      unlent_ += chunk - planned_;
      planned_ = chunk;
    };
    for (const KnownChunks& piece : current().known) {
      if (piece.first() >= end) break;
      known_ += (std::min)(piece.end(), end) - piece.first();
      list_until(piece.first());
      planned_ = (std::max)(planned_, (std::min)(piece.end(), end));
    }
    list_until(end);
  }

  /// The chunks that a rank is to compute next: the first one, by which its parameters are checked. The others end at a
  /// multiple of a power of two near their number, so that their tree has few nodes.
  ChunkRange lent(const Rank& own, std::int64_t most) {
    if (is_stopped_) return {};
    if (!own.is_checked) return {0, 1};
    if (to_lend_.empty()) return {};
    ChunkRange& from = to_lend_.front();
    const std::int64_t fair = (std::max<std::int64_t>)(unlent_ / (2 * remaining_), 1);
    const std::int64_t count = (std::min)({from.count, (std::max<std::int64_t>)(most, 1), fair});
    const auto node = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count)));
    const std::int64_t end = (std::max)((from.first + count) / node * node, from.first + 1);
    const ChunkRange block{from.first, end - from.first};
    from = {end, from.count - block.count};
    unlent_ -= block.count;
    if (from.count == 0) to_lend_.pop_front();
    return block;
  }

  void stop() {
    if (!is_stopped_ && stopped_) stopped_();
    is_stopped_ = true;
  }

  void reply(Rank& rank, RunReply reply) {
    rank.pending.reset();
    rank.reply = std::move(reply);
    if (replied_) replied_(static_cast<int>(&rank - ranks_.data()));
  }

  /// Replies to everything that can be answered by now.
  void settle() {
    const bool others_left = remaining_ == (ranks_.front().has_left ? 0 : 1);
    const bool is_whole =
        asked_totals_ > 0 && asked_totals_ == remaining_ - (rank_0_waits() ? 1 : 0) && failure_.empty();
    const RunReply whole{.known = known_, .totals = is_whole ? record_->totals(stage_end_) : RunReply().totals};
    for (Rank& rank : ranks_) {
      if (!rank.pending) continue;
      const RunRequest request = *rank.pending;
      if (request == RunRequest::wait) {
        if (others_left) reply(rank, {.error = failure_});
      } else if (request == RunRequest::leave) {
        if (exit_code_) reply(rank, {.exit_code = *exit_code_});
      } else if (!failure_.empty()) {
        reply(rank, {.error = failure_});
      } else if (request == RunRequest::agree && agreed_) {
        reply(rank, {.text = *agreed_});
      } else if (request == RunRequest::totals && is_whole) {
        reply(rank, whole);
      }
    }
    if (is_whole) stage_end_ = asked_totals_ = 0;
  }

  std::vector<Rank> ranks_;
  SimulationRecord own_record_;
  SimulationRecord* record_ = &own_record_;
  std::function<void(int)> replied_;
  std::function<void()> stopped_;
  std::optional<std::string> agreed_;
  std::optional<int> exit_code_;
  std::string failure_;
  std::deque<ChunkRange> to_lend_;
  std::size_t begun_ = 0;                              // simulations
  std::int64_t planned_ = 1, known_ = 0, unlent_ = 0;  // chunks
  std::int64_t stage_end_ = 0;                         // a chunk; 0 between stages
  int remaining_ = 0, asked_totals_ = 0;               // ranks that have not left; that wait for totals
  int first_rank_ = 0;                                 // that began the simulation
  bool is_stopped_ = false;
};

}  // namespace incontext::simulate
