// The programs without enough threads or memory end with one line and exit code 2; after Ctrl-C they end within a
// second.

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/run_program.hpp"

namespace limits_program_test {

using namespace incontext::testing;

namespace {

using Arguments = std::vector<std::string>;

// The sanitizers reserve more memory than the limits allow.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool can_limit_memory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool can_limit_memory = false;
#else
constexpr bool can_limit_memory = true;
#endif
#else
constexpr bool can_limit_memory = true;
#endif

/// Runs a program with a limit on its address space in kilobytes.
Finished run_limited(const std::string& kilobytes, const std::string& program, const Arguments& arguments) {
  std::string command = "ulimit -v " + kilobytes + "; exec " + in_shell(program);
  for (const std::string& argument : arguments) command += ' ' + shell_quoted(argument);
  return run_command("(" + command + ")");
}

void check_refused(const Finished& finished, const std::string& expected) {
  CAPTURE(finished.errors);
  CHECK(finished.exit_code == 2);
  CHECK(finished.errors == part(expected));
  CHECK(std::count(finished.errors.begin(), finished.errors.end(), '\n') == 1);
  CHECK(finished.output.empty());
}

struct Stopped {
  bool exited = false;
  std::string output = {};
};

/// Sends SIGINT to a program a tenth of a second after its first trial began, or after it was started.
Stopped interrupt(const std::string& program, const Arguments& arguments, bool in_trials) {
  const TemporaryFolder folder;
  const std::string output = folder.file("output");
  const pid_t child = ::fork();
  if (child == 0) {
    const int file = ::open(output.c_str(), O_CREAT | O_WRONLY, 0600);
    ::dup2(file, STDOUT_FILENO);
    ::dup2(file, STDERR_FILENO);
    become(program, arguments);
    ::_exit(127);
  }
  if (in_trials) wait_for_interrupt_handler(child);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  ::kill(child, SIGINT);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status), content_of(output)};
}

}  // namespace

TEST_CASE("threads that cannot be started are refused in one line with their number, on every backend", "[limits]") {
  if (!can_limit_memory) return;
  for (const char* device : {"automatic", "openmp", "tbb"}) {
    CAPTURE(device);
    const Arguments arguments{"--trials", "20000", "--device", device, "--threads", "512"};
    check_refused(run_limited("1048576", "temperature", arguments), "--threads: cannot be started (value = 512;");
    check_refused(run_limited("1048576", "gradients", arguments), "--threads: cannot be started (value = 512;");
  }
}

TEST_CASE("a diagram is computed with fewer threads if some cannot be started", "[limits]") {
  if (!can_limit_memory) return;
  const Arguments arguments{"--figure",  "diagram", "--points", "4",   "--device", "serial",
                            "--threads", "512",     "--trials", "128", "--quiet"};
  CHECK(run_limited("1048576", "fading", arguments).exit_code == 0);
}

TEST_CASE("too little memory is reported in one line with the size and what it depends on", "[limits]") {
  // 64 trials side by side of a million tokens; the test itself does not allocate this memory.
  check_refused(run_program("gradients", {"--context-length", "100000000", "--dimension", "2", "--trials", "100"}),
                "there is not enough memory (value = ");
  check_refused(run_program("classify", {"--classes", "2", "--dimension", "200", "--context-length", "1000000",
                                         "--rule", "linear", "--rate", "1", "--trials", "100"}),
                "which grow with context_length x dimension and classes x dimension");
  if (!can_limit_memory) return;
  check_refused(run_limited("500000", "softmax-error", {"--dimension", "9000", "--trials", "100"}),
                "not enough memory for these sizes: --dimension 9000, --trials 100");
  check_refused(
      run_limited("500000", "gradients", {"--context-length", "1000000", "--trials", "100", "--device", "serial"}),
      "grow with tokens x score standard deviations");
}

TEST_CASE("a relative error that cannot be reached is refused with the number of trials it needs", "[limits]") {
  check_refused(run_program("temperature", {"--relative-error", "1e-12"}),
                "--relative-error: is below the rounding of a trial's values (value = ");
  check_refused(run_program("fading", {"--relative-error", "1e-12", "--lengths", "10"}),
                "trials by its pilot run, more than 2^50 (value = ");
  check_refused(run_program("temperature", {"--trials", "4611686018427387904"}),
                "--trials: is too large (value = 4611686018427387904; needs at most 2^50)");
}

TEST_CASE("one Ctrl-C ends a run inside its first wave, with a report", "[limits]") {
  // each takes minutes, and has another report, if nothing stops it
  const std::string far = "100000000";
  for (const auto& [program, arguments] :
       {std::pair<std::string, Arguments>{"temperature", {"--context-length", far, "--trials", "2"}},
        {"softmax-error", {"--context-length", far, "--trials", "2", "--device", "tbb"}},
        {"fading", {"--lengths", far, "--most-scores", "1e12"}}}) {
    CAPTURE(program);
    const Stopped stopped = interrupt(program, arguments, true);
    CHECK(stopped.exited);
    CHECK(stopped.output == part("Stopped early"));
  }
}

TEST_CASE("one Ctrl-C ends a run that is still computing closed forms", "[limits]") {
  CHECK(interrupt("temperature", {"--dimension", "1500"}, false).output.empty());  // it never came to a table
}

}  // namespace limits_program_test
