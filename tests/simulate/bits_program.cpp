// Prints the bits of every kind of trial, on the device that the first argument names, with the number of threads in the
// second and of trials in the third. Compiled in several ways and run on several devices, it must always print the same.

#include <cstdlib>

#include "bits.hpp"

int main(int count, char** arguments) {
  const auto device = incontext::simulate::device_named(count > 1 ? arguments[1] : "serial");
  if (!incontext::simulate::is_available(device)) {
    std::puts("skipped: no such device here");
    return 77;
  }
  const int threads = count > 2 ? std::atoi(arguments[2]) : 0;
  const std::int64_t trials = count > 3 ? std::atoll(arguments[3]) : 9999;
  for (const std::string& line : incontext::testing::bits(device, threads, trials)) std::puts(line.c_str());
  return 0;
}
