#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "examples/support/table.hpp"
#include "examples/support/unused_options.hpp"
#include "examples/train/sequence_simulator.hpp"
#include "examples/train/task.hpp"

/// Transformers with several attention maps, trained on the tasks of arXiv 2508.14685 (affine functions, quantifiers)
/// and to recall values by their keys, and inverse temperatures trained to find needles (2501.19399).
namespace incontext::examples::train {

/// What the affine, the quantifier and the recall task train. Empty lists are the run's own.
struct SequenceOptions : TaskOptions {
  std::vector<std::string> maps = {};
  std::vector<std::string> models = {};       ///< affine alone
  std::vector<std::string> quantifiers = {};  ///< quantifier alone, as numbers
  std::vector<std::string> numbers = {};
  std::vector<std::int64_t> lengths = {};                    ///< of tests
  std::vector<std::int64_t> usual_lengths = {};              ///< if not those of quantifier
  std::vector<std::string> usual_maps = {"softmax", "ssa"};  ///< of the quick run
  std::int64_t layers = 1;
  std::int64_t width = 0;
  std::int64_t seeds = 0;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t tested = 0;  ///< sequences per test
};

void add_affine_options(CLI::App& app, SequenceOptions& o);
void add_quantifier_options(CLI::App& app, SequenceOptions& o);
void add_recall_options(CLI::App& app, SequenceOptions& o);

/// Fills in the run's values, and refuses widths that the heads do not divide.
void complete(const CLI::App& app, SequenceOptions& o, UnusedOptions& unused);

/// Writes the run's lists into the report's arguments.
void state_used(const SequenceOptions& o, nlohmann::ordered_json& arguments);

/// What the needle task trains.
struct NeedleOptions : TaskOptions {
  std::int64_t seeds = 0;
  std::int64_t steps = 0;
  std::int64_t batch = 0;
};

void add_options(CLI::App& app, NeedleOptions& o);

using SequenceParts = TaskParts<SequenceOptions, SequenceSimulator>;
using NeedleParts = TaskParts<NeedleOptions, SequenceSimulator>;

/// The note of tables that compare maps seed by seed.
inline constexpr const char* same_sequences_note =
    "Means over seeds. Maps with the same seed learn from the same sequences and are tested on the same sequences; "
    "other "
    "seeds have others.";

/// The title's words for the transformers that are trained.
std::string described(const SequenceOptions& o);

/// One more run of a map with a seed, of the run's size.
SequenceRun run_of(const SequenceOptions& o, const std::string& map, std::int64_t seed);

/// Errors by shift, boundary values beside those of the weights and of the clip model, and deviant inputs.
std::vector<Table> affine_tables(SequenceParts& parts);

/// Right answers by length and map, with binomial intervals, also where SSMax replaces softmax after or in training.
std::vector<Table> quantifier_tables(SequenceParts& parts);

/// Right answers by length and map of transformers that recall a value by its key, beside answers that need no key.
std::vector<Table> recall_tables(SequenceParts& parts);

/// The inverse temperature that is learned at every length, beside the population's optimum, and Scalable-Softmax's s.
std::vector<Table> needle_tables(NeedleParts& parts);

}  // namespace incontext::examples::train
