#include "examples/support/temporary_file.hpp"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#include "examples/support/text.hpp"

namespace incontext::examples {

namespace {

constexpr std::array<int, 4> ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// The names to remove when a signal ends the program, and the previous signal handlers. A signal may arrive in any
/// thread: `busy` is held while the names change, by a thread that blocks signals meanwhile; a handler that removes the
/// files takes it and never returns it.
struct Names {
  std::atomic_flag busy = ATOMIC_FLAG_INIT;
  std::array<std::array<char, PATH_MAX>, 8> names = {};  // "" is a free entry
  std::array<struct sigaction, ending_signals.size()> heard_before = {};
};

Names registry;

void take(std::atomic_flag& busy) {
  while (busy.test_and_set(std::memory_order_acquire)) {
  }
}

class Lock {
 public:
  Lock() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
    take(registry.busy);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    registry.busy.clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_ = {};
};

bool is_default(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

bool is_ignored(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_IGN;
}

void remove_names_and_end(int signal) {
  for (const auto& name : registry.names) {
    if (name[0] != '\0') ::unlink(name.data());
  }
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(signal, &standard, nullptr);
  ::raise(signal);  // takes effect when the handler returns
}

/// Calls only functions that are safe in a signal handler.
void on_ending_signal(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const auto at = static_cast<std::size_t>(std::find(ending_signals.begin(), ending_signals.end(), signal) -
                                           ending_signals.begin());
  struct sigaction ours = {};
  ::sigaction(signal, nullptr, &ours);
  take(registry.busy);
  const struct sigaction before = registry.heard_before[at];
  if (is_default(before)) {
    remove_names_and_end(signal);
  } else {
    // The previous handler receives the signal once; a second signal ends the program.
    registry.heard_before[at] = {};
    registry.busy.clear(std::memory_order_release);
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, info, context);
    } else {
      before.sa_handler(signal);
    }
    ::sigaction(signal, &ours, nullptr);
  }
  errno = error;
}

void hear_signals() {
  struct sigaction ours = {};
  ours.sa_sigaction = on_ending_signal;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  sigfillset(&ours.sa_mask);
  for (std::size_t i = 0; i < ending_signals.size(); ++i) {
    ::sigaction(ending_signals[i], nullptr, &registry.heard_before[i]);
    if (!is_ignored(registry.heard_before[i])) ::sigaction(ending_signals[i], &ours, nullptr);
  }
}

void leave_signals() {
  for (std::size_t i = 0; i < ending_signals.size(); ++i) {
    struct sigaction now = {};
    ::sigaction(ending_signals[i], nullptr, &now);
    const bool is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_ending_signal;
    if (is_ours) ::sigaction(ending_signals[i], &registry.heard_before[i], nullptr);
  }
}

bool none_registered() {
  return std::all_of(registry.names.begin(), registry.names.end(), [](const auto& name) { return name[0] == '\0'; });
}

/// Removes a name from the list, whether or not its file exists.
void forget(const std::string& name) {
  const Lock lock;
  for (auto& registered : registry.names) {
    if (name == registered.data()) registered[0] = '\0';
  }
  if (none_registered()) leave_signals();
}

/// Creates a file and adds its name to the list, or returns the error; signals are blocked in between.
int open_and_remember(const std::string& name, mode_t mode, int& error) {
  const Lock lock;
  const auto free = std::find_if(registry.names.begin(), registry.names.end(), [](auto& n) { return n[0] == '\0'; });
  error = free == registry.names.end() ? EMFILE : name.size() >= PATH_MAX ? ENAMETOOLONG : 0;
  if (error != 0) return -1;
  if (none_registered()) hear_signals();  // before the file exists: another thread may receive a signal now
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (descriptor >= 0) {
    std::copy(name.begin(), name.end() + 1, free->begin());  // and the zero byte at its end
  } else {
    error = errno;
    if (none_registered()) leave_signals();
  }
  return descriptor;
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
  int error = EEXIST;
  for (int tries = 0; tries < 100 && error == EEXIST; ++tries) {
    name_ = random_name(target_);
    descriptor_ = open_and_remember(name_, replaced ? 0600 : 0666, error);
  }
  if (descriptor_ < 0) throw_unwritable(file, error, option);
  if (replaced) take_over(*replaced, descriptor_);
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (released_) return;
  ::unlink(name_.c_str());
  forget(name_);
}

void TemporaryFile::write(std::string_view content) {
  int error = write_all(descriptor_, content);
  if (error == 0) error = synchronized(descriptor_);
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) throw_unwritable(file_, error, option_);
}

void TemporaryFile::keep() {
  forget(name_);
  released_ = true;
}

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
