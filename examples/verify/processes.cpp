#include "examples/verify/processes.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

extern char** environ;

namespace incontext::examples::verify {

namespace {

std::atomic<int> interrupts_so_far = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void count_interrupt(int) { ++interrupts_so_far; }

constexpr int heard[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction heard_before[std::size(heard)];

/// The parent's environment, with few threads: children side by side would each take all cores.
std::vector<std::string> environment(std::size_t threads) {
  std::vector<std::string> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string variable = *one;
    if (!variable.starts_with("OMP_NUM_THREADS=") && !variable.starts_with("OMP_WAIT_POLICY=")) {
      variables.push_back(variable);
    }
  }
  variables.push_back("OMP_NUM_THREADS=" + std::to_string(threads));
  variables.emplace_back("OMP_WAIT_POLICY=passive");
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Starts a child in a process group of its own, so that a terminal's Ctrl-C reaches it through this program alone. Its
/// standard output is discarded. Returns 0 and the reason if it cannot be started.
pid_t start(const Child& child, std::size_t threads, std::string& problem) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, child.errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t standard;
  sigemptyset(&standard);
  for (const int signal : heard) sigaddset(&standard, signal);
  posix_spawnattr_setsigdefault(&attributes, &standard);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  std::vector<std::string> words{child.program}, variables = environment(threads);
  words.insert(words.end(), child.arguments.begin(), child.arguments.end());
  pid_t process = 0;
  const int error = ::posix_spawn(&process, child.program.c_str(), &actions, &attributes, pointers(words).data(),
                                  pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return process;
  problem = child.program + ": cannot be started: " + std::strerror(error);
  return 0;
}

Finished finished(int status, const struct rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          .seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

}  // namespace

std::string own_program() { return std::filesystem::read_symlink("/proc/self/exe").string(); }

Interrupts::Interrupts() {
  struct sigaction action = {};
  action.sa_handler = count_interrupt;
  sigemptyset(&action.sa_mask);
  interrupts_so_far = 0;
  for (std::size_t i = 0; i < std::size(heard); ++i) {
    ::sigaction(heard[i], &action, &heard_before[i]);
    const bool is_ignored = heard[i] == SIGHUP && heard_before[i].sa_handler == SIG_IGN;  // nohup
    if (is_ignored) ::sigaction(heard[i], &heard_before[i], nullptr);
  }
}

Interrupts::~Interrupts() {
  for (std::size_t i = 0; i < std::size(heard); ++i) ::sigaction(heard[i], &heard_before[i], nullptr);
}

int Interrupts::count() const { return interrupts_so_far; }

std::vector<Finished> run_children(const std::vector<Child>& children, std::size_t jobs, std::size_t threads_per_child,
                                   const Interrupts& interrupts,
                                   const std::function<void(std::size_t index, const Finished& finished)>& on_end) {
  std::vector<Finished> results(children.size());
  std::map<pid_t, std::size_t> running;
  std::size_t next = 0;
  int passed_on = 0;
  while (true) {
    while (interrupts.count() == 0 && running.size() < jobs && next < children.size()) {
      const pid_t process = start(children[next], threads_per_child, results[next].problem);
      if (process != 0) running.emplace(process, next);
      if (process == 0) on_end(next, results[next]);
      ++next;
    }
    if (running.empty()) return results;
    if (const int count = interrupts.count(); count > passed_on) {
      for (const auto& [process, index] : running) ::kill(process, count > 1 ? SIGKILL : SIGINT);
      passed_on = count;
    }
    int status = 0;
    struct rusage usage = {};
    const pid_t ended = ::wait4(-1, &status, WNOHANG, &usage);
    const auto found = running.find(ended);
    if (found == running.end()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      continue;
    }
    results[found->second] = finished(status, usage);
    on_end(found->second, results[found->second]);
    running.erase(found);
  }
}

}  // namespace incontext::examples::verify
