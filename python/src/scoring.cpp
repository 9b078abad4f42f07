#include "incontext/scoring.hpp"

#include <nanobind/stl/string.h>

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "arrays.hpp"
#include "core.hpp"
#include "incontext/laws/fading_by_map.hpp"
#include "parallel.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "scoring_maps.hpp"
#include "scoring_records.hpp"
#include "softmax_maps.hpp"

namespace incontext::python {

namespace {

using D = double;
using I = std::ptrdiff_t;

enum class Operation { weights, log_weights, jvp, vjp, derivative };

/// A function of a row's number, its scores, another row of their size, which not all need, and the result.
template <class T>
using RowFunction = std::function<void(std::int64_t row, scoring::Row<const T> scores, scoring::Row<const T> other,
                                       scoring::Row<T> out)>;

/// Calls `function` with the C++ map that a Python map stands for.
template <class T, class Function>
auto with_map(nb::handle map, const Function& function) {
  const auto is = [&](const char* path) { return nb::isinstance(map, python_class(path)); };
  if (is("scoring.Softmax")) return function(scoring::Softmax<T>{field<T>(map, "temperature")});
  if (is("scoring.SSMax")) return function(scoring::SSMax<T>{field<T>(map, "scale"), field<T>(map, "bias")});
  if (is("scoring.SSA")) {
    return function(scoring::SSA<T>{field<T>(map, "base"), field<T>(map, "exponent"), field<T>(map, "temperature")});
  }
  if (is("scoring.ApproximateSoftmax")) return function(scoring::ApproximateSoftmax<T>{field<T>(map, "temperature")});
  if (is("scoring.LinearAttention")) {
    return function(scoring::LinearAttention<T>{field<T>(map, "temperature"),
                                                chosen_field<scoring::LinearNormalization>(map, "normalization")});
  }
  if (is("scoring.NormSoftmax")) {
    return function(
        scoring::NormSoftmax<T>{field<T>(map, "temperature"), chosen_field<scoring::ScoreScale>(map, "scale")});
  }
  if (is("scoring.Entmax")) return function(scoring::Entmax<T>{field<T>(map, "alpha")});
  if (is("scoring.Sparsemax")) return function(scoring::Sparsemax<T>{});
  if (is("scoring.Hardmax")) return function(scoring::Hardmax<T>{});
  if (is("scoring.SaSoftmax")) return function(scoring::SaSoftmax<T>{});
  if (is("scoring.NormalizedSaSoftmax")) return function(scoring::NormalizedSaSoftmax<T>{});
  if (is("scoring.RatioScore")) {
    const auto name = nb::cast<std::string>(map.attr("function"));
    const auto by = chosen_field<scoring::ScoreNormalization>(map, "normalization");
    if (name == "average") return function(scoring::RatioScore<scoring::Average, T>{by});
    if (name == "tanh") return function(scoring::RatioScore<scoring::Tanh, T>{by});
    if (name == "relu") return function(scoring::RatioScore<scoring::Relu, T>{by});
    if (name == "square") return function(scoring::RatioScore<scoring::Square, T>{by});
    throw_invalid_argument("scoring::RatioScore", "function is unknown", name, "average, tanh, relu or square");
  }
  throw nb::type_error("incontext: this is not a map of incontext.scoring");
}

/// The map of every row, and the row with -infinity for its finite masks.
template <class Map>
struct MapOfRows {
  using T = typename Map::value_type;
  Map map;
  std::shared_ptr<const ArrayParameters> parameters;

