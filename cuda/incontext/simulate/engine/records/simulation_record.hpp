#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/statistics/moments_tree.hpp"

namespace incontext::simulate {

/// Consecutive chunks of a simulation that are known.
///
/// Shapes    trees: one per output, all over the same chunks.
struct KnownChunks {
  std::vector<statistics::MomentsTree> trees;

  [[nodiscard]] std::int64_t first() const { return trees.front().first(); }
  [[nodiscard]] std::int64_t end() const { return trees.front().end(); }
};

/// What is known of one simulation. Its common chunks (SimulationIdentity::common_chunks) and those after them are kept
/// apart, so that records of parts, which all have the former, can be united.
///
/// Shapes    first_chunk: one per output, or none if the chunk was not computed yet; known: ascending, disjoint.
struct RecordedSimulation {
  std::string name;
  SimulationIdentity identity;
  std::vector<statistics::Moments> first_chunk = {};
  std::vector<KnownChunks> known = {};
};

/// One of `count` shares of a run, numbered from 1.
///
/// Domain    1 <= number <= count <= 1000000.
struct Part {
  std::int64_t number = 1;
  std::int64_t count = 1;
};

/// The record of a program's simulations in memory. It can be saved at any time and given to a later run, which
/// computes only what is missing; with a part it computes the common chunks and its share of the others.
///
///     simulate::SimulationRecord record;             // or one that was kept: SimulationRecord(simulations)
///     simulate::run(MyTrial{}, {.trials = 65536, .record = &record});
///     const std::vector<simulate::RecordedSimulation>& kept = record.simulations();
///
/// Every simulation that has a first chunk computes it again, and refuses to continue unless its bits are the recorded
/// ones. That is strong evidence that the parameters are the recorded ones, though no proof: compare them, too, where
/// they are at hand.
///
/// Errors    begin and add: std::invalid_argument that names the simulation and what differs.
/// Random    as Record: the bits of one run, however it was interrupted and divided.
class SimulationRecord final : public Record {
 public:
  explicit SimulationRecord(std::vector<RecordedSimulation> simulations = {}, const Part& part = {})
      : simulations_(std::move(simulations)), part_(part) {
    require_at_least(where, "part.number", part.number, std::int64_t{1});
    require_at_least(where, "part.count", part.count, part.number);
    if (part.count > 1000000) throw_invalid_argument(where, "part.count is too large", part.count, "at most 1000000");
  }

  /// The name, for messages, of the simulations that begin from now on.
  void name_next(std::string name) { name_ = std::move(name); }

  /// Is called after every change.
  void on_change(std::function<void()> call) { changed_ = std::move(call); }

  [[nodiscard]] const std::vector<RecordedSimulation>& simulations() const { return simulations_; }
  [[nodiscard]] const Part& part() const { return part_; }

  /// How many simulations have begun.
  [[nodiscard]] std::size_t begun() const { return begun_; }

  void begin(const SimulationIdentity& identity) override {
    if (begun_ == simulations_.size()) simulations_.push_back({name_, identity});
    ++begun_;
    require_same(name_, identity);
    is_checked_ = current().first_chunk.empty();
  }

  ChunkRange next(std::int64_t end, std::int64_t most) override {
    if (!is_checked_) return {0, 1};
    for (const ChunkRange& own : own_ranges(end)) {
      const ChunkRange found = first_missing(own);
      if (found.count > 0) return {found.first, (std::min)(found.count, most)};
    }
    return {};
  }

  void add(const ChunkRange& range, const std::vector<statistics::Moments>& moments) override {
    const auto outputs = static_cast<std::ptrdiff_t>(current().identity.outputs);
    if (!is_checked_) {
      check_first_chunk(moments);
      return;
    }
    if (range.first == 0) current().first_chunk.assign(moments.begin(), moments.begin() + outputs);
    KnownChunks chunks{std::vector(static_cast<std::size_t>(outputs), statistics::MomentsTree(range.first))};
    for (std::size_t i = 0; i < moments.size(); ++i) chunks.trees[i % chunks.trees.size()].push(moments[i]);
    add(chunks);
  }

  /// The same for chunks after the first one that were computed elsewhere.
  void add(const KnownChunks& chunks) {
    KnownChunks& piece = piece_from(chunks.first());
    for (std::size_t output = 0; output < chunks.trees.size(); ++output) {
      for (const auto& node : chunks.trees[output].nodes()) piece.trees[output].push(node);
    }
    join_pieces();
    if (changed_) changed_();
  }

  [[nodiscard]] std::int64_t missing(std::int64_t end) const override {
    std::int64_t missing = 0;
    for (ChunkRange own : own_ranges(end)) {
      missing += own.count;
      for (const KnownChunks& piece : current().known) {
        missing -=
            (std::max<std::int64_t>)((std::min)(piece.end(), own.end()) - (std::max)(piece.first(), own.first), 0);
      }
    }
    return is_checked_ ? missing : missing + 1;  // the first chunk, whose bits are to be compared
  }

