#include <cstdint>
#include <string>
#include <vector>

#include "incontext/simulate/bayes_ridge.hpp"
#include "incontext/simulate/reduced_softmax.hpp"
#include "incontext/simulate/regression.hpp"
#include "incontext/simulate/regression_on_rows.hpp"
#include "regression_records.hpp"
#include "rooms.hpp"
#include "simulate_runs.hpp"

INCONTEXT_CHOICE(incontext::simulate::Estimator, "simulate", "Estimator")
INCONTEXT_RECORD(incontext::simulate::RowLabels, "simulate", "RowLabels", task_mean, task_covariance, noise_variance,
                 labels)

namespace incontext::python {

namespace {

using namespace nb::literals;
using Task = regression::LinearTask<double>;
using Attention = regression::Attention<double>;

/// A list of maps of one kind, which are simulated on common draws, or one map.
struct Maps {
  std::vector<nb::object> list;
  bool is_one;
};

Maps maps_of(const nb::object& maps) {
  if (nb::hasattr(maps, "_fields")) return {{maps}, true};
  Maps found{{}, false};
  for (nb::handle map : maps) found.list.push_back(nb::borrow(map));
  return found;
}

bool all_are(const Maps& maps, const char* path) {
  const nb::object type = python_class(path);
  for (const nb::object& map : maps.list) {
    if (!nb::isinstance(map, type)) return false;
  }
  return !maps.list.empty();
}

double field(nb::handle map, const char* name) { return nb::cast<double>(map.attr(name)); }

template <class Map, class Make>
std::vector<Map> made(const Maps& maps, const Make& make) {
  std::vector<Map> list;
  for (const nb::object& map : maps.list) list.push_back(make(map));
  return list;
}

std::vector<scoring::Softmax<double>> softmax_list(const Maps& maps) {
  return made<scoring::Softmax<double>>(maps,
                                        [](nb::handle m) { return scoring::Softmax<double>{field(m, "temperature")}; });
}

/// Calls `function` with the list of C++ maps, of the kinds that the regression layer simulates token by token.
template <class Function>
auto with_streamed_maps(const Maps& maps, const Function& function) {
  using Approximate = scoring::ApproximateSoftmax<double>;
  using Linear = scoring::LinearAttention<double>;
  if (all_are(maps, "scoring.Softmax")) return function(softmax_list(maps));
  if (all_are(maps, "scoring.ApproximateSoftmax")) {
    return function(made<Approximate>(maps, [](nb::handle m) { return Approximate{field(m, "temperature")}; }));
  }
  if (all_are(maps, "scoring.LinearAttention")) {
    return function(made<Linear>(maps, [](nb::handle m) {
      return Linear{field(m, "temperature"),
                    static_cast<scoring::LinearNormalization>(nb::cast<int>(m.attr("normalization")))};
    }));
  }
  throw nb::type_error(
      "incontext.simulate: the maps must be of one kind: Softmax, ApproximateSoftmax or LinearAttention");
}

/// One estimate for one map, a simulation for a list of them.
nb::object result_for(const Maps& maps, const simulate::Simulation& simulation) {
  return maps.is_one ? nb::cast(simulation.estimates.at(0)) : nb::cast(simulation);
}

bool is_double(const std::string& dtype) {
  if (dtype != "float32" && dtype != "float64") {
    throw_invalid_argument("simulate", "dtype is unknown", dtype, "float32 or float64");
  }
  return dtype == "float64";
}

}  // namespace

void bind_simulate_regression(Room& room) {
  nb::module_& m = room.module();
  m.def(
      "regression_error",
      [](const Attention& attention, const Task& task, std::int64_t length, const nb::object& maps, QueryToken query,
         regression::Offset offset, simulate::Estimator estimator, const std::string& dtype,
         const nb::kwargs& options) {
        const Maps list = maps_of(maps);
        const bool wide = is_double(dtype);
        return result_for(list, with_streamed_maps(list, [&](const auto& streamed) {
                            return run_simulation(options, [&](const simulate::Options& o) {
                              return wide ? simulate::regression_error<double>(attention, task, length, streamed, o,
                                                                               {query, offset}, estimator)
                                          : simulate::regression_error<float>(attention, task, length, streamed, o,
                                                                              {query, offset}, estimator);
                            });
                          }));
      },
      "attention"_a, "task"_a, "context_length"_a, "maps"_a,
      "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig("incontext.regression.Offset.kept") = 0,
      "estimator"_a.sig("incontext.simulate.Estimator.literal") = 0, "dtype"_a = "float32", "options"_a,
      room.docs("regression_error"));
  m.def(
      "regression_error_on_rows",
      [](const Attention& attention, const DenseMatrix& rows, const simulate::RowLabels& labels, std::int64_t length,
         const nb::object& maps, QueryToken query, regression::Offset offset, const nb::kwargs& options) {
        const Maps list = maps_of(maps);
        return result_for(list, with_streamed_maps(list, [&](const auto& streamed) {
                            return run_simulation(options, [&](const simulate::Options& o) {
                              return simulate::regression_error_on_rows<float>(attention, rows, labels, length,
                                                                               streamed, o, {query, offset});
                            });
                          }));
      },
      "attention"_a, "rows"_a, "labels"_a, "context_length"_a, "maps"_a,
      "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig("incontext.regression.Offset.kept") = 0, "options"_a, room.docs("regression_error_on_rows"));
  m.def(
      "reduced_softmax_error",
      [](const Attention& attention, const Task& task, std::int64_t length, const nb::object& maps,
         const nb::kwargs& options) {
        const Maps list = maps_of(maps);
        const auto simulated = [&](const auto& kind) {
          return run_simulation(options, [&](const simulate::Options& o) {
            return simulate::reduced_softmax_error<float>(attention, task, length, kind, o);
          });
        };
        if (all_are(list, "scoring.Softmax")) return result_for(list, simulated(softmax_list(list)));
        if (all_are(list, "scoring.SSMax")) {
          using Map = scoring::SSMax<double>;
          return result_for(list, simulated(made<Map>(list, [](nb::handle map) {
                              return Map{field(map, "scale"), field(map, "bias")};
                            })));
        }
        if (all_are(list, "scoring.SSA")) {
          using Map = scoring::SSA<double>;
          return result_for(list, simulated(made<Map>(list, [](nb::handle map) {
                              return Map{field(map, "base"), field(map, "exponent"), field(map, "temperature")};
                            })));
        }
        throw nb::type_error("incontext.simulate: the maps must be of one kind: Softmax, SSMax or SSA");
      },
      "attention"_a, "task"_a, "context_length"_a, "maps"_a, "options"_a, room.docs("reduced_softmax_error"));
  m.def(
      "bayes_ridge_risk",
      [](const Task& task, std::int64_t length, const nb::kwargs& options) {
        return run_simulation(options,
                              [&](const simulate::Options& o) { return simulate::bayes_ridge_risk(task, length, o); });
      },
      "task"_a, "context_length"_a, "options"_a, room.docs("bayes_ridge_risk"));
  m.def(
      "bayes_ridge_risk_on_rows",
      [](const DenseMatrix& rows, const DenseMatrix& task_covariance, double noise_variance, std::int64_t length,
         const nb::kwargs& options) {
        return run_simulation(options, [&](const simulate::Options& o) {
          return simulate::bayes_ridge_risk_on_rows(rows, task_covariance, noise_variance, length, o);
        });
      },
      "rows"_a, "task_covariance"_a, "noise_variance"_a, "context_length"_a, "options"_a,
      room.docs("bayes_ridge_risk_on_rows"));
}

}  // namespace incontext::python
