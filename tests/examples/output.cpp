#include "examples/support/output.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "cuda/incontext/simulate/engine/interrupt.hpp"
#include "examples/support/temporary_file.hpp"
#include "support/catch.hpp"
#include "support/refusal.hpp"
#include "tests/examples/part.hpp"
#include "tests/examples/temporary_folder.hpp"

namespace output_test {

using namespace incontext::examples;
using namespace incontext::testing;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

mode_t rights_of(const std::string& file) {
  struct stat status = {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

/// Runs `action` in a separate process, which ends with its result; `meanwhile` is called with the process after
/// `action` has called its argument.
int status_of_child(
    const std::function<int(const std::function<void()>& ready)>& action,
    const std::function<void(pid_t)>& meanwhile = [](pid_t) {}) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_DFL);  // Catch2 handles some
    int answer = 99;
    try {
      answer = action([&] { answer = static_cast<int>(::write(pipe[1], "r", 1)); });
    } catch (...) {
    }
    ::_exit(answer);
  }
  ::close(pipe[1]);
  char ready = 0;
  while (::read(pipe[0], &ready, 1) < 0) {
  }
  ::close(pipe[0]);
  if (ready == 'r') meanwhile(child);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return status;
}

[[noreturn]] void wait_for_the_end() {
  for (;;) ::pause();
}

bool ended_by(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }

}  // namespace

TEST_CASE("a file appears whole, replaces the old one, and nothing else stays behind", "[output]") {
  const TemporaryFolder folder;
  const std::string file = folder.file("report.json");
  require_outputs({.file = file});
  CHECK(folder.names().empty());
  write_file(file, "first");
  CHECK(content_of(file) == "first");
  write_file(file, std::string(1 << 20, 'x'));
  CHECK(content_of(file).size() == (1 << 20));
  CHECK(folder.names() == Names{"report.json"});
}

TEST_CASE("a file whose name is as long as the system allows is written", "[output]") {
  const TemporaryFolder folder;
  const std::string longest(255, 'n');
  write_file(folder.file(longest), "x");
  CHECK(folder.names() == Names{longest});
  CHECK(message_of([&] { require_outputs({.file = folder.file(longest + "n")}); }) == part("File name too long"));
}

TEST_CASE("a symbolic link is kept, whether or not its target exists", "[output]") {
  const TemporaryFolder folder;
  fs::create_directory(folder.file("inner"));
  write_file(folder.file("inner/real"), "old");
  fs::create_symlink("inner/real", folder.file("link"));
  fs::create_symlink("link", folder.file("link-to-link"));
  write_file(folder.file("link-to-link"), "new");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(fs::is_symlink(folder.file("link-to-link")));
  CHECK(content_of(folder.file("inner/real")) == "new");
  fs::create_symlink("inner/later", folder.file("dangling"));
  write_file(folder.file("dangling"), "there");
  CHECK(fs::is_symlink(folder.file("dangling")));
  CHECK(content_of(folder.file("inner/later")) == "there");
  fs::create_symlink("circle", folder.file("circle"));
  CHECK(message_of([&] { require_outputs({.file = folder.file("circle")}); }) ==
        part("Too many levels of symbolic links"));
  CHECK(folder.names() == Names{"circle", "dangling", "inner", "link", "link-to-link"});
}

TEST_CASE("a replaced file keeps its access rights, and a new one has those of any new file", "[output]") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  write_file(folder.file("new"), "x");
  CHECK(rights_of(folder.file("new")) == 0640);
  for (const mode_t rights : {0600U, 0666U, 0755U, 0220U}) {
    REQUIRE(::chmod(folder.file("new").c_str(), rights) == 0);
    write_file(folder.file("new"), "y");
    CHECK(rights_of(folder.file("new")) == rights);
  }
  ::umask(before);
}

