#include "bits.hpp"

#include <fstream>

#include "support/catch.hpp"

using incontext::simulate::Device;

TEST_CASE("the bits do not depend on device or number of threads") {
  const auto serial = incontext::testing::bits(Device::serial, 1);
  REQUIRE_FALSE(serial.empty());
  for (const Device device : {Device::openmp, Device::tbb, Device::cuda}) {
    if (!incontext::simulate::is_available(device)) continue;
    for (const int threads : {1, 2, 3}) {
      CAPTURE(incontext::simulate::name(device), threads);
      CHECK(incontext::testing::bits(device, threads) == serial);
    }
  }
}

TEST_CASE("the bits are those on record") {
  std::ifstream record(INCONTEXT_SOURCE_DIR "/tests/simulate/bits.txt");
  REQUIRE(record.good());
  std::vector<std::string> lines;
  for (std::string line; std::getline(record, line);) lines.push_back(line);
  CHECK(incontext::testing::bits(Device::automatic, 0) == lines);
}
