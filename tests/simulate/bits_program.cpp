// Prints the bits of every kind of trial, on the device that the first argument names, with the number of threads in
// the second, of trials in the third and of seeds in the fourth. Compiled in many ways and run on many devices, it
// must always print the same. A single trial is its own mean: by one trial and many seeds trials are compared.
//
// The first line is the version of the contract. A line of bits.txt that is there already may change only together with
// contract_version (simulate/engine/records/record.hpp); lines of new kinds of trials may be added.

#include <cstdio>
#include <cstdlib>

#include "bits.hpp"
#include "incontext/simulate/engine/records/record.hpp"

int main(int count, char** arguments) {
  const auto device = incontext::simulate::device_named(count > 1 ? arguments[1] : "serial");
  if (!incontext::simulate::is_available(device)) {
    std::puts("skipped: no such device here");
    return 77;
  }
  const int threads = count > 2 ? std::atoi(arguments[2]) : 0;
  const std::int64_t trials = count > 3 ? std::atoll(arguments[3]) : 9999;
  const std::uint64_t seeds = count > 4 ? std::strtoull(arguments[4], nullptr, 10) : 1;
  std::printf("contract %lld\n", static_cast<long long>(incontext::simulate::contract_version));
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    for (const std::string& line : incontext::testing::bits(device, threads, trials, seed)) {
      if (seeds > 1) std::printf("seed %llu ", static_cast<unsigned long long>(seed));
      std::puts(line.c_str());
    }
  }
  return 0;
}
