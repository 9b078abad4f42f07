#include "examples/classify/contexts.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cstddef>

#include "examples/support/npy.hpp"

namespace incontext::examples::classify {

std::string labels_file(const std::string& inputs_file) {
  const std::string end = ".npy";
  const bool has_end =
      inputs_file.size() > end.size() && inputs_file.compare(inputs_file.size() - end.size(), end.size(), end) == 0;
  return (has_end ? inputs_file.substr(0, inputs_file.size() - end.size()) : inputs_file) + "-labels.npy";
}

void require_writable_files(const ClassifyOptions& o) {
  if (o.contexts_file.empty()) {
    require_outputs(o.output);
    return;
  }
  constexpr double most_numbers = 2e8;
  const SphereTask task = o.task();
  const double numbers = static_cast<double>(o.contexts) * static_cast<double>(task.context_length + 1) *
                         static_cast<double>(task.dimension + 1);
  if (numbers > most_numbers) {
    throw_input_error("--contexts-count", "makes files too large", o.contexts,
                      "contexts x (n + 1) x (d + 1) at most 2e8");
  }
  const NamedFile inputs{"--contexts", o.contexts_file};
  require_file(inputs);
  require_outputs(o.output, {inputs, {"--contexts (labels)", labels_file(o.contexts_file)}});
}

void write_contexts(const ClassifyOptions& o, const Simulator& simulator) {
  const SphereTask task = o.task();
  const Eigen::Index each = task.context_length + 1, d = task.dimension;
  Eigen::MatrixXd inputs(o.contexts * each, d), labels(o.contexts, each);
  for (Eigen::Index i = 0; i < o.contexts; ++i) {
    const SphereContext<double> drawn = simulator.context(task, static_cast<std::uint64_t>(i));
    for (Eigen::Index j = 0; j < each; ++j) {
      const bool is_query = j + 1 == each;
      const double* point = is_query ? drawn.query.data() : drawn.inputs.data() + j * d;
      inputs.row(i * each + j) = Eigen::Map<const Eigen::RowVectorXd>(point, d);
      labels(i, j) = static_cast<double>(is_query ? drawn.query_label : drawn.labels[static_cast<std::size_t>(j)]);
    }
  }
  const std::string input_bytes = npy_bytes(inputs), label_bytes = npy_bytes(labels);
  write_files({{o.contexts_file, input_bytes}, {labels_file(o.contexts_file), label_bytes}}, "--contexts");
}

}  // namespace incontext::examples::classify
