#include "examples/train/sequences.hpp"

#include <incontext/statistics/moments.hpp>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "examples/support/text.hpp"

namespace incontext::examples::train {

void add_sequence_options(CLI::App& app, SequenceOptions& o) {
  std::string names;
  for (const SequenceMap& map : sequence_maps()) names += (names.empty() ? "" : ",") + map.name;
  show_no_default(add_read(
      app, "--maps", [&o](const std::string& text) { o.maps = parse_list(text); },
      "affine, quantifier: some of " + names, "WORDS"));
  show_no_default(
      add_count<std::int64_t>(app, "--tested", o.tested, "affine, quantifier: sequences per test", 2, 1000000));
}

std::vector<std::string> sequence_option_names() { return {"--maps", "--tested"}; }

void complete(SequenceOptions& o) {
  const auto or_edition = [&](std::int64_t& value, std::int64_t quick, std::int64_t full) {
    if (value == 0) value = o.full ? full : quick;
  };
  or_edition(o.width, 16, 32);
  or_edition(o.seeds, 2, 5);
  or_edition(o.steps, 150, 600);
  or_edition(o.batch, 16, 32);
  or_edition(o.tested, 256, 1024);
  or_edition(o.needle_seeds, 8, 16);
  or_edition(o.needle_steps, 300, 1000);
  if (o.maps.empty()) {
    for (const SequenceMap& map : sequence_maps()) {
      if (o.full || map.name == "softmax" || map.name == "ssa") o.maps.push_back(map.name);
    }
  }
  for (const std::string& name : o.maps) {
    const auto is_own = [&](const SequenceMap& map) { return map.name == name; };
    if (std::none_of(sequence_maps().begin(), sequence_maps().end(), is_own)) {
      std::string words;
      for (const SequenceMap& map : sequence_maps()) words += (words.empty() ? "" : ", ") + map.name;
      throw_input_error("--maps", "is unknown", name, words);
    }
  }
  if (o.width % 4 != 0) {
    throw_input_error("--width", "is no multiple of the heads", std::to_string(o.width), "a multiple of 4");
  }
}

void state_used(const SequenceOptions& o, nlohmann::ordered_json& arguments) {
  arguments["maps"] = o.maps;
  arguments["width"] = o.width;
  arguments["seeds"] = o.seeds;
  arguments["steps"] = o.steps;
  arguments["batch"] = o.batch;
  arguments["tested"] = o.tested;
  arguments["needle_seeds"] = o.needle_seeds;
  arguments["needle_steps"] = o.needle_steps;
  arguments["needle_batch"] = o.needle_batch;
}

SequenceRun run_of(const SequenceOptions& o, const std::string& map, std::int64_t seed) {
  return {.map = map,
          .width = o.width,
          .steps = o.steps,
          .batch = o.batch,
          .seed = o.first_seed + static_cast<std::uint64_t>(seed)};
}

statistics::Estimate estimate_of_runs(const std::vector<double>& values) {
  return statistics::Estimate(statistics::moments_of(values.data(), std::ssize(values)));
}

Cell finite_cell(double value) { return std::isfinite(value) ? Cell(value) : Cell(); }

}  // namespace incontext::examples::train
