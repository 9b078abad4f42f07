#include "incontext/calibration.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"
#include "interrupts.hpp"
#include "lengths.hpp"
#include "records.hpp"
#include "rooms.hpp"

namespace incontext::python {

namespace {

using D = double;
using I = std::int64_t;
using namespace nb::literals;

/// The numbers of a NumPy array where they are. A list becomes an array first.
struct Scores {
  explicit Scores(const nb::object& given) : array(nb::module_::import_("numpy").attr("asarray")(given)) {
    const nb::object type = array.attr("dtype");
    const auto kind = nb::cast<std::string>(type.attr("kind"));
    const bool is_bfloat16 = nb::cast<std::string>(type.attr("name")) == "bfloat16";  // of the package ml_dtypes
    const auto number = is_bfloat16 ? calibration::NumberType::bfloat16
                                    : calibration::number_type(kind.front(), nb::cast<I>(type.attr("itemsize")));
    const auto shape = nb::cast<std::vector<I>>(nb::list(array.attr("shape")));
    const auto strides = nb::cast<std::vector<I>>(nb::list(array.attr("strides")));
    const auto address = nb::cast<std::uintptr_t>(array.attr("__array_interface__")["data"][nb::int_(0)]);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): NumPy gives the address as a number
    scores = calibration::dense_scores(reinterpret_cast<const void*>(address), number, shape, false,
                                       !nb::cast<bool>(type.attr("isnative")));
    for (std::size_t i = 0; i < strides.size(); ++i) scores.strides[4 - strides.size() + i] = strides[i];
  }
  nb::object array;  ///< keeps the numbers alive
  calibration::ScoreArray scores;
};

/// What a measurement throws to end at Ctrl-C.
struct Interrupted : std::exception {};

/// Runs a measurement without the interpreter's lock. What is refused is a ValueError, whatever the class of C++.
template <class Function>
auto measured(const Function& function) -> decltype(function()) {
  const SharedInterruptGuard guard;
  try {
    const nb::gil_scoped_release unlocked;
    return function();
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  } catch (const std::domain_error& error) {
    throw nb::value_error(error.what());
  }
}

void end_if_interrupted() {
  if (simulate::InterruptGuard::requested()) throw Interrupted();
}

/// The heads of an array of scores, measured and judged.
class Calibration {
 public:
  Calibration(const nb::list& prompts, calibration::MeasurementOptions options, const nb::object& progress)
      : options_(std::move(options)) {
    for (const nb::handle scores : prompts) {
      kept_.emplace_back(nb::borrow<nb::object>(scores));
      scores_.push_back(kept_.back().scores);
    }
    options_.leave_out_option = "leave_out_masked_rows=True";
    options_.all_scores_option = "finite_masks=False";
    options_.poll = end_if_interrupted;
    calibration::MeasurementOptions first = options_;
    const nb::object report = nb::module_::import_("incontext._progress").attr("reporter")(progress);
    if (!report.is_none()) {
      const auto start = std::chrono::steady_clock::now();
      first.progress = [handle = nb::handle(report), start](I done, I planned) {
        const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        const nb::gil_scoped_acquire lock;
        handle(done, planned, seconds.count());
      };
    }
    measured([&] {
      const auto all = calibration::measure_heads(scores_, first);
      for (const auto& head : all) {
        masked_rows_ += head.masked_rows;
        single_key_rows_ += head.single_key_rows;
      }
      heads_ = calibration::calibrate_heads(all, options_.threads, 1e-3, end_if_interrupted);
    });
    if (nb::hasattr(report, "close")) report.attr("close")();
  }

  I layers() const { return scores_.front().layers(); }
  I heads_per_layer() const { return scores_.front().heads(); }
  I masked_rows() const { return masked_rows_; }
  I single_key_rows() const { return single_key_rows_; }
  std::vector<calibration::HeadSummary> heads() const {
    std::vector<calibration::HeadSummary> all;
    for (const auto& head : heads_) all.push_back(calibration::summary_of(head));
    return all;
  }
  std::vector<calibration::PhaseCount> phases() const { return calibration::count_phases(heads_); }

