#pragma once

#include <incontext/simulate/engine/device_types.hpp>

#include <cstdint>
#include <functional>
#include <string>

#include "examples/support/record_options.hpp"

namespace incontext::examples {

/// The options of a simulation; `trials` and `relative_error` exclude each other.
struct SimulationOptions {
  std::int64_t dimension = 20;
  std::int64_t context_length = 100;
  std::int64_t trials = 65536;
  double relative_error = 0;  ///< 0: stop at `trials`
  std::uint64_t seed = 1;
  simulate::Device device = simulate::Device::automatic;
  int gpu = 0;        ///< which of several GPUs
  int threads = 0;    ///< 0: all
  bool none = false;  ///< nothing is simulated: exact values alone
  RecordOptions record = {};
  std::function<void(RecordOptions&)> complete_record = {};  ///< sets what follows from the whole command line
};

}  // namespace incontext::examples
