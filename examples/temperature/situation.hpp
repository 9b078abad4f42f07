#pragma once

#include <incontext/regression/attention.hpp>
#include <incontext/regression/inverse_temperature_parabola.hpp>
#include <incontext/regression/linear_task.hpp>
#include <incontext/statistics/agreement.hpp>
#include <incontext/statistics/estimate.hpp>

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "examples/support/controls.hpp"
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
  Controls& controls;
  nlohmann::ordered_json& arguments;
};

struct Situation {
  Attention attention;
  LinearTask task;
  std::int64_t context_length;
};

/// The error the theory column shows, and another one beside it.
struct ErrorTheory {
  std::function<statistics::Theory(double temperature)> exact = {};  ///< empty where no exact law is known
  std::function<double(double temperature)> beside = {};  ///< leading order; for softmax, approximate softmax
  double optimal = NAN;            ///< of exact, else of beside; infinity where none is, NaN where neither is known
  double approximate_optimal = 0;  ///< of approximate softmax, for softmax alone
  double limit = 0;                ///< what the error tends to as the temperature grows
};

/// Approximate softmax and linear attention: the exact parabola. Softmax: exact, unless the query is among the keys and
/// the law is not one of those for which that is known.
ErrorTheory theory_of(const Situation& at, const Reading& reading);

/// Of two parabolas, the second beside the first.
ErrorTheory parabola_theory(const Parabola& exact, const Parabola& beside);

/// Of softmax with this error, and another one beside it; the optimum is looked for about that of the approximation,
/// and `limit` is the error without scores.
ErrorTheory softmax_theory(std::function<statistics::Theory(double)> exact, std::function<double(double)> beside,
                           const Parabola& approximate, double limit);

/// The optimal temperature of softmax, infinity where none is.
double softmax_optimal_temperature(const Situation& at);

struct NamedTemperature {
  std::string name;
  double temperature;
};

/// A grid with 1 and the optimal temperatures in it, in order, each named for what it is. The optimal one is infinity
/// where no positive temperature is.
std::vector<NamedTemperature> named_temperatures(std::vector<double> grid, const ErrorTheory& theory);

/// The finite temperatures, at which there is something to simulate.
std::vector<double> values_of(const std::vector<NamedTemperature>& named);

/// The note for an optimal temperature that does not exist.
std::string no_optimum_reason(double limit);

/// A parabola's value and a bound on its rounding error.
statistics::Theory theory_at(const Parabola& error, double temperature);

/// `prefix` columns, then what predicts, at which temperature, the comparison, and the theory beside it with its z.
Table comparison_table(std::string title, std::vector<Column> prefix, const Reading& reading);

void add_row(Table& table, std::vector<Cell> prefix, std::vector<Cell> comparison);

/// In how many rows the simulation rejects the theory beside the exact one, as a negative control.
std::string rejections_note(const Table& table, const Reading& reading);

/// The shifts and conventions of a run that are not the usual ones, for a title: ", tested with ...".
std::string unusual_in_words(const TemperatureOptions& o);

/// The scoring in words.
std::string scoring_in_words(ScoringChoice scoring);

/// One row a temperature, all simulated on the same draws. Returns the estimates of the temperatures that exist.
Estimates add_attention_rows(Table& table, Run& run, const std::vector<Cell>& prefix, const Situation& at,
                             const ErrorTheory& theory, const std::vector<NamedTemperature>& named,
                             const Reading& reading);

/// What a context allows, simulated; without noise neither has trials.
struct References {
  statistics::Estimate ridge, posterior;
};

inline constexpr const char* ridge_name = "ridge (11)";
inline constexpr const char* best_layer_name = "best layer";

/// What attention is to be compared with: the ridge (11) on the centered context, which the paper calls Bayes-optimal;
/// the posterior mean, below which no predictor errs; and the answer 0. Isotropic tasks with centered inputs are judged
/// by the exact risk, others stand beside its limit of many dimensions, where that is known; the
/// exact risk stands alone where it is not simulated. Without noise the first two have no row. The layer that errs
/// least on this law is computed alone, for approximate softmax without the offset and without the query among the
/// keys, and laws without means.
References add_reference_rows(Table& table, Run& run, const std::vector<Cell>& prefix, const LinearTask& task,
                              std::int64_t context_length, const Reading& reading, bool simulates = true);

/// What those rows are; the best layer only where the table has it.
std::string references_note(const Table& table);

inline constexpr const char* estimator_note =
    "Each trial draws the sufficient statistics of a context and averages over its labels. --estimator literal runs "
    "the model by its definition instead, as an independent check.";

inline constexpr const char* common_draws_note =
    "Rows that differ in temperature alone share their draws, so their z are correlated.";

/// A number with 5 significant digits, for a sentence.
std::string in_words(double value);

std::string percent(double share);

/// What the optimal temperature is worth.
std::string gain_note(const std::string& law, const ErrorTheory& error);

}  // namespace incontext::examples::temperature
