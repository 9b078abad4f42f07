#pragma once

// the C interface alone
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "incontext/simulate/engine/own_processors.hpp"
#include "incontext/simulate/engine/records/run_message.hpp"
#include "incontext/simulate/engine/records/shared_record.hpp"
#include "incontext/simulate/engine/records/shared_run.hpp"
#include "incontext/simulate/engine/records/simulation_record.hpp"

/// Simulations that the processes of an MPI program share. This is the only header that includes mpi.h.
namespace incontext::simulate {

/// This process, a rank of an MPI program, and the run that all its ranks share.
///
///     simulate::DistributedRun ranks;  // initializes MPI, and finalizes it at the end
///     const simulate::Options options{.trials = 1 << 30, .threads = ranks.threads(), .record = &ranks.record()};
///     const auto result = simulate::run(MyTrial{}, options);  // on every rank the same
///
/// All ranks run the same simulations in the same order. A thread in rank 0 lends blocks of chunks to ranks as they ask
/// for them (SharedRun), and sleeps in between; it alone uses MPI there until the run ends, so that a program must not
/// call MPI in rank 0 meanwhile unless MPI was initialized with MPI_THREAD_MULTIPLE.
///
/// Errors    std::runtime_error if MPI gives less than MPI_THREAD_SERIALIZED, and from simulations, on all ranks alike,
///           if a rank fails or runs something else. MPI ends the program if a rank dies; then only what was
///           written to a file before (SimulationRecord::on_change) remains.
/// Random    the bits of one process, on any number of ranks.
class DistributedRun {
 public:
  /// Every process of the communicator must call it.
  explicit DistributedRun(MPI_Comm processes = MPI_COMM_WORLD)
      : rank_(number_of(MPI_Comm_rank, processes)), ranks_(number_of(MPI_Comm_size, processes)), local_(ranks_) {
    if (ranks_ > 1 && !session_.allows_a_thread()) {
      throw std::runtime_error("incontext::simulate::DistributedRun: MPI gives too few threads (value = MPI_THREAD_" +
                               session_.level() + "; needs MPI_THREAD_SERIALIZED)");
    }
    MPI_Comm_dup(processes, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_ARE_FATAL);
    find_share();
    if (rank_ > 0) return;
    local_.with_run([this](SharedRun& run) { run.on_reply([this](int rank) { due_.push_back(rank); }); });
    if (ranks_ > 1) start_server();
  }
  DistributedRun(const DistributedRun&) = delete;
  DistributedRun& operator=(const DistributedRun&) = delete;
  /// Leaves the run. A rank that ends by an exception fails the run.
  ~DistributedRun() {
    if (!has_left_) leave(0, std::uncaught_exceptions() > exceptions_ ? "ended by an exception" : "");
    MPI_Comm_free(&comm_);
  }

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

  /// The number of this rank among those of its machine: with several GPUs, Options::gpu is this modulo their number.
  [[nodiscard]] int local_rank() const { return local_rank_; }

  /// Its share of the processors that it may use, at least one, for Options::threads.
  [[nodiscard]] int threads() const { return threads_; }

  /// For Options::record.
  SharedRecord& record() { return record_; }

  /// Rank 0, before the first simulation: keeps the finished chunks of all ranks in this record, and calls `on_stop`
  /// when a rank was stopped.
  void keep(SimulationRecord& record, std::function<void()> on_stop = {}) {
    local_.with_run([&](SharedRun& run) {
      run.keep(record);
      run.on_stop(std::move(on_stop));
    });
  }

  /// Rank 0: waits until all others have left, and throws std::runtime_error if the run has failed.
  void wait_for_others() {
    const RunReply reply = call({.request = RunRequest::wait});
    if (!reply.error.empty()) throw std::runtime_error(reply.error);
  }

  /// The last call: every rank gets the exit code of rank 0. A `failure` is why this rank could not go on.
  int leave(int exit_code, const std::string& failure = {}) {
    has_left_ = true;
    const int code = call({.request = RunRequest::leave, .text = failure, .exit_code = exit_code}).exit_code;
    if (server_.joinable()) server_.join();
    return code;
  }

 private:
  static constexpr int asking = 1, answering = 2;

  /// MPI, from the first use to the last; a program that has initialized it already finalizes it, too.
  class MpiSession {
   public:
    MpiSession() {
      int is_initialized = 0;
      MPI_Initialized(&is_initialized);
      owns_ = is_initialized == 0;
      if (owns_) MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level_);
      if (!owns_) MPI_Query_thread(&level_);
    }
    MpiSession(const MpiSession&) = delete;
    MpiSession& operator=(const MpiSession&) = delete;
    ~MpiSession() {
      if (owns_) MPI_Finalize();
    }

