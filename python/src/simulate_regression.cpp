#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "incontext/core/query_token.hpp"
#include "incontext/regression/attention.hpp"
#include "incontext/regression/error_gradient.hpp"
#include "incontext/regression/linear_task.hpp"
#include "incontext/simulate/baselines/baseline_errors.hpp"
#include "incontext/simulate/regression/reduced_softmax_error.hpp"
#include "incontext/simulate/regression/regression_error.hpp"
#include "incontext/simulate/regression/regression_error_on_rows.hpp"
#include "incontext/simulate/regression/ridge_risk.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "scoring_maps.hpp"
#include "simulate_runs.hpp"

namespace incontext::python {

/// The labels of rows: an array, or the law from which they are drawn.
struct Labels {
  simulate::RowLabels law;
};

}  // namespace incontext::python

template <>
struct nanobind::detail::type_caster<incontext::python::Labels> {
  NB_TYPE_CASTER(incontext::python::Labels, const_name("numpy.typing.ArrayLike | incontext.simulate.RowLabels"))
  bool from_python(handle source, std::uint8_t, cleanup_list*) {
    if (try_cast<incontext::simulate::RowLabels>(source, value.law)) return true;
    return try_cast<Eigen::VectorXd>(incontext::python::as_float64(source), value.law.labels);
  }
  static handle from_cpp(const incontext::python::Labels& from, rv_policy, cleanup_list*) {
    return cast(from.law).release();
  }
};

namespace incontext::python {

namespace {

using namespace nb::literals;
using Task = regression::LinearTask<double>;
using Attention = regression::Attention<double>;

using Maps = std::vector<nb::object>;

/// One map, of which a simulation is one estimate.
struct OneMap {
  static constexpr bool is_one = true;
  static constexpr auto type = nb::detail::const_name("incontext.scoring.Map");
  static std::optional<Maps> read(nb::handle given) {
    if (!nb::hasattr(given, "_fields")) return {};
    return Maps{nb::borrow(given)};
  }
  static statistics::Estimate result(const simulate::Simulation& simulation) { return simulation.estimates.at(0); }
  Maps maps;
};

/// Maps of one kind, which are simulated on common draws.
struct SeveralMaps {
  static constexpr bool is_one = false;
  static constexpr auto type = nb::detail::const_name("collections.abc.Iterable[incontext.scoring.Map]");
  static std::optional<Maps> read(nb::handle given) {
    if (nb::hasattr(given, "_fields") || !nb::hasattr(given, "__iter__")) return {};
    Maps found;
    for (nb::handle map : given) found.push_back(nb::borrow(map));
    return found;
  }
  static simulate::Simulation result(const simulate::Simulation& simulation) { return simulation; }
  Maps maps;
};

/// The maps that the regression layer simulates token by token, as compiled here.
template <class Map>
concept Streamed =
    std::same_as<Map, scoring::Softmax<double>> || std::same_as<Map, scoring::ApproximateSoftmax<double>> ||
    std::same_as<Map, scoring::LinearAttention<double>>;

std::vector<maps::AnyMap<double>> any_maps(const Maps& given) {
  std::vector<maps::AnyMap<double>> list;
  for (const nb::object& map : given) list.push_back(any_map<double>(map));
  return list;
}

/// Calls `function` with the list of C++ maps, of the kinds that the regression layer simulates token by token.
template <class Function>
auto with_streamed_maps(const char* where, const Maps& given, const Function& function) {
  return maps::visit_list(where, any_maps(given),
                          [&]<Streamed Map>(const std::vector<Map>& kind) { return function(kind); });
}

bool is_double(const std::string& dtype) {
  if (dtype != "float32" && dtype != "float64") {
    throw_invalid_argument("simulate", "dtype is unknown", dtype, "float32 or float64");
  }
  return dtype == "float64";
}

simulate::Simulation regression_error(const Attention& attention, const Task& task, std::int64_t length,
                                      const Maps& maps, const regression::ErrorConvention& convention,
                                      simulate::Estimator estimator, const std::string& dtype,
                                      const nb::kwargs& options) {
  const bool wide = is_double(dtype);
  return with_streamed_maps("simulate::regression_error", maps, [&](const auto& kind) {
    return run_simulation(options, [&](const simulate::Options& o) {
      return wide ? simulate::regression_error<double>(attention, task, length, kind, o, convention, estimator)
                  : simulate::regression_error<float>(attention, task, length, kind, o, convention, estimator);
    });
  });
}

simulate::Simulation reduced_softmax_error(const Attention& attention, const Task& task, std::int64_t length,
                                           const Maps& maps, const nb::kwargs& options) {
  const auto simulated = [&]<scoring::SoftmaxLike Map>(const std::vector<Map>& kind) {
    return run_simulation(options, [&](const simulate::Options& o) {
      return simulate::reduced_softmax_error<float>(attention, task, length, kind, o);
    });
  };
  return maps::visit_list("simulate::reduced_softmax_error", any_maps(maps), simulated);
}

}  // namespace

}  // namespace incontext::python