TEST_CASE("a read-only file is not replaced, even by a privileged user", "[output]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("kept", "old");
  REQUIRE(::chmod(file.c_str(), 0444) == 0);
  CHECK(message_of([&] { require_outputs({.file = file}); }) ==
        "--output: cannot be written: Permission denied (value = " + file + "; needs a writable file)");
  CHECK(message_of([&] { write_file(file, "new"); }) == part("Permission denied"));
  CHECK(content_of(file) == "old");
  CHECK(folder.names() == Names{"kept"});
}

TEST_CASE("another hard link of a replaced file keeps the old content", "[output]") {
  const TemporaryFolder folder;
  write_file(folder.file("report"), "old");
  fs::create_hard_link(folder.file("report"), folder.file("archive"));
  write_file(folder.file("report"), "new");
  CHECK(content_of(folder.file("report")) == "new");
  CHECK(content_of(folder.file("archive")) == "old");
}

TEST_CASE("an unwritable output is refused, the old content stays, and no temporary file is left", "[output]") {
  const TemporaryFolder folder;
  for (const std::string& file : {folder.file("missing/report"), folder.file("."), folder.file("")}) {
    CHECK(message_of([&] { require_outputs({.file = file}); }) == part("--output: cannot be written: "));
    CHECK(message_of([&] { write_file(file, "x"); }) == part("(value = " + file + ";"));
  }
  // none of two files where one cannot be written
  CHECK(message_of([&] {
          write_files({{folder.file("one"), "1"}, {folder.file("missing/two"), "2"}}, "--pair");
        }) == part("--pair: cannot be written: No such file or directory"));
  CHECK(folder.names().empty());
}

TEST_CASE("a device takes the bytes itself and is still a device afterward", "[output]") {
  if (::access("/dev/full", W_OK) != 0) return;  // no such device here
  write_file("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(message_of([] { write_file("/dev/full", "x"); }) == part("No space left on device"));
  CHECK(fs::is_character_file("/dev/full"));
}

TEST_CASE("two outputs into one file are refused with both options named, also through links", "[output]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("a", "old");
  fs::create_symlink("a", folder.file("link"));
  fs::create_hard_link(file, folder.file("hard"));
  fs::create_symlink(".", folder.file("here"));
  fs::create_symlink("new", folder.file("to-new"));
  const auto both = [&](const std::string& one, const std::string& other) {
    return message_of([&] { require_outputs({.file = folder.file(one)}, {{"--weights", folder.file(other)}}); });
  };
  CHECK(both("a", "a") == "--output: is the file of --weights too (value = " + file + "; needs another file)");
  for (const std::string same : {"link", "hard", "./a", "here/a"}) CHECK(both("a", same) == part("--weights too"));
  for (const std::string same : {"new", "./new", "here/new", "to-new"})
    CHECK(both("new", same) == part("--weights too"));
  CHECK(both("a", "b").empty());
  CHECK(both("new", "newer").empty());
  CHECK(both("a", "a.partial") == part("--weights: is the file of --output's partial report too"));
  CHECK(message_of([] { require_outputs({.file = "/dev/null"}, {{"--weights", "/dev/null"}}); }).empty());
  CHECK(content_of(file) == "old");
}

TEST_CASE("an output in place of an input is refused with both options named", "[output]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("data.csv", "a,b\n");
  fs::create_symlink("data.csv", folder.file("link"));
  CHECK(message_of([&] {
          require_outputs({.file = file}, {}, {{"--data", file}});
        }) == "--output: would replace the input of --data (value = " + file + "; needs another file)");
  CHECK(message_of([&] {
          require_outputs({}, {{"--weights", folder.file("link")}}, {{"--data", ""}, {"--scores", file}});
        }) == part("--weights: would replace the input of --scores"));
  CHECK(message_of([&] { require_outputs({.file = folder.file("out")}, {}, {{"--data", file}}); }).empty());
  CHECK(content_of(file) == "a,b\n");
}

TEST_CASE("standard output that is redirected to a file is compared with the other outputs", "[output]") {
  const TemporaryFolder folder;
  const std::string file = folder.file("out");
  const auto answer = [&](const OutputOptions& output, const std::string& weights) {
    return WEXITSTATUS(status_of_child([&](const auto&) {
      const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT, 0666);
      ::dup2(descriptor, STDOUT_FILENO);
      const std::string text = message_of([&] { require_outputs(output, {{"--weights", weights}}); });
      return text == part("is the file of standard output too") ? 1 : text.empty() ? 0 : 2;
    }));
  };
  CHECK(answer({}, file) == 1);
  CHECK(answer({.file = file}, "") == 1);
  CHECK(answer({}, folder.file("other")) == 0);
  CHECK(answer({.quiet = true}, file) == 0);  // nothing is written there
}

