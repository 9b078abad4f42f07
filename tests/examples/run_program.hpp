#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace incontext::testing {

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// An empty folder that is removed at the end of the test, and its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_(std::filesystem::temp_directory_path() / ("incontext-test-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }

  std::string file(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return file(name);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

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

struct Finished {
  int exit_code = -1;
  std::string output = {};
  std::string errors = {};
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
  Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(base + ".out"), content_of(base + ".err")};
  for (const char* end : {".in", ".out", ".err"}) std::filesystem::remove(base + end);
  return finished;
}

/// Runs a program without a shell.
inline Finished run_program(const std::string& program, const std::vector<std::string>& arguments,
                            const std::string& input = "") {
  std::string command = shell_quoted(program);
  for (const std::string& argument : arguments) command += ' ' + shell_quoted(argument);
  return run_command(command, input);
}

/// A program that runs beside the test; its streams go to files of a folder.
class RunningProgram {
 public:
  RunningProgram(const std::string& program, const std::vector<std::string>& arguments, const TemporaryFolder& folder)
      : output_(folder.file("running.out")),
        errors_(folder.file("running.err")),
        process_((std::fflush(nullptr), ::fork())) {
    if (process_ != 0) return;
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
    const bool redirected =
        std::freopen(output_.c_str(), "w", stdout) != nullptr && std::freopen(errors_.c_str(), "w", stderr) != nullptr;
    std::vector<char*> words{const_cast<char*>(program.c_str())};
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    if (redirected) ::execv(program.c_str(), words.data());
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
    Finished finished{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content_of(output_), content_of(errors_)};
    for (const std::string& file : {output_, errors_}) std::filesystem::remove(file);
    return finished;
  }

 private:
  std::string output_, errors_;
  pid_t process_;
};

}  // namespace incontext::testing