namespace nanobind::detail {

template <class Given>
  requires requires { Given::is_one; }
struct type_caster<Given> {
  NB_TYPE_CASTER(Given, Given::type)
  bool from_python(handle source, std::uint8_t, cleanup_list*) {
    auto maps = Given::read(source);
    if (maps) value.maps = std::move(*maps);
    return maps.has_value();
  }
};

}  // namespace nanobind::detail

namespace incontext::python {

namespace {

/// The simulations of maps, of which each has one overload for one map and one for several.
template <class Given>
void bind_simulations_of_maps(Room& room) {
  nb::module_& m = room.module();
  const auto docs = [&](const char* name) { return Given::is_one ? with_options(room.docs(name)) : ""; };
  m.def(
      "regression_error",
      [](const Attention& attention, const Task& task, std::int64_t length, const Given& maps, QueryToken query,
         regression::Offset offset, simulate::Estimator estimator, const std::string& dtype,
         const nb::kwargs& options) {
        return Given::result(
            regression_error(attention, task, length, maps.maps, {query, offset}, estimator, dtype, options));
      },
      "attention"_a, "task"_a, "context_length"_a, "maps"_a,
      "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig("incontext.regression.Offset.kept") = 0,
      "estimator"_a.sig("incontext.simulate.Estimator.literal") = 0, "dtype"_a = "float32", "options"_a,
      docs("regression_error"));
  m.def(
      "regression_error_on_rows",
      [](const Attention& attention, const DenseMatrix& rows, const Labels& labels, std::int64_t length,
         const Given& maps, QueryToken query, regression::Offset offset, const nb::kwargs& options) {
        return Given::result(with_streamed_maps("simulate::regression_error_on_rows", maps.maps, [&](const auto& kind) {
          return run_simulation(options, [&](const simulate::Options& o) {
            return simulate::regression_error_on_rows<float>(attention, rows, labels.law, length, kind, o,
                                                             {query, offset});
          });
        }));
      },
      "attention"_a, "rows"_a, "labels"_a, "context_length"_a, "maps"_a,
      "query"_a.sig("incontext.regression.QueryToken.excluded") = 0,
      "offset"_a.sig("incontext.regression.Offset.kept") = 0, "options"_a, docs("regression_error_on_rows"));
  m.def(
      "reduced_softmax_error",
      [](const Attention& attention, const Task& task, std::int64_t length, const Given& maps,
         const nb::kwargs& options) {
        return Given::result(reduced_softmax_error(attention, task, length, maps.maps, options));
      },
      "attention"_a, "task"_a, "context_length"_a, "maps"_a, "options"_a, docs("reduced_softmax_error"));
}

}  // namespace

void bind_simulate_regression(Room& room) {
  nb::module_& m = room.module();
  bind_simulations_of_maps<OneMap>(room);
  bind_simulations_of_maps<SeveralMaps>(room);
  const auto bind_ridge = [&](const char* name, auto simulate_risk) {
    m.def(
        name,
        [simulate_risk](const Task& task, std::int64_t length, const nb::kwargs& options) {
          return run_simulation(options, [&](const simulate::Options& o) { return simulate_risk(task, length, o); });
        },
        "task"_a, "context_length"_a, "options"_a, with_options(room.docs(name)));
  };
  bind_ridge("posterior_risk", &simulate::posterior_risk);
  bind_ridge("centered_ridge_risk", &simulate::centered_ridge_risk);
  const auto bind_ridge_on_rows = [&](const char* name, auto simulate_risk) {
    m.def(
        name,
        [simulate_risk](const DenseMatrix& rows, const DenseMatrix& task_covariance, double noise_variance,
                        std::int64_t length, const nb::kwargs& options) {
          return run_simulation(options, [&](const simulate::Options& o) {
            return simulate_risk(rows, task_covariance, noise_variance, length, o);
          });
        },
        "rows"_a, "task_covariance"_a, "noise_variance"_a, "context_length"_a, "options"_a,
        with_options(room.docs(name)));
  };
  bind_ridge_on_rows("posterior_risk_on_rows", &simulate::posterior_risk_on_rows);
  bind_ridge_on_rows("centered_ridge_risk_on_rows", &simulate::centered_ridge_risk_on_rows);
  m.def(
      "baseline_errors",
      [](const simulate::BaselineSetting& setting, const nb::kwargs& options) {
        return run_simulation(options,
                              [&](const simulate::Options& o) { return simulate::baseline_errors(setting, o); });
      },
      "setting"_a, "options"_a, with_options(room.docs("baseline_errors")));
}

}  // namespace incontext::python
