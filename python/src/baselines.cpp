#include <nanobind/stl/pair.h>

#include <cstdint>
#include <utility>

#include "core.hpp"
#include "describe.hpp"
#include "incontext/baselines/corrected_bayes_risk.hpp"
#include "incontext/baselines/correlated_context.hpp"
#include "incontext/baselines/diagonal_sgd.hpp"
#include "incontext/baselines/flow_course.hpp"
#include "incontext/baselines/mixer_momentum.hpp"
#include "incontext/baselines/neighbor_averages.hpp"
#include "incontext/baselines/pool_posterior.hpp"
#include "incontext/baselines/ridge_risk.hpp"
#include "incontext/baselines/sequence_mixers.hpp"
#include "incontext/baselines/sgd_tasks.hpp"
#include "incontext/baselines/wishart_spectrum.hpp"
#include "lengths.hpp"
#include "records.hpp"
#include "rooms.hpp"

namespace incontext::python {

void bind_reference_curves(Room& room);

namespace {

using D = double;
using I = std::int64_t;
using Task = baselines::TaskVariances<D>;
using Spectrum = baselines::WishartSpectrum<D>;

void bind_risks(Room& room) {
  const auto examples = number("examples"), dimension = number("dimension");
  const auto noise = number("noise_variance"), prior = number("task_variance");
  room.form("bayes_risk", [](I l, I d, const Task& t) { return baselines::bayes_risk(Spectrum(l, d), t); },
            {examples, dimension, noise, prior});
  room.form("ridge_risk", [](I l, I d, const Task& t, D p) { return baselines::ridge_risk(Spectrum(l, d), t, p); },
            {examples, dimension, noise, prior, number("penalty")});
  room.form("least_squares_risk", [](I l, I d, const Task& t) { return baselines::least_squares_risk(l, d, t); },
            {examples, dimension, noise, prior});
  room.form("averaging_risk", [](I l, I d, const Task& t) { return baselines::averaging_risk(l, d, t); },
            {examples, dimension, noise, prior});
  const auto neighbors = number("neighbors");
  room.form("neighbor_mean_square", [](I l, I d, I k) { return baselines::neighbor_mean_square<D>(l, d, k); },
            {examples, dimension, neighbors});
  room.form("nearest_neighbors_risk",
            [](I l, I d, I k, const Task& t) { return baselines::nearest_neighbors_risk(l, d, k, t); },
            {examples, dimension, neighbors, noise, prior});
  room.form("mutual_information",
            [](I l, I d, const Task& t) { return baselines::mutual_information(Spectrum(l, d), t); },
            {examples, dimension, noise, prior});
  room.form("exponential_squared_correlation",
            [](I l, D neighbor) { return baselines::exponential_squared_correlation(l, neighbor); },
            {examples, number("neighbor_correlation")});
  room.form("correlated_layer_risk",
            [](I l, I d, D c, const Task& t, D gain) { return baselines::correlated_layer_risk(l, d, c, t, gain); },
            {examples, dimension, number("squared_correlation"), noise, prior, number("gain")});
  room.form("optimal_correlated_layer",
            [](I l, I d, D c, const Task& t) { return baselines::optimal_correlated_layer(l, d, c, t); },
            {examples, dimension, number("squared_correlation"), noise, prior});
  room.form("two_task_pool_risk", [](I l, I d, const Task& t) { return baselines::two_task_pool_risk(l, d, t); },
            {examples, dimension, noise, prior});
  room.form("two_task_pool_weight", [](I l, I d, const Task& t) { return baselines::two_task_pool_weight(l, d, t); },
            {examples, dimension, noise, prior});
}

/// The layers of SGD; their functions take numbers in the place of the C++ classes.
void bind_sgd(Room& room) {
  const auto dimension = number("dimension"), length = number("context_length");
  const auto noise = number("noise_variance"), prior = number("task_variance"), batch = number("batch", 1);
  using Sgd = baselines::OnePassSgd<D>;
  room.form("one_pass_sgd",
            [](I d, I l, const Task& t, I steps, D rate, I b) {
              const Sgd sgd({d, l, t, b});
              return sgd.risk(sgd.after(steps, rate));
            },
            {dimension, length, noise, prior, number("steps"), number("learning_rate"), batch});
  room.form("largest_stable_rate",
            [](I d, I l, const Task& t, I b) {
              return Sgd({d, l, t, b}).largest_stable_rate();
            },
            {dimension, length, noise, prior, batch});
  room.form("tail_average_risk",
            [](I d, I l, const Task& t, I steps, I tail, D rate, I b) {
              return Sgd({d, l, t, b}).tail_average_risk(steps, tail, rate);
            },
            {dimension, length, noise, prior, number("steps"), number("tail"), number("learning_rate"), batch});
  room.form("best_constant_rate",
            [](I d, I l, const Task& t, I steps, I b) {
              return baselines::best_constant_rate(Sgd({d, l, t, b}), steps);
            },
            {dimension, length, noise, prior, number("steps"), batch});
  room.form("tasks_needed",
            [](I d, I l, const Task& t, D share, I b) {
              return baselines::tasks_needed(Sgd({d, l, t, b}), share);
            },
            {dimension, length, noise, prior, number("share"), batch});
  room.module().def(
      "diagonal_sgd",
      [](const DenseVector& inputs, const DenseVector& tasks, D noise_variance, I context_length, I steps, D rate,
         I of_batch) {
        const nb::gil_scoped_release released;
        const baselines::DiagonalSgd<D> sgd({inputs.value, tasks.value, noise_variance, context_length, of_batch});
        return sgd.risk(sgd.after(steps, rate));
      },
      nb::arg("input_variances"), nb::arg("task_variances"), nb::arg("noise_variance"), nb::arg("context_length"),
      nb::arg("steps"), nb::arg("learning_rate"), nb::arg("batch") = 1, room.docs("diagonal_sgd"));
}

void bind_flow(Room& room) {
  const auto dimension = number("dimension"), length = number("context_length");
  const auto noise = number("noise_variance"), prior = number("task_variance"), start = number("start");
  using Course = baselines::FlowCourse<D>;
  room.form("flow_risk",
            [](I d, I l, const Task& t, D s, D time) {
              return Course({d, l, t, s}).risk(time);
            },
            {dimension, length, noise, prior, start, number("time")});
  room.form("flow_gain",
            [](I d, I l, const Task& t, D s, D time) {
              return Course({d, l, t, s}).gain(time);
            },
            {dimension, length, noise, prior, start, number("time")});
  room.form("flow_half_time",
            [](I d, I l, const Task& t, D s) {
              return Course({d, l, t, s}).half_time();
            },
            {dimension, length, noise, prior, start});
}

void bind_mixers(Room& room) {
  using Mixers = baselines::SequenceMixers<D>;
  using Kind = baselines::MixerKind;
  using State = baselines::MixerState<D>;
  using Step = baselines::Mixer<D>;
  using namespace nb::literals;
  nb::module_& m = room.module();
  m.def(
      "isotropic_mixer_task", [](I d, D noise, D prior) { return baselines::isotropic_mixer_task<D>(d, noise, prior); },
      "dimension"_a, "noise_variance"_a, "task_variance"_a, room.docs("isotropic_mixer_task"));
  m.def(
      "mixer_of", [](Kind kind, D rate, D gate) { return baselines::mixer_of<D>(kind, rate, gate); }, "kind"_a,
      "rate"_a, "gate"_a = 1.0, room.docs("mixer_of"));
  nb::class_<Mixers> mixers(m, "SequenceMixers", room.docs("SequenceMixers"));
  mixers
      .def(
          "__init__", [](Mixers* self, baselines::MixerTask<D> task) { new (self) Mixers(std::move(task)); }, "task"_a)
      .def_prop_ro("task", &Mixers::task)
      .def("start", &Mixers::start, "Before the first example.")
      .def(
          "step", [](const Mixers& s, State state, const Step& mixer) { return s.step(std::move(state), mixer); },
          "state"_a, "mixer"_a, "After one example more.")
      .def("risk", &Mixers::risk, "state"_a, "The mean squared error on the next query.")
      .def(
          "risks", [](const Mixers& s, const Step& mixer, const Counts& lengths) { return s.risks(mixer, lengths); },
          "mixer"_a, "lengths"_a, "The errors of a mixer that stays as it is, after each of these numbers of examples.")
      .def("is_stable", &Mixers::is_stable, "mixer"_a, "Whether the error stays bounded in sequences without end.")
      .def("steady_risk", &Mixers::steady_risk, "mixer"_a,
           "The error that a sequence without end tends to, or infinity.")
      .def("largest_stable_rate", &Mixers::largest_stable_rate, "gate"_a = 1.0,
           "The delta rule is stable below this rate, and only there.")
      .def("greedy", &Mixers::greedy, "state"_a, "kind"_a, "The mixer of a family for which the next error is least.")
      .def(
          "greedy_risks",
          [](const Mixers& s, Kind kind, const Counts& lengths) { return s.greedy_risks(kind, lengths); }, "kind"_a,
          "lengths"_a, "The errors of greedy, step by step.")
      .def("best", &Mixers::best, "kind"_a, "examples"_a,
           "The mixer of a family, the same for every example, that errs least after so many.")
      .def("best_steady", &Mixers::best_steady, "kind"_a, "The same in sequences without end.")
      .def("__reduce__", [](const Mixers& s) {
        return nb::make_tuple(python_class("baselines.SequenceMixers"), nb::make_tuple(s.task()));
      });
  refuse_other_arguments(mixers);
  describe(mixers);
  m.def(
      "momentum_risks",
      [](const Mixers& s, D rate, D momentum, const Counts& lengths) {
        return baselines::momentum_risks<D>(s, rate, momentum, lengths);
      },
      "mixers"_a, "rate"_a, "momentum"_a, "lengths"_a, room.docs("momentum_risks"));
}

}  // namespace

void bind_baselines(nb::module_& core) {
  Room room(core, "baselines");
  nb::module_& m = room.module();
  using namespace nb::literals;
  bind_risks(room);
  bind_sgd(room);
  bind_flow(room);
  bind_mixers(room);
  bind_reference_curves(room);
  m.def(
      "corrected_bayes_risk",
      [](const DenseVector& eigenvalues, D noise, I examples) {
        return baselines::corrected_bayes_risk<D>(eigenvalues, noise, examples);
      },
      "eigenvalues"_a, "noise_variance"_a, "examples"_a, room.docs("corrected_bayes_risk"));
  m.def(
      "squared_correlation",
      [](const DenseMatrix& correlations) { return baselines::squared_correlation(correlations); }, "correlations"_a,
      room.docs("squared_correlation"));
  m.def(
      "right_task_weight",
      [](const DenseMatrix& inputs, const DenseVector& labels, const DenseVector& right_task, D noise, D prior,
         D pool_size) {
        return baselines::right_task_weight(inputs, labels, right_task, Task{noise, prior}, pool_size).value;
      },
      "inputs"_a, "labels"_a, "right_task"_a, "noise_variance"_a, "task_variance"_a, "pool_size"_a,
      room.docs("right_task_weight"));
  m.def(
      "wishart_spectrum",
      [](I examples, I dimension) {
        const Spectrum spectrum(examples, dimension);
        return std::pair(spectrum.nodes(), spectrum.weights());
      },
      "examples"_a, "dimension"_a, room.docs("wishart_spectrum"));
}

}  // namespace incontext::python
