#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/simulate/engine/records/simulation_record.hpp"
#include "incontext/statistics/moments.hpp"

namespace incontext::simulate {

/// The record of one part of a run, and where it comes from, for messages: the name of its file.
struct RecordedPart {
  std::string source;
  Part part;
  std::vector<RecordedSimulation> simulations;
};

/// The record of the whole run of which these are all the parts, in any order.
///
/// A run with the result computes only the first chunks again.
///
/// Errors    std::invalid_argument that names the sources if parts are missing, given twice or of different runs: other
///           simulations, other identities, other first chunks, other pilots, or chunks that overlap
///           or are missing between parts.
/// Random    a run with the result has the bits of a run without a record.
std::vector<RecordedSimulation> united_records(std::vector<RecordedPart> parts);

namespace detail {

inline constexpr std::string_view uniting = "simulate::united_records";

inline std::string numbered(const RecordedPart& part) {
  return "part " + std::to_string(part.part.number) + "/" + std::to_string(part.part.count);
}

/// Refuses parts that are not 1, 2, ..., count.
inline void require_all_parts(const std::vector<RecordedPart>& parts) {
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < parts.size(); ++i, ++expected) {
    const Part& part = parts[i].part;
    if (part.count != parts[0].part.count) {
      throw_invalid_argument(uniting, numbered(parts[i]) + " is of another division than " + parts[0].source,
                             parts[i].source, "parts of " + std::to_string(parts[0].part.count));
    }
    if (part.number < expected) {
      throw_invalid_argument(uniting, numbered(parts[i]) + " is given twice, also by " + parts[i - 1].source,
                             parts[i].source, "every part once");
    }
    if (part.number > expected) break;
  }
  if (expected <= parts[0].part.count) {
    throw_invalid_argument(uniting, "a part is missing", expected,
                           "all parts from 1 to " + std::to_string(parts[0].part.count));
  }
}

[[noreturn]] inline void refuse_pair(const RecordedPart& one, const RecordedPart& other, std::size_t simulation,
                                     const std::string& problem) {
  const std::string& name = one.simulations[simulation].name;
  throw_invalid_argument(uniting,
                         "simulation " + std::to_string(simulation + 1) + (name.empty() ? "" : " (" + name + ")") +
                             " has " + problem + " than in " + one.source,
                         other.source, "parts of one run");
}

inline void require_same_simulation(const RecordedPart& one, const RecordedPart& other, std::size_t at) {
  const RecordedSimulation& a = one.simulations[at];
  const RecordedSimulation& b = other.simulations[at];
  if (a.name != b.name) refuse_pair(one, other, at, "another name");
  for_each_difference(a.identity, b.identity, [&](std::string_view what, const auto&, const auto&) {
    refuse_pair(one, other, at, "another " + std::string(what));
  });
  if (!std::equal(a.first_chunk.begin(), a.first_chunk.end(), b.first_chunk.begin(), b.first_chunk.end(),
                  statistics::same_bits)) {
    refuse_pair(one, other, at, "other parameters (its first chunk differs)");
  }
}

/// Whether both pieces are the same chunks with the same bits.
inline bool same_chunks(const KnownChunks& a, const KnownChunks& b) {
  if (a.first() != b.first() || a.end() != b.end()) return false;
  for (std::size_t output = 0; output < a.trees.size(); ++output) {
    if (!statistics::same_bits(a.trees[output].total(), b.trees[output].total())) return false;
  }
  return true;
}

/// Appends the chunks after the common ones of the next part.
inline void append_chunks(std::vector<KnownChunks>& known, const RecordedPart& one, const RecordedPart& other,
                          std::size_t at) {
  const std::vector<KnownChunks>& more = other.simulations[at].known;
  if (known.empty() || more.empty() || !same_chunks(known.front(), more.front())) {
    refuse_pair(one, other, at, "another pilot");
  }
  for (std::size_t i = 1; i < more.size(); ++i) {
    if (more[i].first() < known.back().end()) refuse_pair(one, other, at, "chunks that overlap: it has other ones");
    if (more[i].first() > known.back().end()) refuse_pair(one, other, at, "missing chunks: it begins later");
    if (known.size() == 1) {
      known.push_back(more[i]);
      continue;
    }
    for (std::size_t output = 0; output < more[i].trees.size(); ++output) {
      for (const auto& node : more[i].trees[output].nodes()) known.back().trees[output].push(node);
    }
  }
}

}  // namespace detail

inline std::vector<RecordedSimulation> united_records(std::vector<RecordedPart> parts) {
  if (parts.empty()) throw_invalid_argument(detail::uniting, "there are no parts", 0, "at least one");
  std::stable_sort(parts.begin(), parts.end(),
                   [](const auto& a, const auto& b) { return a.part.number < b.part.number; });
  detail::require_all_parts(parts);
  const RecordedPart& first = parts.front();
  std::vector<RecordedSimulation> whole = first.simulations;
  for (auto part = parts.begin() + 1; part != parts.end(); ++part) {
    if (part->simulations.size() != whole.size()) {
      throw_invalid_argument(detail::uniting, part->source + " has another number of simulations than " + first.source,
                             part->simulations.size(), std::to_string(whole.size()));
    }
    for (std::size_t at = 0; at < whole.size(); ++at) {
      detail::require_same_simulation(first, *part, at);
      detail::append_chunks(whole[at].known, *(part - 1), *part, at);
    }
  }
  return whole;
}

}  // namespace incontext::simulate
