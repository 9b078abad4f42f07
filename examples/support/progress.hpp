#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

/// Reports the progress of a run: on a terminal, a line that is removed when the run ends; in a batch job, where
/// standard error is not a terminal, one permanent line about each simulation of more than a minute.
namespace incontext::examples {

class ProgressLine {
 public:
  /// Writes nothing if `quiet` is set or the run takes less than a second.
  explicit ProgressLine(bool quiet, bool terminal = ::isatty(STDERR_FILENO) != 0, std::FILE* out = stderr)
      : quiet_(quiet), terminal_(terminal), out_(out) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() {
    {
      const std::lock_guard one(mutex_);
      ends_ = true;
    }
    wake_.notify_all();
    if (ticker_.joinable()) ticker_.join();
    clear();
  }

  void show(const std::string& what, std::int64_t done, std::int64_t planned, double seconds) {
    if (quiet_) return;
    const std::lock_guard one(mutex_);
    if (!runs_) start(what);
    began_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    done_ = done;
    planned_ = planned;
    say();
  }

  void clear() {
    const std::lock_guard one(mutex_);
    if (shown_) std::fputs("\r\033[K", out_);
    shown_ = runs_ = told_ = false;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double long_run = 60;  ///< seconds

  /// A separate thread reports while trials take long; without it, only finished trials are reported.
  void start(const std::string& what) {
    what_ = what;
    runs_ = true;
    if (ticker_.joinable()) return;
    try {
      ticker_ = std::thread([this] { tick(); });
    } catch (const std::system_error&) {
    }
  }

  void tick() {
    std::unique_lock one(mutex_);
    while (!wake_.wait_for(one, std::chrono::seconds(1), [this] { return ends_; })) {
      if (runs_) say();
    }
  }

  void say() {
    const double seconds = std::chrono::duration<double>(Clock::now() - began_).count();
    if (seconds < 1) return;
    const double share = static_cast<double>(std::min(done_, planned_)) / std::max(static_cast<double>(planned_), 1.0);
    terminal_ ? show_line(seconds, share) : tell_once(seconds, share);
    std::fflush(out_);
  }

  void show_line(double seconds, double share) {
    shown_ = true;
    if (done_ == 0) {
      std::fprintf(out_, "\r\033[K%s: %.0f s, no trial is finished (Ctrl-C: stop)", what_.c_str(), seconds);
      return;
    }
    std::fprintf(out_, "\r\033[K%s: %.0f%%, %.0f s left (Ctrl-C: stop and show what was reached)", what_.c_str(),
                 100 * share, seconds / share - seconds);
  }

  void tell_once(double seconds, double share) {
    if (told_ || std::max(seconds, done_ > 0 ? seconds / share : 0) < long_run) return;
    told_ = true;
    if (done_ == 0) {
      std::fprintf(out_, "%s: no trial is finished after %.0f s\n", what_.c_str(), seconds);
      return;
    }
    std::fprintf(out_, "%s: %lld trials, which take about %.0f min\n", what_.c_str(), static_cast<long long>(planned_),
                 std::max(seconds / share / 60, 1.0));
  }

  bool quiet_, terminal_;
  std::FILE* out_;
  std::mutex mutex_ = {};
  std::condition_variable wake_ = {};
  std::thread ticker_ = {};
  std::string what_ = {};
  Clock::time_point began_ = {};
  std::int64_t done_ = 0, planned_ = 0;
  bool runs_ = false, shown_ = false, told_ = false, ends_ = false;
};

}  // namespace incontext::examples
