#include "examples/support/output.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/catch.hpp"

using namespace incontext::examples;
namespace fs = std::filesystem;

namespace {

struct Folder {
  fs::path path = fs::temp_directory_path() / ("incontext-output-" + std::to_string(::getpid()));
  Folder() { fs::create_directory(path); }
  ~Folder() { fs::remove_all(path); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), fs::directory_iterator{}));
  }
};

std::string content(const std::string& file) {
  std::ifstream stream(file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("a file appears whole, replaces the old one, and nothing else stays behind", "[output]") {
  const Folder folder;
  const std::string file = folder.file("report.json");
  require_writable(file);
  CHECK(folder.entries() == 0);
  write_file(file, "first");
  CHECK(content(file) == "first");
  write_file(file, std::string(1 << 20, 'x'));
  CHECK(content(file).size() == (1 << 20));
  CHECK(folder.entries() == 1);
}

TEST_CASE("a symbolic link keeps pointing at the file it names", "[output]") {
  const Folder folder;
  write_file(folder.file("real"), "old");
  fs::create_symlink(folder.file("real"), folder.file("link"));
  write_file(folder.file("link"), "new");
  CHECK(fs::is_symlink(folder.file("link")));
  CHECK(content(folder.file("real")) == "new");
  CHECK(folder.entries() == 2);
}

TEST_CASE("an unwritable output is refused, the old content stays, and no temporary file is left", "[output]") {
  const Folder folder;
  CHECK_THROWS_AS(require_writable(folder.file("missing/report")), InputError);
  CHECK_THROWS_AS(write_file(folder.file("missing/report"), "x"), InputError);
  CHECK_THROWS_AS(require_writable(folder.path.string()), InputError);
  // none of two files where one cannot be written
  CHECK_THROWS_AS(write_files({{folder.file("one"), "1"}, {folder.file("missing/two"), "2"}}, "--pair"), InputError);
  CHECK_THROWS_AS(write_file(folder.path.string(), "x"), InputError);
  CHECK_THROWS_AS(require_writable(folder.file("") + std::string(300, 'n')), InputError);
  CHECK(folder.entries() == 0);
}

TEST_CASE("a device takes the bytes itself and is still a device afterwards", "[output]") {
  if (::access("/dev/full", W_OK) != 0) return;  // no such device here
  write_file("/dev/null", "x");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_THROWS_AS(write_file("/dev/full", "x"), InputError);
  CHECK(fs::is_character_file("/dev/full"));
}