  nb::object detail(I layer, I head, const calibration::DetailOptions& wanted) const {
    const auto found = measured([&] { return calibration::detail_of(scores_, at(layer, head), options_, wanted); });
    nb::dict rules;
    if (found.limits) {
      for (const auto held :
           {calibration::Held::entropy, calibration::Held::largest_weight, calibration::Held::needle_weight}) {
        rules[nb::cast(held)] = nb::cast(found.rules[static_cast<std::size_t>(held)]);
      }
    }
    return python_class("calibration.HeadDetail")(calibration::summary_of(found.head), found.gap, found.trained_length,
                                                  wanted.factors, found.lengths, found.normal_law, found.held_out,
                                                  found.limits, rules, calibration::warning_about_law(found.head),
                                                  found.plans, found.longer_rows, found.advice);
  }

  calibration::Advice advice(I layer, I head, const calibration::DetailOptions& wanted) const {
    return measured([&] { return calibration::advice_of(scores_, at(layer, head), options_, wanted); });
  }

  std::vector<calibration::HeadForecast> forecast(I row_length, I up_to) const {
    return measured([&] { return calibration::forecast_heads(scores_, options_, row_length, up_to); });
  }

  calibration::ShiftedTemperature shifted(const nb::object& other, I layer, I head) const {
    const Scores shifted(other);
    if (scores_.size() > 1) {
      throw_invalid_argument("calibration::shifted", "there are several prompts", scores_.size(),
                             "one, whose keys are its queries");
    }
    return measured([&] {
      const auto ratio_of = [&](const calibration::ScoreArray& scores) {
        return calibration::moment_ratio_of_head(calibration::one_head(scores, layer, head), options_);
      };
      return calibration::shifted_temperature(ratio_of(scores_.front()), ratio_of(shifted.scores));
    });
  }

 private:
  const calibration::HeadCalibration& at(I layer, I head) const {
    calibration::one_head(scores_.front(), layer, head);  // refuses one that is not there
    return heads_[static_cast<std::size_t>(layer * heads_per_layer() + head)];
  }

  std::vector<Scores> kept_ = {};
  std::vector<calibration::ScoreArray> scores_ = {};  // of each prompt
  calibration::MeasurementOptions options_;
  std::vector<calibration::HeadCalibration> heads_ = {};
  I masked_rows_ = 0, single_key_rows_ = 0;
};

void bind_heads(nb::module_& m) {
  nb::class_<Calibration>(m, "Heads", "The heads of an array of scores; incontext.calibrate makes it.")
      .def(
          "__init__",
          [](Calibration* self, const nb::list& prompts, bool causal, D inverse_temperature, bool leave_out_masked_rows,
             bool finite_masks, int threads, const nb::object& progress) {
            calibration::MeasurementOptions options;
            options.causal = causal;
            options.inverse_temperature = inverse_temperature;
            if (leave_out_masked_rows) options.masked_rows = calibration::MaskedRows::left_out;
            if (!finite_masks) options.finite_masks = calibration::FiniteMasks::none;
            options.threads = threads;
            new (self) Calibration(prompts, options, progress);
          },
          "prompts"_a, "causal"_a, "inverse_temperature"_a, "leave_out_masked_rows"_a, "finite_masks"_a, "threads"_a,
          "progress"_a.none())
      .def_prop_ro("layers", &Calibration::layers)
      .def_prop_ro("heads_per_layer", &Calibration::heads_per_layer)
      .def_prop_ro("masked_rows", &Calibration::masked_rows)
      .def_prop_ro("single_key_rows", &Calibration::single_key_rows)
      .def("heads", &Calibration::heads)
      .def("phases", &Calibration::phases)
      .def(
          "detail",
          [](const Calibration& self, I layer, I head, std::optional<D> gap, I trained_length, const Counts& factors) {
            return self.detail(layer, head, {gap, trained_length, factors});
          },
          "layer"_a, "head"_a, "gap"_a.none(), "trained_length"_a, "factors"_a)
      .def(
          "advice",
          [](const Calibration& self, I layer, I head, std::optional<D> gap, I trained_length, const Counts& factors) {
            return self.advice(layer, head, {gap, trained_length, factors});
          },
          "layer"_a, "head"_a, "gap"_a.none(), "trained_length"_a, "factors"_a)
      .def("forecast", &Calibration::forecast, "row_length"_a, "up_to"_a)
      .def("shifted", &Calibration::shifted, "scores"_a, "layer"_a, "head"_a);
}

void bind_rules(nb::module_& m, Room& room) {
  m.def(
      "temperature_rules",
      [](calibration::Held held, const calibration::HeadScores<D>& scores, const Counts& lengths) {
        return calibration::temperature_rules(held, scores, lengths);
      },
      "held"_a, "scores"_a, "lengths"_a, room.docs("temperature_rules"));
  m.def(
      "nearest_ssmax",
      [](const Counts& lengths, const std::vector<D>& inverse_temperatures) {
        const auto map = calibration::nearest_ssmax(lengths, inverse_temperatures);
        return python_class("scoring.SSMax")(map.scale, map.bias);
      },
      "lengths"_a, "inverse_temperatures"_a, room.docs("nearest_ssmax"));
}

}  // namespace

