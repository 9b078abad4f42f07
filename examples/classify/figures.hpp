#pragma once

#include <string>
#include <vector>

#include "examples/classify/controls.hpp"
#include "examples/classify/optimum.hpp"
#include "examples/classify/options.hpp"
#include "examples/classify/simulator.hpp"
#include "examples/support/judgment.hpp"
#include "examples/support/table.hpp"

/// The figures of in-context classification: simulations, beside closed forms where there are any.
namespace incontext::examples::classify {

/// The state that the parts of a run share.
struct ClassifyRun {
  const ClassifyOptions& options;
  Simulator& simulator;
  Judgment& judgment;
  Controls& controls;
};

std::vector<Table> figure_tables(ClassifyRun& run);

std::vector<Table> metrics_figure(ClassifyRun& run);
std::vector<Table> laws_figure(ClassifyRun& run);
std::vector<Table> alignment_figure(ClassifyRun& run);
std::vector<Table> boundaries_figure(ClassifyRun& run);
std::vector<Table> lengths_figure(ClassifyRun& run);
std::vector<Table> variation_figure(ClassifyRun& run);
std::vector<Table> neighborhoods_figure(ClassifyRun& run);
std::vector<Table> optima_figure(ClassifyRun& run);
std::vector<Table> map_figure(ClassifyRun& run);
std::vector<Table> trend_figure(ClassifyRun& run);
std::vector<Table> elimination_figure(ClassifyRun& run);
std::vector<Table> onset_figure(ClassifyRun& run);

std::string in_words(double value, int digits = 4);
std::string in_words(const SphereTask& task);

/// Columns that name the subject of a row, followed by theory | simulation | +- error | z.
Table comparison_table(std::string title, std::vector<Column> columns);

/// A row of such a table. It is judged if there is a closed form whose error is known.
void add_comparison(Table& table, ClassifyRun& run, std::vector<Cell> cells, const SphereTask& task,
                    const Chosen& chosen, ClassificationMetric metric, const statistics::Estimate& estimate);

/// The mean and the error of an estimate, absent if the run was stopped earlier; CSV and JSON also have its number of
/// trials.
Cell mean_cell(const statistics::Estimate& estimate);
Cell error_cell(const statistics::Estimate& estimate);
Column trials_column();

/// The mean of numbers and its error.
statistics::Estimate estimate_of(const std::vector<double>& values);

/// A parameter's column: as short as its numbers get.
Column parameter_column(const std::string& name, const std::string& heading);

/// Attention over tokens, with the weights of each rule, on two classes beside exact margins: whatever a figure shows, the
/// model that it simulates is judged here, with near misses among the run's controls.
Table referee_table(ClassifyRun& run, const std::vector<std::int64_t>& dimensions);

/// What a figure simulates of a rule by sums of votes.
struct ByVotes {
  SphereTask task;
  Chosen rule;
  statistics::Estimate loss, accuracy, entropy;
};

/// The same by attention over tokens, with the weights of the rule, on contexts of its own. The last rule at a gain that
/// is a little wrong is among the run's controls.
Table attention_table(ClassifyRun& run, const std::vector<ByVotes>& all, Effort effort = Effort::usual);

/// Votes and partition functions of drawn contexts on the circle against what is exact given their prototypes and
/// queries, with near misses among the run's controls. The laws of attention take longer.
enum class CircleRows { votes, attention_too };
Table circle_table(ClassifyRun& run, double kappa, CircleRows rows);

/// The note on which rows have a theory and which have an approximation.
extern const char* const closed_form_note;

}  // namespace incontext::examples::classify
