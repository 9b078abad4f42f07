#pragma once

#include <string>
#include <vector>

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
};

std::vector<Table> figure_tables(ClassifyRun& run);

std::vector<Table> metrics_figure(ClassifyRun& run);
std::vector<Table> map_figure(ClassifyRun& run);
std::vector<Table> rules_figure(ClassifyRun& run);
std::vector<Table> optima_figure(ClassifyRun& run);
std::vector<Table> neighborhoods_figure(ClassifyRun& run);
std::vector<Table> trend_figure(ClassifyRun& run);
std::vector<Table> elimination_figure(ClassifyRun& run);

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

/// The column of a parameter, whose numbers are printed with as few digits as they need.
Column parameter_column(const std::string& name, const std::string& heading);

/// The linear rule and softmax on two classes, beside their closed forms. Whatever a figure shows, this table tests the
/// simulations behind it.
Table two_class_table(ClassifyRun& run, const std::vector<std::int64_t>& dimensions, std::int64_t context_length);

/// The note on which rows have a theory and which have an approximation.
extern const char* const closed_form_note;

}  // namespace incontext::examples::classify
