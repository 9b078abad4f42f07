#include "examples/classify/contexts.hpp"

#include <cstdint>
#include <vector>

#include "examples/support/npy.hpp"

namespace incontext::examples::classify {

std::string labels_file(const std::string& inputs_file) {
  const std::string end = ".npy";
  const bool has_end =
      inputs_file.size() > end.size() && inputs_file.compare(inputs_file.size() - end.size(), end.size(), end) == 0;
  return (has_end ? inputs_file.substr(0, inputs_file.size() - end.size()) : inputs_file) + "-labels.npy";
}

void require_possible_files(const ClassifyOptions& o) {
  if (o.contexts_file.empty()) return;
  constexpr double most_numbers = 2e8;
  const SphereTask task = o.task();
  const double numbers = static_cast<double>(o.contexts) * static_cast<double>(task.context_length + 1) *
                         static_cast<double>(task.dimension + 1);
  if (numbers > most_numbers) {
    throw_input_error("--contexts-count", "makes files too large", o.contexts,
                      "contexts x (n + 1) x (d + 1) at most 2e8");
  }
}

void write_contexts(const ClassifyOptions& o, const Simulator& simulator) {
  const SphereTask task = o.task();
  std::vector<double> inputs;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < o.contexts; ++i) {
    const SphereContext<double> drawn = simulator.context(task, static_cast<std::uint64_t>(i));
    inputs.insert(inputs.end(), drawn.inputs.begin(), drawn.inputs.end());
    inputs.insert(inputs.end(), drawn.query.begin(), drawn.query.end());
    labels.insert(labels.end(), drawn.labels.begin(), drawn.labels.end());
    labels.push_back(drawn.query_label);
  }
  const std::int64_t each = task.context_length + 1;
  const std::string input_bytes = npy_bytes(inputs, {o.contexts, each, task.dimension}),
                    label_bytes = npy_bytes(labels, {o.contexts, each});
  write_files({{o.contexts_file, input_bytes}, {labels_file(o.contexts_file), label_bytes}}, "--contexts");
}

}  // namespace incontext::examples::classify