  [[nodiscard]] Map at(std::int64_t row) const {
    Map own = map;
    parameters->put(own, row);
    return own;
  }
  [[nodiscard]] scoring::Row<const T> seen(scoring::Row<const T> scores) const {
    thread_local std::vector<T> copy;  // rows are weighed in several threads
    return seen_by<Map>(scores, copy);
  }
};

template <class T, class Map>
RowFunction<T> derivative_of(const MapOfRows<Map>& map, const std::string& name) {
  RowFunction<T> found;
  for_each_parameter([&](auto tag, const char* is) {
    if constexpr (scoring::HasParameter<Map, decltype(tag)>) {
      if (name == is) {
        found = [=](auto i, auto z, auto, auto out) { scoring::checked::derivative(map.at(i), tag, map.seen(z), out); };
      }
    }
  });
  if (found) return found;
  throw_invalid_argument("scoring::derivative", "the map has no such parameter", name, "one of its real parameters");
}

template <class T>
RowFunction<T> row_function(const std::shared_ptr<const ArrayParameters>& parameters, Operation operation,
                            const std::string& parameter = "") {
  return with_map<T>(parameters->prototype(), [&]<class Map>(const Map& made) -> RowFunction<T> {
    const MapOfRows<Map> m{made, parameters};
    switch (operation) {
      case Operation::weights:
        return [m](auto i, auto z, auto, auto out) { scoring::checked::weights(m.at(i), m.seen(z), out); };
      case Operation::jvp:
        return [m](auto i, auto z, auto d, auto out) { scoring::checked::jvp(m.at(i), m.seen(z), d, out); };
      case Operation::vjp:
        return [m](auto i, auto z, auto c, auto out) { scoring::checked::vjp(m.at(i), m.seen(z), c, out); };
      case Operation::derivative:
        return derivative_of<T>(m, parameter);
      case Operation::log_weights:
        break;
    }
    if constexpr (scoring::LogScoring<Map>) {
      return [m](auto i, auto z, auto, auto out) { scoring::checked::log_weights(m.at(i), m.seen(z), out); };
    } else {
      throw_invalid_argument("scoring::log_weights", "weights of this map can be negative", "", "another map");
    }
  });
}

/// Applies a function to every row, in threads, without the interpreter's lock. Ctrl-C ends it between two rows.
template <class T>
void for_each_row(const RowFunction<T>& function, const nb::object& scores, const nb::object& other,
                  const nb::object& out, scoring::Visibility visibility, T unseen) {
  const RowsOf<const T> z(nb::cast<nb::ndarray<const T>>(scores)), o(nb::cast<nb::ndarray<const T>>(other));
  const RowsOf<T> results(out);
  for_each_element(z.count(), [&](std::int64_t i) {
    const auto seen = scoring::visible_keys(visibility, z.query_index(i), z.query_count(), z.length());
    const auto row = results.row(i);
    function(i, z.row(i).first(seen), o.row(i).first(seen), row.first(seen));
    for (std::ptrdiff_t k = seen; k < row.size; ++k) row[k] = unseen;
  });
}

/// Refuses an array into which the result cannot be written.
void require_result(const nb::object& out, const nb::object& scores) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const auto needs = [&](const char* problem, const nb::object& found, const nb::object& needed) {
    if (found.equal(needed)) return;
    throw_invalid_argument("scoring", problem, text_of(found), text_of(needed));
  };
  if (!nb::isinstance(out, numpy.attr("ndarray"))) throw nb::type_error("incontext.scoring: out is no array of NumPy");
  needs("the shape of out is not that of the scores", out.attr("shape"), scores.attr("shape"));
  needs("the type of out is not that of the result", out.attr("dtype").attr("name"), scores.attr("dtype").attr("name"));
  needs("out is not writable", out.attr("flags").attr("writeable"), nb::bool_(true));
}

Broadcast apply(nb::handle map, Operation operation, const nb::object& scores, const nb::object& other,
                scoring::Visibility visibility, const nb::object& given, const std::string& parameter = "") {
  const nb::object z = as_real_array(scores);
  if (!given.is_none()) require_result(given, z);
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object o =
      other.is_none()
          ? z
          : nb::object(numpy.attr("broadcast_to")(numpy.attr("asarray")(other, z.attr("dtype")), z.attr("shape")));
  nb::list lead;
  for (const nb::handle size : z.attr("shape")) lead.append(size);
  if (lead.size() > 0) lead[lead.size() - 1] = 1;
  const auto parameters = std::make_shared<const ArrayParameters>(map, nb::tuple(lead));
  const auto shares = [&](const nb::object& read) {
    return nb::cast<bool>(numpy.attr("may_share_memory")(given, read));
  };
  const bool in_place = !given.is_none() && !shares(z) && !shares(o);
  const nb::object out = in_place ? given : nb::object(numpy.attr("empty")(z.attr("shape"), z.attr("dtype")));
  const double unseen = operation == Operation::log_weights ? -std::numeric_limits<double>::infinity() : 0;
  if (is_float32(z)) {
    for_each_row<float>(row_function<float>(parameters, operation, parameter), z, o, out, visibility,
                        static_cast<float>(unseen));
  } else {
    for_each_row<double>(row_function<double>(parameters, operation, parameter), z, o, out, visibility, unseen);
  }
  if (given.is_none() || in_place) return {out};
  numpy.attr("copyto")(given, out);
  return {given};
}

/// The numbers of one row. Masked elements are `hidden`.
std::vector<double> row_of(const Axis& numbers, double hidden = -std::numeric_limits<double>::infinity()) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const nb::object array = numpy.attr("asarray")(as_real_array(numbers.values, hidden), numpy.attr("float64"));
  const auto view = nb::cast<nb::ndarray<const double, nb::ndim<1>>>(array);
  std::vector<double> row(view.shape(0));
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = view.data()[static_cast<std::int64_t>(i) * view.stride(0)];
  return row;
}