TEST_CASE("an ending signal waits for the temporary files, which leave nothing, and then ends the program",
          "[output]") {
  const TemporaryFolder folder;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    for (const bool in_another_thread : {false, true}) {
      std::size_t files = 0;
      const int status = status_of_child(
          [&](const auto& ready) -> int {
            const struct rlimit no_core = {0, 0};
            ::setrlimit(RLIMIT_CORE, &no_core);
            if (in_another_thread) {
              std::thread(wait_for_the_end).detach();
              sigset_t all;
              sigfillset(&all);
              pthread_sigmask(SIG_BLOCK, &all, nullptr);
            }
            {
              const TemporaryFile one(folder.file("one"), "--output"), two(folder.file("two"), "--output");
              ready();
              std::this_thread::sleep_for(std::chrono::milliseconds(100));
            }
            wait_for_the_end();
          },
          [&](pid_t child) {
            files = folder.names().size();
            ::kill(child, signal);
          });
      CAPTURE(signal, in_another_thread);
      CHECK(files == 2);
      CHECK(ended_by(status, signal));
      CHECK(folder.names().empty());
    }
  }
}

TEST_CASE("a signal at any moment of writing leaves the old content or the new, and no other file", "[output]") {
  const TemporaryFolder folder;
  const std::string one(1 << 12, '1'), two(1 << 16, '2');
  for (int run = 0; run < 50; ++run) {
    folder.write("report", "old");
    const int status = status_of_child(
        [&](const auto& ready) -> int {
          std::thread(wait_for_the_end).detach();  // the signal may arrive in either thread
          ready();
          for (;;) write_files({{folder.file("report"), one}, {folder.file("second"), two}}, "--output");
        },
        [&](pid_t child) {
          ::usleep(static_cast<useconds_t>(run * 59 % 3000));
          ::kill(child, SIGTERM);
        });
    CAPTURE(run);
    REQUIRE(ended_by(status, SIGTERM));
    const std::string report = content_of(folder.file("report")), second = content_of(folder.file("second"));
    if (report != "old") REQUIRE(report == one);
    if (!second.empty()) REQUIRE(second == two);
    REQUIRE(folder.names().size() <= 2);
  }
}

TEST_CASE("a signal that is ignored stays ignored, and an earlier handler receives a signal once", "[output]") {
  const TemporaryFolder folder;
  // as under nohup
  const int ignored = status_of_child([&](const auto&) {
    std::signal(SIGHUP, SIG_IGN);
    TemporaryFile file(folder.file("report"), "--output");
    ::raise(SIGHUP);
    file.write("complete");
    return file.take_place();
  });
  CHECK(ignored == 0);
  CHECK(folder.names() == Names{"report"});
  const int heard = status_of_child([&](const auto&) {
    const incontext::simulate::InterruptGuard guard;
    {
      const TemporaryFile file(folder.file("report"), "--output");
      ::raise(SIGINT);
      if (incontext::simulate::InterruptGuard::requested()) return 1;
    }
    return incontext::simulate::InterruptGuard::requested() ? 0 : 2;
  });
  CHECK(heard == 0);
  CHECK(folder.names() == Names{"report"});
  // a second signal does not wait: a disk may hang
  const int impatient = status_of_child([&](const auto&) {
    const TemporaryFile file(folder.file("report"), "--output");
    ::raise(SIGINT);
    ::raise(SIGINT);
    return 3;
  });
  CHECK(ended_by(impatient, SIGINT));
  for (const std::string& name : folder.names()) {
    if (name != "report") fs::remove(folder.file(name));
  }
  // and without a temporary file a signal is what it was before
  const int after = status_of_child([&](const auto&) {
    const incontext::simulate::InterruptGuard guard;
    write_file(folder.file("report"), "new");
    ::raise(SIGINT);
    return incontext::simulate::InterruptGuard::requested() ? 0 : 1;
  });
  CHECK(after == 0);
  CHECK(content_of(folder.file("report")) == "new");
}

