#include "incontext/scoring.hpp"

#include <limits>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "arrays.hpp"
#include "core.hpp"
#include "incontext/laws/fading_by_map.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "scoring_maps.hpp"
#include "softmax_maps.hpp"

namespace incontext::python {

namespace {

using D = double;
using I = std::ptrdiff_t;

/// The numbers of one row. Masked elements are `hidden`.
std::vector<double> row_of(const Axis& numbers, double hidden = -std::numeric_limits<double>::infinity()) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(as_real_array(numbers.values, hidden), numpy.attr("float64"));
  const auto view = nb::cast<nb::ndarray<const double, nb::ndim<1>>>(array);
  std::vector<double> row(view.shape(0));
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = view.data()[static_cast<std::int64_t>(i) * view.stride(0)];
  return row;
}

ArrayResult to_array(const std::vector<double>& values, std::initializer_list<std::size_t> shape) {
  nb::list list;
  for (const double value : values) list.append(value);
  nb::list sizes;
  for (const std::size_t size : shape) sizes.append(size);
  return {nb::module_::import_("numpy").attr("array")(list, "float64").attr("reshape")(nb::tuple(sizes))};
}

void bind_maps(Room& room) {
  nb::module_& m = room.module();
  using namespace nb::literals;
  m.def(
      "jacobian",
      [](nb::handle map, const Axis& scores, bool finite_masks) {
        const std::vector<double> row = row_of(scores);
        const auto n = static_cast<I>(row.size());
        std::vector<double> out(row.size() * row.size());
        const maps::AnyMap<double> m = any_map<double>(map);
        validate(m);
        std::vector<double> copy;
        const auto seen = seen_by(m, scoring::Row<const double>(row), copy, finite_masks);
        scoring::validate(seen);
        scoring::jacobian(m, seen, scoring::MatrixView<double>(out.data(), n, n));
        return to_array(out, {row.size(), row.size()});
      },
      "map"_a, "scores"_a, "finite_masks"_a = true, room.docs("jacobian"));
  m.def(
      "jacobian_spectral_norm",
      [](nb::handle map, const Axis& scores, bool finite_masks) {
        const std::vector<double> row = row_of(scores);
        const auto n = static_cast<I>(row.size());
        std::vector<double> scratch(row.size() * row.size());
        const maps::AnyMap<double> m = any_map<double>(map);
        std::vector<double> copy;
        const auto seen = seen_by(m, scoring::Row<const double>(row), copy, finite_masks);
        return scoring::jacobian_spectral_norm(m, seen, scoring::MatrixView<double>(scratch.data(), n, n));
      },
      "map"_a, "scores"_a, "finite_masks"_a = true, room.docs("jacobian_spectral_norm"));
  m.def(
      "summary",
      [](nb::handle map, const Axis& scores, bool finite_masks) {
        const std::vector<double> row = row_of(scores);
        const maps::AnyMap<double> any = any_map<double>(map);
        std::vector<double> copy;
        const auto seen = seen_by(any, scoring::Row<const double>(row), copy, finite_masks);
        return maps::visit("scoring::summary", any,
                           [&]<scoring::SoftmaxLike Map>(const Map& m) { return scoring::summary(m, seen); });
      },
      "map"_a, "scores"_a, "finite_masks"_a = true,
      nb::sig("def summary(map: incontext.scoring.Map, scores: numpy.typing.ArrayLike, finite_masks: bool = True) -> "
              "incontext.scoring.RowSummary"),
      room.docs("summary"));
  m.def(
      "jacobian_norms",
      [](const Axis& weights) {
        const std::vector<double> row = row_of(weights, 0);
        return scoring::jacobian_norms(scoring::Row<const double>(row));
      },
      "weights"_a, nb::sig("def jacobian_norms(weights: numpy.typing.ArrayLike) -> incontext.scoring.JacobianNorms"),
      room.docs("jacobian_norms"));
  m.def(
      "normsoftmax_divisor",
      [](nb::handle map, const Axis& scores, bool finite_masks) {
        const std::vector<double> row = row_of(scores);
        std::vector<double> copy;
        return scoring::normsoftmax_divisor(map_as<scoring::NormSoftmax<double>>(map),
                                            with_masks(scoring::Row<const double>(row), copy, finite_masks));
      },
      "map"_a, "scores"_a, "finite_masks"_a = true,
      nb::sig("def normsoftmax_divisor(map: incontext.scoring.NormSoftmax, scores: numpy.typing.ArrayLike, "
              "finite_masks: bool = True) -> incontext.scoring.NormSoftmaxDivisor"),
      room.docs("normsoftmax_divisor"));
}

/// Binds a function of a map and a row that writes a row.
template <class Make, class Function>
void bind_row_function(Room& room, const char* name, const char* first, const Make& make, const Function& function) {
  room.module().def(
      name,
      [make, function](nb::handle map, const Axis& scores, bool finite_masks) {
        const std::vector<double> row = row_of(scores);
        std::vector<double> out(row.size()), copy;
        function(make(map), with_masks(scoring::Row<const double>(row), copy, finite_masks), scoring::Row<double>(out));
        return to_array(out, {out.size()});
      },
      nb::arg(first), nb::arg("scores"), nb::arg("finite_masks") = true, room.docs(name));
}

void bind_rows_of_errors(Room& room) {
  const auto approximate = [](nb::handle map) { return map_as<scoring::ApproximateSoftmax<double>>(map); };
  const auto ssa = [](nb::handle map) { return map_as<scoring::SSA<double>>(map); };
  bind_row_function(room, "approximate_softmax_error", "map", approximate,
                    [](const auto& m, auto z, auto out) { scoring::approximate_softmax_error(m, z, out); });
  bind_row_function(room, "approximate_softmax_leading_error", "map", approximate,
                    [](const auto& m, auto z, auto out) { scoring::approximate_softmax_leading_error(m, z, out); });
  bind_row_function(room, "ssa_scale_limit", "map", ssa,
                    [](const auto& m, auto z, auto out) { scoring::ssa_scale_limit(m, z, out); });
  bind_row_function(
      room, "ssa_softmax_correction", "exponent",
      [](nb::handle x) { return real_number("scoring::ssa_softmax_correction", "exponent", x); },
      [](double k, auto z, auto out) { scoring::ssa_softmax_correction(k, z, out); });
}

/// laws::two_level_weights, of a map and of a gap between exponents. The first is tried first.
void bind_two_level_weights(Room& room) {
  using namespace nb::literals;
  room.module().def(
      "two_level_weights",
      [](nb::handle map, const Axis& row_length, const Axis& high, const Axis& low) {
        if (!nb::hasattr(map, "_fields")) throw nb::next_overload();
        const auto law = [&](const auto& m) -> Broadcast
          requires requires { laws::two_level_weights(m, I{}, D{}, D{}); }
        {
          return {evaluate(result_of<laws::TwoLevelWeights<D>>(), {row_length.values, high.values, low.values},
                           [&](const double* in, double* out) {
                             write_numbers(laws::two_level_weights(m, static_cast<I>(in[0]), in[1], in[2]), out);
                           })};
        };
        return maps::visit("laws::two_level_weights", any_map<double>(map), law);
      },
      "map"_a, "row_length"_a, "high"_a, "low"_a, room.docs("two_level_weights"));
  room.form("two_level_weights", [](D n, D gap) { return laws::two_level_weights(n, gap); },
            {number("row_length"), number("exponent_gap")});
}

}  // namespace