  /// `end` must not lie inside a piece of known chunks. It never does: pieces are not joined across the end of the
  /// common chunks, where a pilot ends.
  std::vector<statistics::Moments> totals(std::int64_t end) override {
    std::vector<statistics::Moments> result;
    for (std::size_t output = 0; output < static_cast<std::size_t>(current().identity.outputs); ++output) {
      std::vector<statistics::MomentsTree> pieces;
      for (const KnownChunks& piece : current().known) {
        if (piece.first() >= end) break;
        if (pieces.empty() || pieces.back().end() != piece.first()) pieces.emplace_back(piece.first());
        for (const statistics::MomentsNode& node : piece.trees[output].nodes()) pieces.back().push(node);
      }
      statistics::Moments total;
      for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) total = merge(piece->total(), total);
      result.push_back(total);
    }
    return result;
  }

  /// Refuses a simulation that is not the one that has begun.
  void require_same(std::string_view name, const SimulationIdentity& identity) const {
    const auto refuse = [this](std::string_view what, const auto& here, const auto&) {
      throw_invalid_argument(where, subject() + ": the run has another " + std::string(what) + " than the record", here,
                             "that of the record");
    };
    if (name != current().name) refuse("name", name, current().name);
    detail::for_each_difference(identity, current().identity, refuse);
  }

  /// Refuses another first chunk than the recorded one.
  void check_first_chunk(const std::vector<statistics::Moments>& moments) {
    for (std::size_t output = 0; output < moments.size(); ++output) {
      if (same_bits(moments[output], current().first_chunk[output])) continue;
      throw_invalid_argument(where, subject() + ": its first 1024 trials differ, first in output",
                             static_cast<std::int64_t>(output), "the same parameters, input files and release");
    }
    is_checked_ = true;
  }

 private:
  static constexpr std::string_view where = "simulate::SimulationRecord";

  [[nodiscard]] RecordedSimulation& current() { return simulations_[begun_ - 1]; }
  [[nodiscard]] const RecordedSimulation& current() const { return simulations_[begun_ - 1]; }

  [[nodiscard]] std::string subject() const {
    constexpr std::size_t most = 60;  // of a name in a message
    const std::string& name = current().name;
    const std::string shown = name.size() <= most ? name : name.substr(0, most) + "...";
    return "simulation " + std::to_string(begun_) + (shown.empty() ? "" : " (" + shown + ")");
  }

  /// The chunks before `end` that are to be computed here: the common ones, and the part's share of the others.
  [[nodiscard]] std::vector<ChunkRange> own_ranges(std::int64_t end) const {
    const std::int64_t common = current().identity.common_chunks();
    if (end <= common) return {{0, end}};
    const auto cut = [&](std::int64_t parts) {
      return common + (end - common) / part_.count * parts + (end - common) % part_.count * parts / part_.count;
    };
    return {{0, common}, {cut(part_.number - 1), cut(part_.number) - cut(part_.number - 1)}};
  }

  [[nodiscard]] ChunkRange first_missing(ChunkRange range) const {
    for (const KnownChunks& piece : current().known) {
      if (piece.end() <= range.first) continue;
      if (piece.first() > range.first) return {range.first, (std::min)(piece.first(), range.end()) - range.first};
      range = {piece.end(), range.end() - piece.end()};
    }
    return range;
  }

  /// The piece that ends before the chunk and goes on with it, or a new one.
  KnownChunks& piece_from(std::int64_t chunk) {
    std::vector<KnownChunks>& known = current().known;
    const auto after =
        std::find_if(known.begin(), known.end(), [&](const auto& piece) { return piece.end() >= chunk; });
    if (after != known.end() && after->end() == chunk && chunk != current().identity.common_chunks()) return *after;
    const auto outputs = static_cast<std::size_t>(current().identity.outputs);
    const auto place = std::find_if(after, known.end(), [&](const auto& piece) { return piece.first() >= chunk; });
    return *known.insert(place, {std::vector<statistics::MomentsTree>(outputs, statistics::MomentsTree(chunk))});
  }

  /// Unites pieces that have come to touch each other, but for the common chunks.
  void join_pieces() {
    std::vector<KnownChunks>& known = current().known;
    for (std::size_t i = 1; i < known.size();) {
      if (known[i - 1].end() != known[i].first() || known[i].first() == current().identity.common_chunks()) {
        ++i;
        continue;
      }
      for (std::size_t output = 0; output < known[i].trees.size(); ++output) {
        for (const auto& node : known[i].trees[output].nodes()) known[i - 1].trees[output].push(node);
      }
      known.erase(known.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::vector<RecordedSimulation> simulations_;
  Part part_;
  std::string name_;
  std::function<void()> changed_;
  std::size_t begun_ = 0;
  bool is_checked_ = true;
};

}  // namespace incontext::simulate