void bind_calibration(nb::module_& core) {
  Room room(core, "calibration");
  room.form("freezing_ratio", [](D n, D x) { return calibration::freezing_ratio<D>(n, x); },
            {number("row_length"), number("score_stddev")});
  room.form("longest_frozen_length", [](D x) { return calibration::longest_frozen_length<D>(x); },
            {number("score_stddev")});
  room.form("distinguishing_length", [](D gap) { return calibration::distinguishing_length<D>(gap); }, {number("gap")});
  room.form("yarn_inverse_temperature", [](D factor) { return calibration::yarn_inverse_temperature(factor); },
            {number("factor")});
  const auto row_length = number("row_length"), trained_length = number("trained_length");
  room.form("qwen_inverse_temperature",
            [](D n, D trained) { return calibration::qwen_inverse_temperature<D>(n, trained); },
            {row_length, trained_length});
  room.form("grok_inverse_temperature",
            [](D n, D length) { return calibration::grok_inverse_temperature<D>(n, length); },
            {row_length, number("temperature_length")});
  room.form("llama4_inverse_temperature",
            [](D n, D step, D scale) { return calibration::llama4_inverse_temperature(n, step, scale); },
            {row_length, number("floor_scale", 8192), number("attention_scale", 0.1)});
  room.form("mistral_inverse_temperature",
            [](D n, D trained, D scale) { return calibration::mistral_inverse_temperature(n, trained, scale); },
            {row_length, trained_length, number("attention_scale", 0.1)});
  room.form("longrope_inverse_temperature",
            [](D factor, D trained) { return calibration::longrope_inverse_temperature(factor, trained); },
            {number("factor"), trained_length});
  room.form("deepseek_inverse_temperature",
            [](D factor, D mscale) { return calibration::deepseek_inverse_temperature(factor, mscale); },
            {number("factor"), number("mscale", 1.0)});
  room.form("entropy_inverse_temperature", [](D entropy) { return calibration::entropy_inverse_temperature(entropy); },
            {number("entropy")});
  room.form("normsoftmax_inverse_temperature", [](D x) { return calibration::normsoftmax_inverse_temperature(x); },
            {number("score_stddev")});
  room.form("centered_needle_weight", [](I n, D x, D gap) { return calibration::centered_needle_weight(n, x, gap); },
            {number("row_length"), number("score_stddev"), number("gap")});
  room.form("head_limits", [](D x, D gap, I n) { return calibration::head_limits(x, gap, n); },
            {number("score_stddev"), number("gap"), number("trained_length")});
  using calibration::Held;
  using Scores = calibration::HeadScores<D>;
  const auto scores = record("scores", "calibration.HeadScores");
  room.form(
      "held_value",
      [](Held held, const Scores& scores, I n, D beta) { return calibration::held_value<D>(held, scores, n, beta); },
      {choice("held", "calibration.Held"), scores, number("row_length"), number("inverse_temperature")});
  room.form("holding_temperature",
            [](Held held, const Scores& scores, I n, D target) {
              return calibration::holding_temperature<D>(held, scores, n, target);
            },
            {choice("held", "calibration.Held"), scores, number("row_length"), number("target")});
  room.module().def(
      "continued_row",
      [](const std::vector<D>& scores, I needles, D longer, D inverse_temperature) {
        std::vector<D> row = scores;
        require_at_least("calibration::continued_row", "the number of scores", row.size(), std::size_t{1});
        require_at_least("calibration::continued_row", "needles", needles, I{0});
        for (const D& score : row) require_finite("calibration::continued_row", "a score", score);
        require_at_least("calibration::continued_row", "longer", longer,
                         static_cast<D>(std::min<I>(needles, static_cast<I>(row.size()))));
        require_positive("calibration::continued_row", "inverse_temperature", inverse_temperature);
        std::sort(row.begin(), row.end(), std::greater<>());
        return calibration::continued_row(row, needles, longer, inverse_temperature);
      },
      "scores"_a, "needles"_a, "longer"_a, "inverse_temperature"_a = 1.0, room.docs("continued_row"));
  bind_rules(room.module(), room);
  bind_heads(room.module());
}

}  // namespace incontext::python
