#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/command_line.hpp"
#include "examples/support/unused_options.hpp"

/// The options of incontext calibrate, and the check of their combinations.
namespace incontext::examples::calibrate {

/// A head by its layer and its number in the layer, both counted from 0.
struct HeadPlace {
  std::int64_t layer;
  std::int64_t head;
};

struct CalibrateOptions {
  std::string scores = {};
  std::string shifted = {};
  std::string plot = {};
  std::optional<HeadPlace> head = {};
  std::optional<double> gap = {};
  std::int64_t trained_length = 0;  ///< 0: the longest row
  std::vector<std::int64_t> factors = {};
  double inverse_temperature = 1;
  bool causal = false;
  bool leave_out_masked_rows = false;
  int threads = 0;
  OutputOptions output = {};
};

void add_calibrate_options(CLI::App& app, CalibrateOptions& o);

/// Completes the options and refuses combinations without a meaning.
UnusedOptions check_combination(const CLI::App& app, CalibrateOptions& o);

}  // namespace incontext::examples::calibrate