void bind_scoring(nb::module_& core) {
  Room laws_room(core, "laws");
  bind_two_level_weights(laws_room);
  Room room(core, "scoring");
  bind_maps(room);
  bind_rows_of_errors(room);
  const auto count = number("count"), variance = number("variance");
  room.form("approximate_softmax_error_at_gap",
            [](I n, D g) { return scoring::approximate_softmax_error_at_gap(n, g); }, {count, number("gap")});
  room.form("approximate_softmax_error_supremum",
            [](I n, D r) { return scoring::approximate_softmax_error_supremum(n, r); }, {count, number("range")});
  room.form("approximate_softmax_error_infimum",
            [](I n, D r) { return scoring::approximate_softmax_error_infimum(n, r); }, {count, number("range")});
  room.form("approximate_softmax_expected_squared_error",
            [](I n, D v, D ipr) { return scoring::approximate_softmax_expected_squared_error(n, v, ipr); },
            {count, variance, number("ipr")});
  room.form("approximate_softmax_expected_squared_error_limit",
            [](D v) { return scoring::approximate_softmax_expected_squared_error_limit(v); }, {variance});
  room.form("approximate_softmax_expected_absolute_error_limit",
            [](D v) { return scoring::approximate_softmax_expected_absolute_error_limit(v); }, {variance});
  room.form("approximate_softmax_negative_weight_probability",
            [](I n, D v) { return scoring::approximate_softmax_negative_weight_probability(n, v); }, {count, variance});
  room.form("approximate_softmax_output_error",
            [](I n, I d, D v) { return scoring::approximate_softmax_output_error(n, d, v); },
            {count, number("dimension"), variance});
  room.form("normsoftmax_largest_weight",
            [](I n, scoring::ScoreScale scale) { return scoring::normsoftmax_largest_weight<D>(n, scale); },
            {count, choice("scale", "scoring.ScoreScale", 0, "incontext.scoring.ScoreScale.population_stddev")});
  using Schedule = scoring::HeatSchedule<D>;
  room.form("_heat_temperature",
            [](const Schedule& schedule, int epoch) {
              scoring::validate(schedule);
              return schedule.temperature(epoch);
            },
            {record("schedule", "scoring.HeatSchedule"), number("epoch")});
  room.form("_heat_inverse_temperature",
            [](const Schedule& schedule, int epoch) {
              scoring::validate(schedule);
              return schedule.inverse_temperature(epoch);
            },
            {record("schedule", "scoring.HeatSchedule"), number("epoch")});
}

}  // namespace incontext::python
