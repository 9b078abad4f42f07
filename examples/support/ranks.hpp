#pragma once

#include <memory>
#include <string>

#include "examples/support/shared_process.hpp"

/// The processes that mpirun or srun started together, which share the simulations of one run. Only rank 0 prints and
/// writes files, and all return its exit code.
namespace incontext::examples {

/// Whether this process prints and writes: rank 0, or a process on its own.
bool is_first_rank();

/// This process, if several share the run; else null.
const SharedProcess* shared_process();

/// Waits until all other ranks have ended, and throws if one of them failed.
void wait_for_other_ranks();

/// Connects this process with those that were started with it, until it ends. A process that computes a part (--part)
/// stays on its own.
class Ranks {
 public:
  /// Throws if there are other processes, and this program or this MPI cannot reach them.
  Ranks(int argc, const char* const* argv);
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks();

  /// Returns the exit code of rank 0. `failure` is empty, or why this process ends with exit code 2.
  int leave(int exit_code, const std::string& failure);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace incontext::examples