    [[nodiscard]] bool allows_a_thread() const { return level_ >= MPI_THREAD_SERIALIZED; }
    [[nodiscard]] std::string level() const { return level_ == MPI_THREAD_SINGLE ? "SINGLE" : "FUNNELED"; }

   private:
    bool owns_ = false;
    int level_ = MPI_THREAD_SINGLE;
  };

  static int number_of(int (*ask)(MPI_Comm, int*), MPI_Comm processes) {
    int number = 0;
    ask(processes, &number);
    return number;
  }

  struct Received {
    int rank;
    std::string bytes;
  };

  /// The cores that local ranks share are divided between them.
  void find_share() {
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &machine);
    MPI_Comm_rank(machine, &local_rank_);
    const std::vector<unsigned char> own = detail::own_processors();
    std::vector<int> users(own.begin(), own.end());
    MPI_Allreduce(MPI_IN_PLACE, users.data(), static_cast<int>(users.size()), MPI_INT, MPI_SUM, machine);
    double share = 0;
    for (std::size_t i = 0; i < own.size(); ++i) share += own[i] == 0 ? 0 : 1.0 / users[i];
    threads_ = (std::max)(static_cast<int>(share + 1e-6), 1);
    MPI_Comm_free(&machine);
  }

  RunReply call(const RunMessage& message) {
    if (rank_ == 0) return local_.call(0, message);
    send(0, asking, detail::bytes_of(message));
    for (Pause pause;; pause.wait()) {
      if (Received answer{}; receive(answering, answer)) return detail::message_in<RunReply>(answer.bytes);
    }
  }

  /// Sleeps between looks at the network, because MPI's own way of waiting takes a core from those who compute.
  class Pause {
   public:
    void wait() {
      std::this_thread::sleep_for(time_);
      time_ = (std::min)(2 * time_, std::chrono::microseconds(1000));
    }

   private:
    std::chrono::microseconds time_{10};
  };

  /// The other ranks wait for replies, so that without a server the whole program must end.
  void start_server() try {
    server_ = std::thread([this] { serve(); });
  } catch (const std::exception& error) {
    abort(error.what());
  }

  void abort(const char* why) const {
    std::fprintf(stderr, "incontext::simulate::DistributedRun: rank 0 can no longer serve the others: %s\n", why);
    MPI_Abort(comm_, 2);
  }

  void serve() try {
    for (Pause pause;; pause.wait()) {
      for (Received asked{}; receive(asking, asked); pause = {}) {
        const auto message = detail::message_in<RunMessage>(asked.bytes);
        local_.with_run([&](SharedRun& run) { run.receive(asked.rank, message); });
        answer();
      }
      if (answer()) return;
    }
  } catch (const std::exception& error) {
    abort(error.what());
  }

  /// Sends the replies that are due, and returns whether the run is over.
  bool answer() {
    std::vector<std::pair<int, RunReply>> replies;
    const bool is_over = local_.with_run([&](SharedRun& run) {
      for (const int rank : std::exchange(due_, {})) {
        if (rank > 0) replies.emplace_back(rank, *run.take(rank));
      }
      return run.is_over();
    });
    for (const auto& [rank, reply] : replies) send(rank, answering, detail::bytes_of(reply));
    return is_over;
  }

  void send(int rank, int tag, const std::string& bytes) const {
    if (bytes.size() > static_cast<std::size_t>((std::numeric_limits<int>::max)())) {
      throw std::runtime_error(
          "incontext::simulate::DistributedRun: the simulation has too many outputs for a message (value = " +
          std::to_string(bytes.size()) + " bytes; needs at most 2147483647)");
    }
    MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, rank, tag, comm_);
  }

  /// Whether there was a message; it is then received.
  bool receive(int tag, Received& received) const {
    int is_there = 0, size = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &is_there, &status);
    if (is_there == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &size);
    received = {status.MPI_SOURCE, std::string(static_cast<std::size_t>(size), '\0')};
    MPI_Recv(received.bytes.data(), size, MPI_BYTE, received.rank, tag, comm_, MPI_STATUS_IGNORE);
    return true;
  }

  MpiSession session_;
  int rank_, ranks_, local_rank_ = 0, threads_ = 1;
  MPI_Comm comm_ = MPI_COMM_NULL;
  LocalRanks local_;
  std::vector<int> due_;  // ranks whose replies are to be sent
  SharedRecord record_{[this](const RunMessage& message) { return call(message); }};
  std::thread server_;
  int exceptions_ = std::uncaught_exceptions();
  bool has_left_ = false;
};

}  // namespace incontext::simulate
