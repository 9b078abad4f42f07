#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "incontext/core/contracts.hpp"
#include "incontext/simulate/engine/rounding.hpp"
#include "incontext/simulate/engine/run.hpp"
#include "incontext/simulate/rows/score_rows_trial.hpp"
#include "incontext/simulate/rows/score_rows_types.hpp"
#include "incontext/statistics/estimate.hpp"

/// Checks of a law of scores, and the run of its trial on one system.
namespace incontext::simulate::detail {

inline void require_row(std::string_view where, const ScoreRow& row, const std::vector<double>& inverse_temperatures) {
  require_at_least(where, "competitors", row.competitors, std::int64_t{1});
  // Blocks of a stream are counted in 32 bits.
  if (row.competitors > 4000000000) {
    throw_invalid_argument(where, "competitors are too many", row.competitors, "at most 4e9");
  }
  const auto finite = [&](std::string_view name, double value) {
    if (!std::isfinite(value)) throw_domain_error(where, std::string(name) + " is not finite", value, "a number");
  };
  finite("location", row.location);
  finite("scale", row.scale);
  finite("needle", row.needle);
  finite("needle_stddev", row.needle_stddev);
  require_non_negative(where, "scale", row.scale);
  require_non_negative(where, "needle_stddev", row.needle_stddev);
  require_at_least(where, "inverse_temperatures.size()", inverse_temperatures.size(), std::size_t{1});
  for (const double beta : inverse_temperatures) {
    require_positive(where, "inverse_temperature", beta);
    finite("inverse_temperature", beta);
  }
}

/// Adds the rounding of the exponents: the relative error of a weight is eps times its score and the inverse
/// temperature, that of a logarithm is eps. The size of the scores is that of a needle or of the highest of 1e9 normal
/// scores, six standard deviations.
template <class T>
void add_exponent_rounding(ScoreRowSimulation& simulation, const ScoreRow& row,
                           const std::vector<double>& inverse_temperatures) {
  const double size = std::abs(row.location) + 6 * row.scale + std::abs(row.needle) + 6 * row.needle_stddev;
  for (std::size_t i = 0; i < simulation.run.estimates.size(); ++i) {
    statistics::Estimate& estimate = simulation.run.estimates[i];
    const double beta = inverse_temperatures[i / static_cast<std::size_t>(simulation.functionals)];
    const auto functional = static_cast<RowFunctional>(i % static_cast<std::size_t>(simulation.functionals));
    const bool is_log = functional == RowFunctional::log_partition || functional == RowFunctional::entropy;
    const double exponent = beta * size * (functional == RowFunctional::log_partition ? 1 : std::abs(estimate.mean));
    if (estimate.count > 0) estimate.rounding += eps_of<T> * (exponent + (is_log ? 4 : 0));
  }
}

/// Calls visit(System{}, trial) with a trial whose grid is in the memory of the system.
template <class T, class Visit>
auto with_row_trial(Device device, const ScoreRow& row, const std::vector<double>& inverse_temperatures, Visit visit) {
  constexpr auto where = "simulate::score_rows";
  std::vector<T> numbers;
  for (const double beta : inverse_temperatures) {
    require_holds<T>(where, "inverse_temperature", beta, beta);
    numbers.push_back(static_cast<T>(beta));
  }
  require_holds<T>(where, "location", row.location, row.location);
  require_holds<T>(where, "scale", row.scale, row.scale);
  require_holds<T>(where, "needle", row.needle, row.needle);
  require_holds<T>(where, "needle_stddev", row.needle_stddev, row.needle_stddev);
  return with_system(device, [&](auto system) {
    using System = decltype(system);
    const typename System::template Memory<T> grid(numbers.begin(), numbers.end());
    const ScoreRowTrial<T> trial{row.law,
                                 row.competitors,
                                 static_cast<T>(row.location),
                                 static_cast<T>(row.scale),
                                 row.needle_token,
                                 static_cast<T>(row.needle),
                                 static_cast<T>(row.needle_stddev),
                                 address(grid),
                                 static_cast<int>(numbers.size())};
    return visit(system, trial);
  });
}

}  // namespace incontext::simulate::detail
