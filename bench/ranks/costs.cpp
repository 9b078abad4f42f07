// What sharing a run costs: a merge, a message, and, for up to 10^4 ranks, the time of a run by the library's own lending
// of chunks on ranks that only pretend to compute. bench/scaling compiles it with mpicxx; JSON on standard output.
//   costs               merge, and the lending of chunks to 1 ... 10^4 ranks
//   mpirun -n N costs   messages: round trip of one rank, and messages per second that rank 0 serves

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "incontext/simulate/distributed.hpp"

namespace {

using namespace incontext;
using simulate::RunMessage;
using simulate::RunRequest;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Seconds of one merge of moments.
double merge_seconds() {
  const int count = 10'000'000;
  statistics::Moments all{1, 0.5, 1, 0}, one{1024, 0.7, 2, 0};
  const double start = now();
  for (int i = 0; i < count; ++i) {
    one.mean += 1e-9;
    all = statistics::merge(all, one);
  }
  const double seconds = now() - start;
  if (!(all.mean > 0.5)) std::abort();
  return seconds / count;
}

struct Costs {
  double chunk = 0;    // seconds to compute one
  double latency = 0;  // from a rank to rank 0, or back
  double message = 0;  // of rank 0, apart from the lending
};

struct Lending {
  double seconds = 0;            // of the run
  double seconds_of_rank_0 = 0;  // measured, per message
  std::int64_t messages = 0;
};

/// Runs `chunks` chunks on so many ranks in pretended time: what a rank computes takes its time on no processor, and the
/// messages, whose order is that of pretended time, are served by the library's SharedRun, which is timed.
Lending lend(int ranks, std::int64_t chunks, const Costs& costs) {
  struct Arrival {
    double time;
    int rank;
    bool operator>(const Arrival& other) const { return time > other.time; }
  };
  simulate::SharedRun run(ranks);
  std::vector<simulate::ChunkRange> blocks(static_cast<std::size_t>(ranks));
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals;
  const auto most = static_cast<std::int64_t>(simulate::shared_block_seconds / costs.chunk) + 1;
  const auto ask = [&](int rank) {
    simulate::ChunkRange& block = blocks[static_cast<std::size_t>(rank)];
    RunMessage message{.request = RunRequest::next, .end = chunks, .most = most};
    if (block.count > 0 && block.first == 0) message.first_chunk = {{1024, 0.5, 1, 0}};
    if (block.count > 0 && block.first > 0) {
      statistics::MomentsTree tree(block.first);
      for (std::int64_t at = block.first; at < block.end();) {
        int level = 0;
        while ((at >> level & 1) == 0 && at + (std::int64_t{2} << level) <= block.end()) ++level;
        tree.push({at, level, {std::int64_t{1024} << level, 0.5, 1, 0}});
        at = tree.end();
      }
      message.finished = {tree};
    }
    run.receive(rank, message);
    block = run.take(rank)->range;
  };
  for (int rank = 0; rank < ranks; ++rank) {
    run.receive(rank, {.request = RunRequest::begin, .identity = {"float", 1, 1, chunks * 1024, 0}});
    run.take(rank);
    arrivals.push({costs.latency, rank});
  }
  Lending result;
  double busy_until = 0, measured = 0;
  while (!arrivals.empty()) {
    const Arrival next = arrivals.top();
    arrivals.pop();
    const double start = now();
    ask(next.rank);
    measured += now() - start;
    ++result.messages;
    const double service = costs.message + measured / static_cast<double>(result.messages);
    busy_until = std::max(busy_until, next.time) + service;
    const std::int64_t count = blocks[static_cast<std::size_t>(next.rank)].count;
    const double done = busy_until + costs.latency + static_cast<double>(count) * costs.chunk;
    result.seconds = std::max(result.seconds, done);
    if (count > 0) arrivals.push({done + costs.latency, next.rank});
  }
  result.seconds_of_rank_0 = measured / static_cast<double>(result.messages);
  return result;
}

/// Round trips of rank 1 alone, and what a message costs rank 0 in processor time, which includes its looks at the network
/// in between.
void measure_messages(simulate::DistributedRun& run) {
  constexpr int trips = 4000;
  if (run.rank() == 0) {
    run.record().agreed("");
    const std::clock_t start = std::clock();
    run.wait_for_others();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    std::printf("{\"message\": %.3g}\n", seconds / (trips * (run.ranks() - 1)));
    return;
  }
  const double start = now();
  for (int i = 0; i < trips; ++i) run.record().agreed("");
  if (run.rank() == 1) std::fprintf(stderr, "{\"round_trip\": %.3g}\n", (now() - start) / trips);
}

}  // namespace

int main(int argc, char** argv) {
  simulate::DistributedRun run;
  if (run.ranks() > 1) {
    measure_messages(run);
    return 0;
  }
  Costs costs;
  if (argc == 4) costs = {std::stod(argv[1]), std::stod(argv[2]), std::stod(argv[3])};
  std::printf("{\"merge\": %.3g, \"runs\": [", merge_seconds());
  bool is_first = true;
  for (const double work : {1e2, 1e4, 1e6}) {
    for (int ranks = 1; ranks <= 10000; ranks *= 10) {
      for (const int some : {ranks, 3 * ranks}) {
        if (some > 10000 || costs.chunk == 0) continue;
        const auto chunks = static_cast<std::int64_t>(work / costs.chunk);
        const Lending result = lend(some, chunks, costs);
        std::printf(
            "%s\n{\"work\": %g, \"ranks\": %d, \"seconds\": %.6g, \"efficiency\": %.4f, \"lending\": %.3g, "
            "\"messages\": %lld}",
            is_first ? "" : ",", work, some, result.seconds, work / result.seconds / some, result.seconds_of_rank_0,
            static_cast<long long>(result.messages));
        is_first = false;
      }
    }
  }
  std::printf("]}\n");
  return 0;
}
