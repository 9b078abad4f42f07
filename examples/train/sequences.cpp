#include "examples/train/sequences.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "examples/support/text.hpp"

namespace incontext::examples::train {

namespace {

std::vector<std::string> map_names() {
  std::vector<std::string> names;
  for (const SequenceMap& map : sequence_maps()) names.push_back(map.name);
  return names;
}

/// Everything but the heading "Task" and what runs the program.
void add_sequence_options(CLI::App& app, SequenceOptions& o, std::int64_t quick_width = 16,
                          std::int64_t quick_steps = 150) {
  add_full_flag(app, o);
  add_words(app, "--maps", o.maps, "Attention maps", map_names());
  head_options(app, "Task");
  add_count<std::int64_t>(app, "--layers", o.layers, "Layers of attention, each with its perceptron", 1, 8);
  add_edition_count(app, o, "--width", o.width, "Width, a multiple of the 4 heads", quick_width, 32, 4096);
  add_edition_count(app, o, "--seeds", o.seeds, "Runs of training, with the seeds --seed, --seed + 1, ...", 2, 5, 1000);
  add_edition_count(app, o, "--steps", o.steps, "Steps of Adam per run", quick_steps, 600, 100000000);
  add_edition_count(app, o, "--batch", o.batch, "Sequences per step, each used once", 16, 32, 1 << 24);
  add_edition_count(app, o, "--tested", o.tested, "Sequences per test", 256, 1024, 1000000);
  head_options(app, "Training");
  add_device_options(app, o.simulation);
  add_record_options(app, o.simulation, false);
  add_run_output_options(app, o.output);
}

}  // namespace

void add_quantifier_options(CLI::App& app, SequenceOptions& o) {
  add_words(app, "--quantifiers", o.quantifiers, "Questions that are learned", {"every", "some"});
  add_words(app, "--numbers", o.numbers, "Laws of the numbers", {"one-exception", "independent"});
  show_no_default(add_counts(app, "--lengths", o.lengths, "Lengths of the rows that are tested, 4 or more", 4, 100000));
  add_sequence_options(app, o);
}

void add_recall_options(CLI::App& app, SequenceOptions& o) {
  o.usual_maps = {"softmax", "ssmax"};
  o.usual_lengths = {64, 160, 640};
  show_no_default(add_counts(app, "--lengths", o.lengths, "Lengths of the sequences that are tested", 2, 100000));
  add_sequence_options(app, o, 32, 300);
}

void add_affine_options(CLI::App& app, SequenceOptions& o) {
  add_words(app, "--models", o.models, "What is trained", {"attention", "full", "attention-norms", "wide"});
  add_sequence_options(app, o);
}

void complete(const CLI::App&, SequenceOptions& o, UnusedOptions&) {
  or_usual(o.maps, o.full ? map_names() : o.usual_maps);
  using Names = std::vector<std::string>;
  or_usual(o.quantifiers, o.full ? Names{"every", "some"} : Names{"every"});
  or_usual(o.numbers, {"one-exception", "independent"});
  or_usual(o.lengths, o.usual_lengths);
  or_usual(o.lengths, o.full ? std::vector<std::int64_t>{10, 40, 100, 200} : std::vector<std::int64_t>{10, 40, 200});
  or_usual(o.models, o.full ? Names{"attention", "full", "attention-norms", "wide"} : Names{"attention", "full"});
  for (const std::int64_t length : o.lengths) {
    if (std::count(o.lengths.begin(), o.lengths.end(), length) > 1) {
      throw_input_error("--lengths", "is named twice", std::to_string(length), "different lengths");
    }
  }
  if (o.width % 4 != 0) {
    throw_input_error("--width", "is no multiple of the heads", std::to_string(o.width), "a multiple of 4");
  }
}

void state_used(const SequenceOptions& o, nlohmann::ordered_json& arguments) {
  arguments["maps"] = o.maps;
  if (arguments.contains("models")) arguments["models"] = o.models;
  if (arguments.contains("quantifiers")) {
    arguments["quantifiers"] = o.quantifiers;
    arguments["numbers"] = o.numbers;
  }
  if (arguments.contains("lengths")) arguments["lengths"] = o.lengths;
}

std::string described(const SequenceOptions& o) {
  return "trained transformers of " + (o.layers == 1 ? "one layer" : std::to_string(o.layers) + " layers") +
         ", width " + std::to_string(o.width) + ", 4 heads, after " + std::to_string(o.steps) + " steps";
}

SequenceRun run_of(const SequenceOptions& o, const std::string& map, std::int64_t seed) {
  return {.map = map,
          .width = o.width,
          .layers = o.layers,
          .steps = o.steps,
          .batch = o.batch,
          .seed = o.simulation.seed + static_cast<std::uint64_t>(seed)};
}

}  // namespace incontext::examples::train
