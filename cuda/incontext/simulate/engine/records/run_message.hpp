#pragma once

#include <concepts>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "incontext/simulate/engine/records/record.hpp"
#include "incontext/statistics/moments.hpp"
#include "incontext/statistics/moments_tree.hpp"

/// What the ranks of a run, the processes or threads that share it, say to rank 0 and hear from it.
namespace incontext::simulate {

/// What a rank asks for.
///
/// agree   the text that rank 0 gives
/// begin   to begin the next simulation
/// next    chunks before `end` to be computed, at most `most`
/// totals  the moments of all chunks before `end`, as soon as every rank asks for them
/// wait    of rank 0: until all others have asked to leave
/// leave   to end, with the exit code that rank 0 gives
enum class RunRequest : std::uint8_t { agree, begin, next, totals, wait, leave };

/// One request, with the chunks that the rank has finished since its last one.
///
/// Shapes    first_chunk, finished: one per output, or none.
struct RunMessage {
  RunRequest request = RunRequest::agree;
  std::string text = {};  ///< agree: rank 0's; begin: the name of the simulation; leave: why the rank failed
  SimulationIdentity identity = {};
  std::int64_t end = 0;
  std::int64_t most = 0;
  bool is_stopped = false;  ///< totals: the rank may have left chunks that it was lent
  int exit_code = 0;        ///< leave, of rank 0
  std::vector<statistics::Moments> first_chunk = {};
  std::vector<statistics::MomentsTree> finished = {};
};

/// The answer. `error` is empty, or says why the run has failed, with the same words to every rank.
struct RunReply {
  std::string error = {};
  std::string text = {};
  ChunkRange range = {};
  std::int64_t known = 0;  ///< how many of the chunks before `end` are known to the run
  std::vector<statistics::Moments> totals = {};
  int exit_code = 0;
};

namespace detail {

/// Appends values to bytes as they are in memory: all ranks must have the same kind of processor and compiler.
class ByteWriter {
 public:
  template <class T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  void put(const statistics::MomentsTree& tree) {
    put(tree.first());
    put(tree.nodes());
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(list.size());
    for (const T& one : list) put(one);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads what ByteWriter wrote, in the same order.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  template <class T>
    requires std::is_trivially_copyable_v<T>
  void get(T& value) {
    std::memcpy(&value, taken(sizeof value).data(), sizeof value);
  }
  void get(std::string& text) { text = taken(size()); }
  void get(statistics::MomentsTree& tree) {
    std::int64_t first = 0;
    std::vector<statistics::MomentsNode> nodes;
    get(first);
    get(nodes);
    tree = statistics::MomentsTree(first);
    for (const statistics::MomentsNode& node : nodes) tree.push(node);
  }
  template <class T>
  void get(std::vector<T>& list) {
    list.resize(size());
    for (T& one : list) get(one);
  }

 private:
  std::string_view taken(std::size_t count) {
    if (count > rest_.size()) throw std::runtime_error("incontext::simulate: a message between ranks is cut short");
    const std::string_view part = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return part;
  }
  std::size_t size() {
    std::size_t count = 0;
    get(count);
    if (count > rest_.size()) throw std::runtime_error("incontext::simulate: a message between ranks is cut short");
    return count;
  }

  std::string_view rest_;
};

template <class Message, class Either>
concept is_a = std::same_as<std::remove_const_t<Message>, Either>;

/// Calls visit for every member, in order.
template <is_a<RunMessage> Message, class Visit>
void for_each_member(Message& message, const Visit& visit) {
  auto& [request, text, identity, end, most, is_stopped, exit_code, first_chunk, finished] = message;
  auto& [scalar, outputs, seed, trials, relative_error, contract, in_full] = identity;
  const auto all = [&visit](auto&... members) { (visit(members), ...); };
  all(request, text, scalar, outputs, seed, trials, relative_error, contract, in_full);
  all(end, most, is_stopped, exit_code, first_chunk, finished);
}

template <is_a<RunReply> Reply, class Visit>
void for_each_member(Reply& reply, const Visit& visit) {
  auto& [error, text, range, known, totals, exit_code] = reply;
  const auto all = [&visit](auto&... members) { (visit(members), ...); };
  all(error, text, range, known, totals, exit_code);
}

/// A message as bytes, which message_in reads again.
template <class Message>
std::string bytes_of(const Message& message) {
  ByteWriter writer;
  for_each_member(message, [&](const auto& member) { writer.put(member); });
  return writer.take();
}

template <class Message>
Message message_in(std::string_view bytes) {
  ByteReader reader(bytes);
  Message message;
  for_each_member(message, [&](auto& member) { reader.get(member); });
  return message;
}

}  // namespace detail

}  // namespace incontext::simulate
