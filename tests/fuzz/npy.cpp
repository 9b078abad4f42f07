// The fuzzed bytes are an .npy file.

#include "examples/support/npy.hpp"

#include <cstdint>
#include <string_view>

#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace incontext::examples;
  using incontext::fuzz::require;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const OneDimension vectors : {OneDimension::column, OneDimension::row}) {
    incontext::fuzz::read_or_refuse([&] {
      refuse_zip("f", bytes);
      const Eigen::MatrixXd values = parse_npy("f", bytes, vectors);
      require(values.size() > 0, "an array that is read has numbers");
      require(static_cast<std::size_t>(values.size()) <= size, "every number is in the file");
      require(parse_npy("f", npy_bytes(values)).rows() == values.rows(), "what is written is read");
    });
  }
  return 0;
}
