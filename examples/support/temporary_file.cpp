#include "examples/support/temporary_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <random>
#include <system_error>

#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

constexpr std::array<int, 4> ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// A signal may arrive in any thread, so that blocking it in this one would not do.
std::atomic<int> waiting_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void let_wait(int signal) {
  if (waiting_signal.exchange(signal) == 0) return;
  std::signal(signal, SIG_DFL);
  ::raise(signal);  // takes effect when the handler returns
}

std::mutex signals_mutex;
std::int64_t temporary_files = 0;
std::array<struct sigaction, ending_signals.size()> heard_before = {};

bool is_ignored(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

std::string random_name(const std::string& target) {
  const std::filesystem::path path(target);
  constexpr std::size_t longest = 230;  // of the 255 bytes of most file systems
  std::random_device random;
  char suffix[32];
  std::snprintf(suffix, sizeof suffix, ".incontext-%08x", random());
  return (path.parent_path() / (path.filename().string().substr(0, longest) + suffix)).string();
}

/// The status of the file to be replaced, if there is one; a file that must not be replaced is refused.
std::optional<struct stat> replaced_file(const std::string& target, const std::string& file,
                                         const std::string& option) {
  struct stat status = {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::nullopt;
    throw_unwritable(file, errno, option);
  }
  if (S_ISDIR(status.st_mode)) throw_unwritable(file, EISDIR, option);
  if ((status.st_mode & 0222U) == 0) throw_unwritable(file, EACCES, option);  // also for a superuser
  if (::access(target.c_str(), W_OK) != 0) throw_unwritable(file, errno, option);
  return status;
}

/// Gives a file the owner, the group and the access rights of another, as far as the system allows; a different group
/// receives none of the group's rights.
void take_over(const struct stat& other, int descriptor) {
  mode_t mode = other.st_mode & 0777U;
  struct stat own = {};
  ::fstat(descriptor, &own);
  const bool same = own.st_uid == other.st_uid && own.st_gid == other.st_gid;
  if (!same && ::fchown(descriptor, other.st_uid, other.st_gid) != 0 &&
      ::fchown(descriptor, own.st_uid, other.st_gid) != 0) {
    mode &= ~mode_t{070};
  }
  ::fchmod(descriptor, mode);
}

/// A file that does not support fsync is not an error.
int synchronized(int descriptor) {
  if (::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS) return 0;
  return errno;
}

}  // namespace

SignalsWait::SignalsWait() {
  const std::lock_guard lock(signals_mutex);
  if (temporary_files++ > 0) return;
  struct sigaction ours = {};
  ours.sa_handler = let_wait;
  ours.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < ending_signals.size(); ++i) {
    ::sigaction(ending_signals[i], nullptr, &heard_before[i]);
    if (!is_ignored(heard_before[i])) ::sigaction(ending_signals[i], &ours, nullptr);
  }
}

SignalsWait::~SignalsWait() {
  const std::lock_guard lock(signals_mutex);
  if (--temporary_files > 0) return;
  for (std::size_t i = 0; i < ending_signals.size(); ++i) {
    if (!is_ignored(heard_before[i])) ::sigaction(ending_signals[i], &heard_before[i], nullptr);
  }
  if (const int signal = waiting_signal.exchange(0); signal != 0) ::kill(::getpid(), signal);
}

std::string followed(const std::string& file, const std::string& option) {
  std::filesystem::path path(file);
  for (int links = 0; links < 40; ++links) {
    std::error_code error;
    if (!std::filesystem::is_symlink(std::filesystem::symlink_status(path, error))) return path.string();
    const std::filesystem::path next = std::filesystem::read_symlink(path, error);
    if (error) throw_unwritable(file, error.value(), option);
    path = path.parent_path() / next;  // an absolute one replaces all
  }
  throw_unwritable(file, ELOOP, option);
}

void throw_unwritable(const std::string& file, int error, const std::string& option) {
  throw InputError(option + ": cannot be written: " + std::strerror(error) + " (value = " + file +
                   "; needs a writable file)");
}

int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

TemporaryFile::TemporaryFile(const std::string& file, const std::string& option)
    : file_(file), option_(option), target_(followed(file, option)) {
  const auto replaced = replaced_file(target_, file, option);
  errno = EEXIST;
  for (int tries = 0; tries < 100 && descriptor_ < 0 && errno == EEXIST; ++tries) {
    name_ = random_name(target_);
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaced ? 0600 : 0666);
  }
  if (descriptor_ < 0) throw_unwritable(file, errno, option);
  if (replaced) take_over(*replaced, descriptor_);
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!released_) ::unlink(name_.c_str());
}

void TemporaryFile::write(std::string_view content) {
  int error = write_all(descriptor_, content);
  if (error == 0) error = synchronized(descriptor_);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) throw_unwritable(file_, error, option_);
}

void TemporaryFile::keep() { released_ = true; }

int TemporaryFile::take_place() {
  if (std::rename(name_.c_str(), target_.c_str()) != 0) return errno;
  keep();
  settle();
  return 0;
}

int TemporaryFile::take_free_place() {
  if (::link(name_.c_str(), target_.c_str()) == 0) {
    ::unlink(name_.c_str());
    keep();
    settle();
    return 0;
  }
  struct stat status = {};
  if (errno == EEXIST || ::stat(target_.c_str(), &status) == 0) return EEXIST;
  return take_place();  // the file system has no hard links
}

void TemporaryFile::settle() const {
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  const int descriptor = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    synchronized(descriptor);  // the file has its name either way
    ::close(descriptor);
  }
}

}  // namespace incontext::examples