Broadcast to_array(const std::vector<double>& values, std::initializer_list<std::size_t> shape) {
  nb::list list;
  for (const double value : values) list.append(value);
  nb::list sizes;
  for (const std::size_t size : shape) sizes.append(size);
  return {nb::module_::import_("numpy").attr("array")(list, "float64").attr("reshape")(nb::tuple(sizes))};
}

template <class R>
nb::object to_record(const char* path, const R& result) {
  nb::list fields;
  detail::for_each_number(result, [&](const auto& number) { fields.append(number); });
  return python_class(path)(*fields);
}

void bind_maps(Room& room) {
  nb::module_& m = room.module();
  using namespace nb::literals;
  m.def(
      "weights",
      [](nb::handle map, const Axis& scores, scoring::Visibility visibility, const nb::object& out) {
        return apply(map, Operation::weights, scores.values, nb::none(), visibility, out);
      },
      "map"_a, "scores"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0, "out"_a = nb::none(),
      room.docs("weights"));
  m.def(
      "log_weights",
      [](nb::handle map, const Axis& scores, scoring::Visibility visibility, const nb::object& out) {
        return apply(map, Operation::log_weights, scores.values, nb::none(), visibility, out);
      },
      "map"_a, "scores"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0, "out"_a = nb::none(),
      room.docs("log_weights"));
  m.def(
      "jvp",
      [](nb::handle map, const Axis& scores, const Axis& direction, scoring::Visibility visibility,
         const nb::object& out) {
        return apply(map, Operation::jvp, scores.values, direction.values, visibility, out);
      },
      "map"_a, "scores"_a, "direction"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0,
      "out"_a = nb::none(), room.docs("jvp"));
  m.def(
      "vjp",
      [](nb::handle map, const Axis& scores, const Axis& cotangent, scoring::Visibility visibility,
         const nb::object& out) {
        return apply(map, Operation::vjp, scores.values, cotangent.values, visibility, out);
      },
      "map"_a, "scores"_a, "cotangent"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0,
      "out"_a = nb::none(), room.docs("vjp"));
  m.def(
      "derivative",
      [](nb::handle map, const std::string& parameter, const Axis& scores, scoring::Visibility visibility,
         const nb::object& out) {
        return apply(map, Operation::derivative, scores.values, nb::none(), visibility, out, parameter);
      },
      "map"_a, "parameter"_a, "scores"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0,
      "out"_a = nb::none(), room.docs("derivative"));
  m.def(
      "jacobian",
      [](nb::handle map, const Axis& scores) {
        const std::vector<double> row = row_of(scores);
        const auto n = static_cast<I>(row.size());
        std::vector<double> out(row.size() * row.size());
        with_map<double>(map, [&]<class Map>(const Map& m) {
          scoring::require_valid(m);
          std::vector<double> copy;
          const auto seen = seen_by<Map>(scoring::Row<const double>(row), copy);
          scoring::validate(seen);
          scoring::jacobian(m, seen, scoring::MatrixView<double>(out.data(), n, n));
        });
        return to_array(out, {row.size(), row.size()});
      },
      "map"_a, "scores"_a, room.docs("jacobian"));
  m.def(
      "jacobian_spectral_norm",
      [](nb::handle map, const Axis& scores) {
        const std::vector<double> row = row_of(scores);
        const auto n = static_cast<I>(row.size());
        std::vector<double> scratch(row.size() * row.size());
        return with_map<double>(map, [&]<class Map>(const Map& m) {
          std::vector<double> copy;
          const auto seen = seen_by<Map>(scoring::Row<const double>(row), copy);
          return scoring::jacobian_spectral_norm(m, seen, scoring::MatrixView<double>(scratch.data(), n, n));
        });
      },
      "map"_a, "scores"_a, room.docs("jacobian_spectral_norm"));
  m.def(
      "summary",
      [](nb::handle map, const Axis& scores) -> nb::object {
        const std::vector<double> row = row_of(scores);
        return with_map<double>(map, [&]<class Map>(const Map& m) -> nb::object {
          if constexpr (scoring::SoftmaxLike<Map>) {
            std::vector<double> copy;
            return to_record("scoring.RowSummary",
                             scoring::summary(m, seen_by<Map>(scoring::Row<const double>(row), copy)));
          } else {
            throw nb::type_error("scoring.summary: the map must be Softmax, SSMax or SSA");
          }
        });
      },
      "map"_a, "scores"_a,
      nb::sig(
          "def summary(map: incontext.scoring.Map, scores: numpy.typing.ArrayLike) -> incontext.scoring.RowSummary"),
      room.docs("summary"));
  m.def(
      "jacobian_norms",
      [](const Axis& weights) {
        const std::vector<double> row = row_of(weights, 0);
        return to_record("scoring.JacobianNorms", scoring::jacobian_norms(scoring::Row<const double>(row)));
      },
      "weights"_a, nb::sig("def jacobian_norms(weights: numpy.typing.ArrayLike) -> incontext.scoring.JacobianNorms"),
      room.docs("jacobian_norms"));
  m.def(
      "normsoftmax_divisor",
      [](nb::handle map, const Axis& scores) {
        const std::vector<double> row = row_of(scores);
        std::vector<double> copy;
        const auto found =
            scoring::normsoftmax_divisor(scoring::NormSoftmax<double>{field<double>(map, "temperature"),
                                                                      chosen_field<scoring::ScoreScale>(map, "scale")},
                                         with_masks(scoring::Row<const double>(row), copy));
        return python_class("scoring.NormSoftmaxDivisor")(
            found.scale, found.divisor, python_class("scoring.NormSoftmaxBranch")(static_cast<int>(found.branch)));
      },
      "map"_a, "scores"_a,
      nb::sig("def normsoftmax_divisor(map: incontext.scoring.NormSoftmax, scores: numpy.typing.ArrayLike) -> "
              "incontext.scoring.NormSoftmaxDivisor"),
      room.docs("normsoftmax_divisor"));
}

