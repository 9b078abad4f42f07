#include "examples/train/classification.hpp"

#include <utility>

namespace incontext::examples::train {

namespace {

/// The maps that were asked for, each with its task.
std::vector<ContextRun> runs_of(const ClassificationOptions& o) {
  std::vector<ContextRun> runs;
  for (const ContextMap map : {ContextMap::linear, ContextMap::softmax}) {
    if (o.maps == MapChoice::linear && map != ContextMap::linear) continue;
    if (o.maps == MapChoice::softmax && map != ContextMap::softmax) continue;
    ContextRun run = o.run;
    run.map = map;
    const std::int64_t own = map == ContextMap::linear ? 5 : 3;
    run.task = {o.dimension > 0 ? o.dimension : own, o.classes, o.context_length};
    runs.push_back(run);
  }
  return runs;
}

}  // namespace

std::vector<Table> classification_tables(ClassificationParts& parts) {
  const ClassificationFigure figure = parts.options.figure;
  if (figure == ClassificationFigure::models || figure == ClassificationFigure::widths) return {models_table(parts)};
  if (figure == ClassificationFigure::strategies) return {strategies_table(parts)};
  if (figure == ClassificationFigure::learning_rates) return {learning_rates_table(parts)};
  if (figure == ClassificationFigure::valley) return valley_tables(parts);
  if (figure == ClassificationFigure::transience) return transience_tables(parts);
  std::vector<Table> tables;
  for (const ContextRun& run : runs_of(parts.options)) {
    const bool ends = figure == ClassificationFigure::ends;
    for (Table& table : ends ? ends_tables(parts, run) : curve_tables(parts, run)) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace incontext::examples::train
