#pragma once

#include <incontext/regression/attention.hpp>
#include <incontext/regression/inverse_temperature_parabola.hpp>
#include <incontext/regression/linear_task.hpp>
#include <incontext/statistics/theory.hpp>

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/judgment.hpp"
#include "examples/temperature/options.hpp"
#include "examples/temperature/simulator.hpp"

/// A pretrained attention that meets a task law, and the rows of a table about its error there.
namespace incontext::examples::temperature {

using Attention = regression::Attention<double>;
using LinearTask = regression::LinearTask<double>;
using Parabola = regression::InverseTemperatureParabola<double>;
using Matrix = regression::Matrix<double>;
using Vector = regression::Vector<double>;

/// The state that the parts of a run share; `arguments` are the report's, for values that the options do not set.
struct Run {
  const TemperatureOptions& options;
  Simulator& simulator;
  Judgment& judgment;
  nlohmann::ordered_json& arguments;
};

struct Situation {
  Attention attention;
  LinearTask task;
  std::int64_t context_length;
};

/// A covariance from a file, for the option that names it.
Matrix read_covariance(const std::string& option, const std::string& file, std::optional<Eigen::Index> size);

/// The law that the attention was pretrained on: centered inputs with covariance I or from a file, tasks with I / d or
/// from a file. A file sets the dimension where --dimension does not.
LinearTask training_task(const TemperatureOptions& o, bool dimension_given);

/// The mean vector of that length along (1, ..., 1).
Vector mean_of_length(double length, std::int64_t dimension);

/// The law at test time: the training law with every shift the options ask for.
LinearTask shifted(const LinearTask& training, const TemperatureOptions& o);

/// The error in the theory column: exact for approximate softmax and linear attention. For softmax it is the error of
/// approximate softmax, which agrees with it to first order.
Parabola error_beside(const Situation& at, const Reading& reading);

struct NamedTemperature {
  std::string name;
  double temperature;
};

/// A grid of temperatures with 1 and the optimal one in it, in order, each with its name. The optimal temperature is
/// infinity if no positive temperature is optimal.
std::vector<NamedTemperature> named_temperatures(std::vector<double> grid, double optimal);

/// The finite temperatures, at which there is something to simulate.
std::vector<double> values_of(const std::vector<NamedTemperature>& named);

/// The note for an optimal temperature that does not exist.
std::string no_optimum_reason(const Parabola& error);

/// A parabola's value and a bound on its rounding error.
statistics::Theory theory_at(const Parabola& error, double temperature);

/// The columns: `prefix`, then the predictor, its temperature, and the comparison.
Table comparison_table(std::string title, std::vector<Column> prefix);

void add_row(Table& table, std::vector<Cell> prefix, std::vector<Cell> comparison);

/// The shifts and conventions of a run that are not the default, for a title: ", tested with ...".
std::string unusual_in_words(const TemperatureOptions& o);

/// One row per temperature, all simulated on the same draws. For softmax the theory of approximate softmax is printed
/// beside it, and is not used to judge it.
void add_attention_rows(Table& table, Run& run, const std::vector<Cell>& prefix, const Situation& at,
                        const std::vector<NamedTemperature>& named, const Reading& reading);

/// The ridge regression that knows the law, the benchmark; its theory is a deterministic equivalent, which is not
/// judged.
void add_bayes_row(Table& table, Run& run, const std::vector<Cell>& prefix, const LinearTask& task,
                   std::int64_t context_length);

inline constexpr const char* bayes_note =
    "Bayes ridge: approximate is a deterministic equivalent, off by order 1/d (6% where l = d = 20); it is not judged.";

inline constexpr const char* common_draws_note =
    "Rows that differ in temperature alone share their draws, so their z are correlated.";

/// A number with 5 significant digits, for a sentence.
std::string in_words(double value);

std::string percent(double share);

/// The sentence on how much the optimal temperature reduces the error.
std::string gain_note(const std::string& law, const Parabola& error);

}  // namespace incontext::examples::temperature