/// Binds a function of a map and a row that writes a row.
template <class Make, class Function>
void bind_row_function(Room& room, const char* name, const char* first, const Make& make, const Function& function) {
  room.module().def(
      name,
      [make, function](nb::handle map, const Axis& scores) {
        const std::vector<double> row = row_of(scores);
        std::vector<double> out(row.size()), copy;
        function(make(map), with_masks(scoring::Row<const double>(row), copy), scoring::Row<double>(out));
        return to_array(out, {out.size()});
      },
      nb::arg(first), nb::arg("scores"), room.docs(name));
}

void bind_rows_of_errors(Room& room) {
  const auto approximate = [](nb::handle map) {
    return scoring::ApproximateSoftmax<double>{field<double>(map, "temperature")};
  };
  const auto ssa = [](nb::handle map) {
    return scoring::SSA<double>{field<double>(map, "base"), field<double>(map, "exponent"),
                                field<double>(map, "temperature")};
  };
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
        return with_map<double>(map, [&]<class Map>(const Map& m) -> Broadcast {
          if constexpr (requires { laws::two_level_weights(m, I{}, D{}, D{}); }) {
            return {evaluate(result_of<laws::TwoLevelWeights<D>>("laws.TwoLevelWeights"),
                             {row_length.values, high.values, low.values}, [&](const double* in, double* out) {
                               write_numbers(laws::two_level_weights(m, static_cast<I>(in[0]), in[1], in[2]), out);
                             })};
          } else {
            throw nb::type_error("incontext.laws.two_level_weights: no law of this map is known");
          }
        });
      },
      "map"_a, "row_length"_a, "high"_a, "low"_a, room.docs("two_level_weights"));
  room.form(
      "two_level_weights", [](D n, D gap) { return laws::two_level_weights(n, gap); },
      {number("row_length"), number("exponent_gap")}, "laws.TwoLevelWeights");
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
  room.form(
      "approximate_softmax_error_infimum", [](I n, D r) { return scoring::approximate_softmax_error_infimum(n, r); },
      {count, number("range")}, "scoring.ApproximateSoftmaxInfimum");
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
  const auto schedule = [](D a, D b, int epochs, scoring::HeatShape shape) {
    const scoring::HeatSchedule<D> made{a, b, epochs, shape};
    scoring::validate(made);
    return made;
  };
  room.form("_heat_temperature",
            [=](D a, D b, int n, scoring::HeatShape s, int epoch) { return schedule(a, b, n, s).temperature(epoch); },
            {record("schedule", "scoring.HeatSchedule"), number("epoch")});
  room.form(
      "_heat_inverse_temperature",
      [=](D a, D b, int n, scoring::HeatShape s, int epoch) { return schedule(a, b, n, s).inverse_temperature(epoch); },
      {record("schedule", "scoring.HeatSchedule"), number("epoch")});
}

}  // namespace incontext::python
