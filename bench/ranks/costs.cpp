// What sharing a run costs: a merge, a message, and, for up to 10^4 ranks, the time of a run by the library's own lending
// of chunks on ranks that only pretend to compute. bench/scaling compiles it with mpicxx; JSON on standard output.
//   costs               merge, and the lending of chunks to 1 ... 10^4 ranks
//   mpirun -n N costs   messages: round trip of one rank, and messages per second that rank 0 serves

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <queue>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "incontext/simulate/engine/distributed.hpp"

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

/// Seconds of rank 0 for one message of a rank whose messages are waiting: to receive and read it, and to send a reply.
double message_seconds(int rank) {
  constexpr int batch = 100, batches = 50;
  statistics::MomentsTree tree(8);
  for (int i = 0; i < 8; ++i) tree.push(statistics::Moments{1024, 0.5, 1, 0});
  const std::string request =
      simulate::detail::bytes_of(RunMessage{.request = RunRequest::next, .end = 1, .finished = {tree}});
  std::string bytes(10000, ' ');
  double least = 1;
  for (int round = 0; round < batches; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
      for (int i = 0; i < batch; ++i) {
        MPI_Send(request.data(), static_cast<int>(request.size()), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
      }
      for (int i = 0; i < batch; ++i) {
        MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
    } else if (rank == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const double start = now();
      for (int i = 0; i < batch; ++i) {
        int is_there = 0;
        MPI_Status status;
        while (is_there == 0) MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &is_there, &status);
        MPI_Recv(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        const auto read = simulate::detail::message_in<RunMessage>(bytes);
        const std::string reply = simulate::detail::bytes_of(simulate::RunReply{.range = {read.end, 1}});
        MPI_Send(reply.data(), static_cast<int>(reply.size()), MPI_BYTE, 1, 2, MPI_COMM_WORLD);
      }
      least = std::min(least, (now() - start) / batch);
    }
  }
  return least;
}

/// The time from a request to its reply, while rank 0 has nothing else to do; the server sleeps between messages.
double round_trip_seconds(simulate::DistributedRun& run) {
  constexpr int trips = 2000;
  if (run.rank() == 0) run.record().agreed("");
  if (run.rank() == 0) return 0;
  const double start = now();
  for (int i = 0; i < trips; ++i) run.record().agreed("");
  return (now() - start) / trips;
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0, rank = 0, ranks = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks > 1) {
    if (const double seconds = message_seconds(rank); rank == 0) std::printf("{\"message\": %.3g}\n", seconds);
    std::fflush(stdout);
    {
      simulate::DistributedRun run;
      if (const double seconds = round_trip_seconds(run); rank == 1) std::printf("{\"round_trip\": %.3g}\n", seconds);
    }
    return MPI_Finalize();
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
  return MPI_Finalize();
}
