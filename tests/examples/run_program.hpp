#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/examples/temporary_folder.hpp"

namespace incontext::testing {

/// Waits until a program that was just started handles SIGINT, which it does from its first trial on: at most 30
/// seconds.
inline void wait_for_interrupt_handler(pid_t process) {
  const std::string test_name = content_of("/proc/self/comm");
  for (int i = 0; i < 3000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    if (content_of("/proc/" + std::to_string(process) + "/comm") == test_name) continue;  // still a copy of this test
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    unsigned long long caught = 0;
    for (std::string word; status >> word;) {
      if (word == "SigCgt:") status >> std::hex >> caught;
    }
    if ((caught >> (SIGINT - 1) & 1) != 0) return;
  }
}

/// What was printed, without the lines that say how long a run takes, which only a slow or busy machine prints.
inline std::string without_durations(const std::string& printed) {
  std::istringstream lines(printed);
  std::string rest;
  for (std::string line; std::getline(lines, line);) {
    const bool is_duration = line.find(" trials, which take about ") != std::string::npos ||
                             line.find(": nothing is finished after ") != std::string::npos;
    if (!is_duration) rest += line + "\n";
  }
  return printed.ends_with('\n') || rest.empty() ? rest : rest.substr(0, rest.size() - 1);
}

struct Finished {
  int exit_code = -1;
  std::string output = {};
  std::string errors = {};  ///< without_durations
};

inline std::string shell_quoted(const std::string& argument) {
  std::string result = "'";
  for (const char c : argument) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// Runs a shell command, which may redirect its streams.
inline Finished run_command(const std::string& command, const std::string& input = "") {
  static const std::string base =
      (std::filesystem::temp_directory_path() / ("incontext-run-" + std::to_string(::getpid()))).string();
  std::ofstream(base + ".in", std::ios::binary) << input;
  const std::string redirected = "{ " + command + "\n} <" + shell_quoted(base + ".in") + " >" +
                                 shell_quoted(base + ".out") + " 2>" + shell_quoted(base + ".err");
  const int status = std::system(redirected.c_str());
  Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(base + ".out"),
                    without_durations(content_of(base + ".err"))};
  for (const char* end : {".in", ".out", ".err"}) std::filesystem::remove(base + end);
  return finished;
}

/// The program, then the words of a subcommand or of a task of one, such as "train needle"; "" is the program alone.
inline std::vector<std::string> words_of(const std::string& subcommand) {
  std::vector<std::string> words{INCONTEXT_PROGRAM};
  std::istringstream stream(subcommand);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The same for a shell.
inline std::string in_shell(const std::string& subcommand) {
  return shell_quoted(INCONTEXT_PROGRAM) + (subcommand.empty() ? "" : " " + subcommand);
}

/// Runs a subcommand.
inline Finished run_program(const std::string& subcommand, const std::vector<std::string>& arguments,
                            const std::string& input = "") {
  std::string command = in_shell(subcommand);
  for (const std::string& argument : arguments) command += ' ' + shell_quoted(argument);
  return run_command(command, input);
}

/// Every subcommand, and of one that has tasks every task: what --list prints.
inline std::vector<std::string> all_subcommands() {
  std::istringstream lines(run_program("", {"--list"}).output);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  return all;
}

/// Runs a subcommand in the place of this process.
inline void become(const std::string& subcommand, const std::vector<std::string>& arguments) {
  std::vector<std::string> all = words_of(subcommand);
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> words;
  for (std::string& word : all) words.push_back(word.data());
  words.push_back(nullptr);
  ::execv(words.front(), words.data());
}

/// A subcommand that runs beside the test; its streams go to files of a folder.
class RunningProgram {
 public:
  RunningProgram(const std::string& subcommand, const std::vector<std::string>& arguments,
                 const TemporaryFolder& folder)
      : output_(folder.file("running.out")),
        errors_(folder.file("running.err")),
        process_((std::fflush(nullptr), ::fork())) {
    if (process_ != 0) return;
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    const bool redirected =
        std::freopen(output_.c_str(), "w", stdout) != nullptr && std::freopen(errors_.c_str(), "w", stderr) != nullptr;
    if (redirected) become(subcommand, arguments);
    ::_exit(127);
  }
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;
  ~RunningProgram() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }

  [[nodiscard]] pid_t process() const { return process_; }
  void send(int signal) const { ::kill(process_, signal); }

  /// Waits for its end. One that a signal ended has no exit code.
  Finished wait() {
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(output_),
                      without_durations(content_of(errors_))};
    for (const std::string& file : {output_, errors_}) std::filesystem::remove(file);
    return finished;
  }

 private:
  std::string output_, errors_;
  pid_t process_;
};

}  // namespace incontext::testing
