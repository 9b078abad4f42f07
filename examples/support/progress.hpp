#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

/// A line on the terminal that says how far a long run has come, and is gone when the run ends.
namespace incontext::examples {

/// Silent when standard error is no terminal, when asked to be, and for what takes less than a second.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet) : silent_(quiet || ::isatty(STDERR_FILENO) == 0) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() { clear(); }

  void show(const std::string& what, std::int64_t done, std::int64_t planned, double seconds) {
    if (silent_ || seconds < 1) return;
    const double share = planned > 0 ? static_cast<double>(done) / static_cast<double>(planned) : 0;
    const double left = share > 0 ? seconds / share - seconds : 0;
    std::fprintf(stderr, "\r\033[K%s: %.0f%%, %.0f s left (Ctrl-C: stop and show what was reached)", what.c_str(),
                 100 * std::min(share, 1.0), left);
    std::fflush(stderr);
    shown_ = true;
  }

  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

 private:
  bool silent_;
  bool shown_ = false;
};

}  // namespace incontext::examples
