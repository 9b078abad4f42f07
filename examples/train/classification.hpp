#pragma once

#include <optional>
#include <vector>

#include "examples/support/table.hpp"
#include "examples/train/classification_options.hpp"

/// Trained attention beside the rules of in-context gradient descent (arXiv 2510.10425).
namespace incontext::examples::train {

struct ClassificationParts : TaskParts<ClassificationOptions, Simulator> {
  std::optional<ContextHead> trained = {};  ///< by --figure curves
};

std::vector<Table> classification_tables(ClassificationParts& parts);

/// Writes the files of --weights, if there are to be any.
void write_more(const ClassificationParts& parts);

/// Where every seed's training ends, beside the best rule on the same contexts.
std::vector<Table> ends_tables(ClassificationParts& parts, const ContextRun& usual);

/// The way of one run: the measures of Figures 4 and 5 after ever more steps, and its end.
std::vector<Table> curve_tables(ClassificationParts& parts, ContextRun run);

/// Figures 7 and 16: four models over context lengths and dimensions, beside the best parameters of their rules.
Table models_table(ClassificationParts& parts);

/// Figure 17: how many seeds select, eliminate, or do neither, by task, initial scale and learning rate.
Table strategies_table(ClassificationParts& parts);

/// Figure 18: where training ends and when it arrives, by learning rate.
Table learning_rates_table(ClassificationParts& parts);

/// The loss along the valley of kappa and gain, and the trained layers in it.
std::vector<Table> valley_tables(ClassificationParts& parts);

/// Figures 10 and 11: learning in context that is lost again while shared prototypes are learned by heart.
std::vector<Table> transience_tables(ClassificationParts& parts);

}  // namespace incontext::examples::train
