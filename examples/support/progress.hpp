#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
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

/// "45 s", "12 min", "1 h 9 min", "3 d 4 h": two units at most, each rounded down but for the seconds.
inline std::string duration_in_words(double seconds) {
  const auto in = [](double value, const char* unit) {
    return std::to_string(static_cast<std::int64_t>(value)) + " " + unit;
  };
  constexpr double minute = 60, hour = 3600, day = 86400, most = 1e9 * day;
  const double all = std::min(std::round(seconds), most);
  if (!(all >= 2 * minute)) return in(all, "s");
  if (all < hour) return in(all / minute, "min");
  if (all < day) return in(all / hour, "h") + " " + in(std::fmod(all, hour) / minute, "min");
  return in(all / day, "d") + " " + in(std::fmod(all, day) / hour, "h");
}

class ProgressLine {
 public:
  /// Writes nothing if `quiet` is set or the run takes less than a second. `on_interrupt`: what Ctrl-C does.
  explicit ProgressLine(bool quiet, bool terminal = ::isatty(STDERR_FILENO) != 0, std::FILE* out = stderr,
                        std::string on_interrupt = "stop and show what was reached")
      : quiet_(quiet), terminal_(terminal), out_(out), on_interrupt_(std::move(on_interrupt)) {}
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

  void show(const std::string& what, std::int64_t done, std::int64_t planned, double seconds,
            const char* unit = "trials") {
    if (quiet_) return;
    const std::lock_guard one(mutex_);
    if (!runs_) {
      start(what);
      known_ = done;
      known_seconds_ = seconds;
    }
    began_ = Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    done_ = done;
    planned_ = planned;
    unit_ = unit;
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
    terminal_ ? show_line(seconds) : tell_once(seconds);
    std::fflush(out_);
  }

  /// From the trials since the first report: those before it may be from a record, and took no time.
  double seconds_left(double seconds) const {
    const auto left = static_cast<double>(std::max<std::int64_t>(planned_ - done_, 0));
    return (seconds - known_seconds_) * left / static_cast<double>(done_ - known_);
  }

  void show_line(double seconds) {
    shown_ = true;
    if (done_ <= known_) {
      std::fprintf(out_, "\r\033[K%s: %.0f s so far (Ctrl-C: stop)", what_.c_str(), seconds);
      return;
    }
    std::fprintf(out_, "\r\033[K%s: %.0f%%, %s left (Ctrl-C: %s)", what_.c_str(),
                 100 * static_cast<double>(std::min(done_, planned_)) / std::max(static_cast<double>(planned_), 1.0),
                 duration_in_words(seconds_left(seconds)).c_str(), on_interrupt_.c_str());
  }

  void tell_once(double seconds) {
    const double whole = seconds + (done_ > known_ ? seconds_left(seconds) : 0);
    if (told_ || whole < long_run) return;
    told_ = true;
    if (done_ <= known_) {
      std::fprintf(out_, "%s: nothing is finished after %.0f s\n", what_.c_str(), seconds);
      return;
    }
    std::fprintf(out_, "%s: %lld %s, which take about %.0f min\n", what_.c_str(),
                 static_cast<long long>(planned_ - known_), unit_, std::max(whole / 60, 1.0));
  }

  bool quiet_, terminal_;
  std::FILE* out_;
  std::string on_interrupt_;
  std::mutex mutex_ = {};
  std::condition_variable wake_ = {};
  std::thread ticker_ = {};
  std::string what_ = {};
  const char* unit_ = "trials";
  Clock::time_point began_ = {};
  std::int64_t done_ = 0, planned_ = 0, known_ = 0;  ///< `known_`: done at the first report
  double known_seconds_ = 0;                         ///< of the first report
  bool runs_ = false, shown_ = false, told_ = false, ends_ = false;
};

}  // namespace incontext::examples
