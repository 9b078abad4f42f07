#pragma once

#include <csignal>

namespace incontext::examples {

/// While one exists, SIGTERM stops the simulations as Ctrl-C does.
class TerminationStops {
 public:
  TerminationStops() : before_(std::signal(SIGTERM, [](int) { std::raise(SIGINT); })) {}
  TerminationStops(const TerminationStops&) = delete;
  TerminationStops& operator=(const TerminationStops&) = delete;
  ~TerminationStops() { std::signal(SIGTERM, before_); }

 private:
  void (*before_)(int);
};

}  // namespace incontext::examples
