// Runs a fuzz target on files instead of random bytes: on every file of the given folders, whole and cut at every
// length.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "examples/support/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int argc, char** argv) {
  std::size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      const std::string bytes = incontext::examples::read_whole_file(entry.path().string());
      for (std::size_t size = bytes.size() + 1; size-- > 0;) {
        const std::string cut = bytes.substr(0, size);  // its own memory, so that a sanitizer sees its end
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(cut.data()), size);
        if (bytes.size() - size >= 300) break;
      }
      ++files;
    }
  }
  std::printf("%zu files\n", files);
  return files > 0 ? 0 : 1;
}
