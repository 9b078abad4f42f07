#include <cstdint>
#include <string>
#include <vector>

#include "core.hpp"
#include "describe.hpp"
#include "incontext/simulate/gradients/gradient_norms.hpp"
#include "incontext/simulate/rows/score_rows.hpp"
#include "rooms.hpp"
#include "simulate_runs.hpp"

namespace incontext::python {

void bind_simulate_classification(Room& room);
void bind_simulate_regression(Room& room);

namespace {

using namespace nb::literals;

std::size_t outputs_of(const simulate::Sample& sample) {
  return sample.trials == 0 ? 0 : sample.values.size() / static_cast<std::size_t>(sample.trials);
}

/// The values of all trials and their number, for a pickle.
using SampleState = std::tuple<Eigen::VectorXd, std::int64_t>;

SampleState state_of(const simulate::Sample& sample) {
  return {Eigen::Map<const Eigen::VectorXd>(sample.values.data(), static_cast<std::ptrdiff_t>(sample.values.size())),
          sample.trials};
}

simulate::Sample sample_of(const SampleState& state) {
  const auto& [values, trials] = state;
  return {{values.begin(), values.end()}, trials};
}

void bind_score_rows(nb::module_& m, Room& room) {
  m.def("normal_scores", &simulate::normal_scores, "count"_a, "variance"_a, room.docs("normal_scores"));
  m.def("uniform_scores", &simulate::uniform_scores, "count"_a, "lower"_a, "upper"_a, room.docs("uniform_scores"));
  m.def("grid_scores", &simulate::grid_scores, "count"_a, "lower"_a, "upper"_a, room.docs("grid_scores"));
  nb::class_<simulate::ScoreRowSimulation> rows(m, "ScoreRowSimulation", room.docs("ScoreRowSimulation"));
  describe(rows);
  pickle_by(rows, &simulate::ScoreRowSimulation::run, &simulate::ScoreRowSimulation::functionals);
  rows.def_ro("run", &simulate::ScoreRowSimulation::run)
      .def_ro("functionals", &simulate::ScoreRowSimulation::functionals)
      .def(
          "at",
          [](const simulate::ScoreRowSimulation& s, std::size_t point, simulate::RowFunctional functional) {
            return s.at(point, functional);
          },
          "point"_a, "functional"_a);
  m.def(
      "score_rows",
      [](const simulate::ScoreRow& row, const std::vector<double>& inverse_temperatures, const std::string& dtype,
         const nb::kwargs& options) {
        if (dtype != "float32" && dtype != "float64") {
          throw_invalid_argument("simulate::score_rows", "dtype is unknown", dtype, "float32 or float64");
        }
        const bool wide = dtype == "float64";
        return run_simulation(options, [&](const simulate::Options& o) {
          return wide ? simulate::score_rows<double>(row, inverse_temperatures, o)
                      : simulate::score_rows<float>(row, inverse_temperatures, o);
        });
      },
      "row"_a, "inverse_temperatures"_a, "dtype"_a = "float32", "options"_a, with_options(room.docs("score_rows")));
  nb::class_<simulate::ScoreRowSample> sample(m, "ScoreRowSample", room.docs("ScoreRowSample"));
  describe(sample);
  sample.def("__getstate__",
             [](const simulate::ScoreRowSample& s) { return std::make_tuple(state_of(s.sample), s.functionals); });
  sample.def("__setstate__", [](simulate::ScoreRowSample& s, const std::tuple<SampleState, int>& state) {
    new (&s) simulate::ScoreRowSample{sample_of(std::get<0>(state)), std::get<1>(state)};
  });
  sample.def_prop_ro("trials", [](const simulate::ScoreRowSample& s) { return s.sample.trials; })
      .def_ro("functionals", &simulate::ScoreRowSample::functionals)
      .def_prop_ro("points",
                   [](const simulate::ScoreRowSample& s) {
                     return outputs_of(s.sample) / static_cast<std::size_t>(s.functionals);
                   })
      .def(
          "sorted",
          [](const simulate::ScoreRowSample& s, std::size_t point, simulate::RowFunctional functional) {
            return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(s.sorted(point, functional), s.sample.trials));
          },
          "point"_a, "functional"_a)
      .def("median", &simulate::ScoreRowSample::median, "point"_a, "functional"_a)
      .def("largest_share", &simulate::ScoreRowSample::largest_share, "point"_a, "functional"_a);
  m.def(
      "score_row_sample",
      [](const simulate::ScoreRow& row, const std::vector<double>& inverse_temperatures, const nb::kwargs& options) {
        return run_simulation(options, [&](const simulate::Options& o) {
          return simulate::score_row_sample<float>(row, inverse_temperatures, o);
        });
      },
      "row"_a, "inverse_temperatures"_a, "options"_a, with_options(room.docs("score_row_sample")));
}

void bind_gradients(nb::module_& m, Room& room) {
  nb::class_<simulate::GradientNormsSimulation> norms(m, "GradientNormsSimulation",
                                                      room.docs("GradientNormsSimulation"));
  describe(norms);
  pickle_by(norms, &simulate::GradientNormsSimulation::run);
  norms.def_ro("run", &simulate::GradientNormsSimulation::run)
      .def(
          "at",
          [](const simulate::GradientNormsSimulation& s, std::size_t point, simulate::GradientNorm norm) {
            return s.at(point, norm);
          },
          "point"_a, "norm"_a)
      .def("imbalance", &simulate::GradientNormsSimulation::imbalance, "point"_a);
  m.def(
      "gradient_norms",
      [](const simulate::GradientRow& row, const std::vector<double>& score_stddevs, const nb::kwargs& options) {
        return run_simulation(
            options, [&](const simulate::Options& o) { return simulate::gradient_norms(row, score_stddevs, o); });
      },
      "row"_a, "score_stddevs"_a, "options"_a, with_options(room.docs("gradient_norms")));
  nb::class_<simulate::GradientNormsSample> sample(m, "GradientNormsSample", room.docs("GradientNormsSample"));
  describe(sample);
  sample.def("__getstate__", [](const simulate::GradientNormsSample& s) { return state_of(s.sample); });
  sample.def("__setstate__", [](simulate::GradientNormsSample& s, const SampleState& state) {
    new (&s) simulate::GradientNormsSample{sample_of(state)};
  });
  sample.def_prop_ro("trials", [](const simulate::GradientNormsSample& s) { return s.sample.trials; })
      .def_prop_ro("points",
                   [](const simulate::GradientNormsSample& s) {
                     return outputs_of(s.sample) / simulate::detail::gradient_norms;
                   })
      .def("median", &simulate::GradientNormsSample::median, "point"_a, "norm"_a);
  m.def(
      "gradient_norms_sample",
      [](const simulate::GradientRow& row, const std::vector<double>& score_stddevs, const nb::kwargs& options) {
        return run_simulation(options, [&](const simulate::Options& o) {
          return simulate::gradient_norms_sample<float>(row, score_stddevs, o);
        });
      },
      "row"_a, "score_stddevs"_a, "options"_a, with_options(room.docs("gradient_norms_sample")));
}

}  // namespace

}  // namespace incontext::python

NB_MODULE(_simulate, own) {
  using namespace incontext;
  using namespace incontext::python;
  using namespace nb::literals;
  nb::set_leak_warnings(false);  // as in module.cpp
  own.doc() = "One edition of the simulations.";
  nb::module_::import_("incontext._core");  // whose types they use
  Room room(own, "simulate");
  nb::module_& m = room.module();
  m.def("effective_trials", &simulate::effective_trials, "estimate"_a, room.docs("effective_trials"));
  m.def(
      "is_available", [](simulate::Device device) { return simulate::is_available(device); }, "device"_a,
      room.docs("is_available"));
  m.def(
      "instructions", [] { return std::string(simulate::instructions()); }, room.docs("instructions"));
  bind_score_rows(m, room);
  bind_gradients(m, room);
  bind_simulate_regression(room);
  bind_simulate_classification(room);
}
