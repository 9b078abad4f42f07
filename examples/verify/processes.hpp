#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

/// Child processes, a few at a time.
namespace incontext::examples::verify {

/// The file of the running program.
std::string own_program();

struct Child {
  std::string program;  ///< a path
  std::vector<std::string> arguments = {};
  std::string errors = {};  ///< the file for its standard error
};

struct Finished {
  int exit_code = -1;        ///< 128 + the signal, if a signal ended it; -1 if it was not started
  double seconds = 0;        ///< of processor time
  std::string problem = {};  ///< why it was not started
};

/// A first Ctrl-C, SIGTERM or hangup is passed on to the children, and none is started after it; a second ends them.
class Interrupts {
 public:
  Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();
  int count() const;
};

/// Starts the children in their order, and has at most `jobs` at a time. `on_end` is called as each one ends. Children
/// that were not started before an interrupt keep exit code -1.
std::vector<Finished> run_children(const std::vector<Child>& children, std::size_t jobs, std::size_t threads_per_child,
                                   const Interrupts& interrupts,
                                   const std::function<void(std::size_t index, const Finished& finished)>& on_end);

}  // namespace incontext::examples::verify
