#pragma once

#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "incontext/core/floating_point.hpp"

namespace incontext::simulate::detail {

/// The processors that this process may use, one byte each.
inline std::vector<unsigned char> own_processors() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    std::vector<unsigned char> processors(CPU_SETSIZE);
    for (std::size_t i = 0; i < processors.size(); ++i) processors[i] = CPU_ISSET(i, &set) ? 1 : 0;
    return processors;
  }
#endif
  return std::vector<unsigned char>((std::max)(std::thread::hardware_concurrency(), 1U), 1);
}

}  // namespace incontext::simulate::detail
