#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"

/// Allocation of working memory. Where there is too little, the message states the size and what it depends on.
namespace incontext::simulate::detail {

/// Bytes of memory of this machine or of the process's container; infinity where that is unknown. Linux grants requests
/// for more than that and ends the process when the memory is written to.
inline double memory_of_machine() {
  static const double bytes = [] {
    double most = std::numeric_limits<double>::infinity(), number = 0;
    std::string word;
    if (std::ifstream("/proc/meminfo") >> word >> number && word == "MemTotal:") most = 1024 * number;
    for (const char* limit : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
      if (std::ifstream(limit) >> number) most = (std::min)(most, number);
    }
    return most;
  }();
  return bytes;
}

/// A number of bytes as text, such as 1.5 GB.
inline std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(units); ++unit) bytes /= 1000;
  return short_text(bytes, 3) + " " + units[unit];
}

/// The size of a buffer: `per_unit` numbers for each of `units`. On a GPU number k of all units comes first, then number
/// k + 1 of all, and a thread's LaneArray finds its own by a product of two numbers of 32 bits.
struct MemorySize {
  std::int64_t units;
  std::int64_t per_unit;
  std::string_view what;        ///< what the units are
  std::string_view grows_with;  ///< what makes `per_unit` large
};

/// Memory of the host, whose allocator may grant more than the machine has.
template <class Memory>
inline constexpr bool is_host_memory = false;
template <class T>
inline constexpr bool is_host_memory<std::vector<T>> = true;

/// Whether a GPU thread's LaneArray reaches all of the buffer: its index and the bytes between two of its numbers have
/// 32 bits.
inline bool is_reachable_on_gpu(const MemorySize& size, std::size_t bytes_per_number) {
  constexpr std::int64_t most = (std::numeric_limits<std::uint32_t>::max)();
  return size.per_unit <= most && size.units <= most / static_cast<std::int64_t>(bytes_per_number);
}

/// Resizes a buffer to at least that size.
///
/// Errors    std::invalid_argument if there is not enough memory, or, on a GPU, if 32 bits do not reach all of it.
template <class Memory>
void make_room(std::string_view where, Memory& memory, const MemorySize& size) {
  constexpr std::size_t number = sizeof(typename Memory::value_type);
  if (!is_host_memory<Memory> && !is_reachable_on_gpu(size, number)) {
    throw_invalid_argument(
        where, "a GPU's buffer is larger than indices of 32 bits reach",
        std::to_string(size.units) + " " + std::string(size.what) + " of " + std::to_string(size.per_unit) + " numbers",
        "less than 2^32 numbers each, which grow with " + std::string(size.grows_with) +
            ", and less than 2^32 bytes of one number of all");
  }
  const double numbers = static_cast<double>(size.units) * static_cast<double>(size.per_unit);
  if (numbers <= static_cast<double>(memory.size())) return;
  const double bytes = numbers * static_cast<double>(number);
  try {
    constexpr auto addresses = static_cast<double>((std::numeric_limits<std::ptrdiff_t>::max)());
    if (bytes >= addresses || (is_host_memory<Memory> && bytes > memory_of_machine())) throw std::bad_alloc();
    memory.resize(static_cast<std::size_t>(size.units * size.per_unit));
    return;
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw_invalid_argument(where, "there is not enough memory", bytes_text(bytes),
                         "less: " + std::to_string(size.units) + " " + std::string(size.what) + " take " +
                             std::to_string(size.per_unit) + " numbers each, which grow with " +
                             std::string(size.grows_with));
}

}  // namespace incontext::simulate::detail