TEST_CASE("the temporary file of a killed run does not disturb another run", "[output]") {
  const TemporaryFolder folder;
  const int status = status_of_child(
      [&](const auto& ready) -> int {
        const TemporaryFile file(folder.file("report"), "--output");
        ready();
        wait_for_the_end();
      },
      [](pid_t child) { ::kill(child, SIGKILL); });
  CHECK(ended_by(status, SIGKILL));
  REQUIRE(folder.names().size() == 1);
  CHECK(folder.names()[0] == part("report.incontext-"));
  for (int i = 0; i < 20; ++i) {
    require_outputs({.file = folder.file("report")});
    write_file(folder.file("report"), "new");
  }
  CHECK(folder.names().size() == 2);
}

TEST_CASE("a limit on the size of files is an error of writing that leaves the old file", "[output]") {
  const TemporaryFolder folder;
  folder.write("report", "old");
  const int status = status_of_child([&](const auto&) {
    prepare_streams();
    const struct rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    return message_of([&] { write_file(folder.file("report"), std::string(5000, 'x')); }) == part("File too large") ? 0
                                                                                                                    : 1;
  });
  CHECK(status == 0);
  CHECK(folder.names() == Names{"report"});
  CHECK(content_of(folder.file("report")) == "old");
}

TEST_CASE("if the last step fails, the finished content is kept under the name that the message states", "[output]") {
  const TemporaryFolder folder;
  std::string kept;
  {
    TemporaryFile file(folder.file("report"), "--output");
    file.write("finished");
    fs::create_directory(folder.file("report"));
    CHECK(file.take_place() == EISDIR);
    file.keep();
    kept = file.name();
  }
  CHECK(content_of(kept) == "finished");
  if (::geteuid() != 0) return;  // only root can prepare the folder in which another user's file must not be renamed
  fs::create_directory(folder.file("sticky"));
  REQUIRE(::chmod(folder.file("sticky").c_str(), 01777) == 0);
  const std::string report = folder.write("sticky/report", "old");
  REQUIRE(::chmod(report.c_str(), 0666) == 0);
  const int status = status_of_child([&](const auto&) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
    require_outputs({.file = report});
    const std::string text = message_of([&] { write_file(report, "finished"); });
    const std::string told = "the complete content is in ";
    const std::size_t at = text.find(told);
    if (at == std::string::npos || text.find("--output: cannot be replaced: ") != 0) return 1;
    return content_of(text.substr(at + told.size())) == "finished" ? 0 : 1;
  });
  CHECK(status == 0);
  CHECK(content_of(report) == "old");
}

TEST_CASE("a closed standard stream is never confused with a file that is opened later", "[output]") {
  const TemporaryFolder folder;
  const int status = status_of_child([&](const auto&) {
    for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(descriptor);
    prepare_streams();
    const bool output_refused = message_of([] { write_standard_output("x"); }) == part("cannot be written");
    const bool input_refused = message_of([] { read_whole_file("-"); }) == part("cannot be read");
    const TemporaryFile file(folder.file("report"), "--output");
    return output_refused && input_refused && ::write(STDERR_FILENO, "x", 1) < 0 ? 0 : 1;
  });
  CHECK(status == 0);
}

}  // namespace output_test
