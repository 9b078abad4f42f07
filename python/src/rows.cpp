#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "arrays.hpp"
#include "core.hpp"
#include "incontext/scoring.hpp"
#include "parallel.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "scoring_maps.hpp"

/// Maps of whole arrays, row by row.
namespace incontext::python {

namespace {

enum class Operation { weights, log_weights, jvp, vjp, derivative };

/// A function of a row's number, its scores, two other rows of their size, which not all need, and the result.
template <class T>
using RowFunction = std::function<void(std::int64_t row, scoring::Row<const T> scores, scoring::Row<const T> other,
                                       scoring::Row<const T> kept, scoring::Row<T> out)>;

/// Which keys a row shows.
struct Masks {
  scoring::Visibility visibility;
  bool finite_masks;         // a very low score is one, in a map that counts its keys
  bool zero_masked_rows;     // a row that shows none is zeros, and is not refused
  bool counts_keys = false;  // of the map
};

/// The map of every row.
template <class T>
struct MapOfRows {
  maps::AnyMap<T> map;
  std::shared_ptr<const ArrayParameters> parameters;

  [[nodiscard]] maps::AnyMap<T> at(std::int64_t row) const {
    maps::AnyMap<T> own = map;
    parameters->put(own, row);
    return own;
  }
};

template <class T>
RowFunction<T> row_function(const maps::AnyMap<T>& map, const std::shared_ptr<const ArrayParameters>& parameters,
                            Operation operation, bool has_kept, const std::string& parameter) {
  namespace checked = scoring::checked;
  const MapOfRows<T> m{map, parameters};
  switch (operation) {
    case Operation::weights:
      return [m](auto i, auto z, auto, auto, auto out) { checked::weights(m.at(i), z, out); };
    case Operation::jvp:
      return [m](auto i, auto z, auto d, auto, auto out) { checked::jvp(m.at(i), z, d, out); };
    case Operation::vjp:
      if (has_kept) {
        return [m](auto i, auto z, auto c, auto a, auto out) { checked::vjp_from_weights(m.at(i), z, a, c, out); };
      }
      return [m](auto i, auto z, auto c, auto, auto out) { checked::vjp(m.at(i), z, c, out); };
    case Operation::log_weights:
      maps::visit("scoring::log_weights", m.map, []<scoring::LogScoring Map>(const Map&) {});  // also for no rows
      return [m](auto i, auto z, auto, auto, auto out) { checked::log_weights(m.at(i), z, out); };
    case Operation::derivative:
      break;
  }
  const T score = 0;
  T slope = 0;  // refuses a wrong name, also for no rows
  derivative(m.map, std::string_view(parameter), scoring::Row<const T>(&score, 1), scoring::Row<T>(&slope, 1));
  return [m, parameter](auto i, auto z, auto, auto, auto out) {
    checked::derivative(m.at(i), std::string_view(parameter), z, out);
  };
}

/// Whether a row shows no key: its scores are all masks, in any map. Such a row is refused unless it is to be zeros,
/// but one of finite numbers in a map that does not count its keys.
template <class T>
bool is_zero_row(scoring::Row<const T> scores, const Masks& masks) {
  constexpr const char* or_zeros = ", or zero_masked_rows=True for weights of 0";
  const T highest = masks.finite_masks ? T(calibration::highest_mask) : -std::numeric_limits<T>::infinity();
  T largest = -std::numeric_limits<T>::infinity();
  for (std::ptrdiff_t i = 0; i < scores.size; ++i) {
    if (!(scores[i] <= highest)) return false;
    largest = largest < scores[i] ? scores[i] : largest;
  }
  if (masks.zero_masked_rows) return true;
  if (scores.size > 0 && largest <= -std::numeric_limits<T>::infinity()) {
    throw_invalid_argument("scoring::Map", "every key of a row is masked: number of visible scores", 0,
                           std::string("at least 1") + or_zeros);
  }
  if (scores.size > 0 && masks.counts_keys) {
    refuse_finite_masks("every score of a row is low enough for a mask", static_cast<double>(largest), or_zeros);
  }
  return false;
}

/// Applies a function to every row, in threads, without the interpreter's lock. Ctrl-C ends it between two rows.
template <class T>
void for_each_row(const RowFunction<T>& function, const nb::object& scores, const nb::object& other,
                  const nb::object& kept, const nb::object& out, const Masks& masks, T unseen) {
  const RowsOf<const T> z(nb::cast<nb::ndarray<const T>>(scores)), o(nb::cast<nb::ndarray<const T>>(other)),
      a(nb::cast<nb::ndarray<const T>>(kept));
  const RowsOf<T> results(out);
  for_each_element(z.count(), [&](std::int64_t i) {
    thread_local std::vector<T> copy;  // rows are weighed in several threads
    std::ptrdiff_t seen = scoring::visible_keys(masks.visibility, z.query_index(i), z.query_count(), z.length());
    const auto row = results.row(i);
    try {
      const auto scores_of_row = z.row(i).first(seen);
      if (is_zero_row(scores_of_row, masks)) {
        seen = 0;
      } else {
        const auto shown = with_masks(scores_of_row, copy, masks.finite_masks && masks.counts_keys);
        function(i, shown, o.row(i).first(seen), a.row(i).first(seen), row.first(seen));
      }
    } catch (const std::domain_error& error) {
      throw std::domain_error(error.what() + z.place(i));
    } catch (const maps::MapTypeError&) {
      throw;
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(error.what() + z.place(i));
    }
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

ArrayResult apply(nb::handle map, Operation operation, const nb::object& scores, const nb::object& other, Masks masks,
                  const nb::object& given, const std::string& parameter = "", const nb::object& kept = nb::none()) {
  const nb::object z = as_real_array(scores);
  if (!given.is_none()) require_result(given, z);
  const nb::module_ numpy = nb::module_::import_("numpy");
  const auto beside = [&](const nb::object& array) {
    if (array.is_none()) return z;
    return nb::object(nb::module_::import_("incontext.scoring")
                          .attr("_beside")(aligned(numpy.attr("asarray")(array, z.attr("dtype"))), z));
  };
  const nb::object o = beside(other), a = beside(kept);
  nb::list lead;
  for (const nb::handle size : z.attr("shape")) lead.append(size);
  if (lead.size() > 0) lead[lead.size() - 1] = 1;
  const auto parameters = std::make_shared<const ArrayParameters>(map, nb::tuple(lead));
  const auto shares = [&](const nb::object& read) {
    return nb::cast<bool>(numpy.attr("may_share_memory")(given, read));
  };
  const bool in_place = !given.is_none() && aligned(given).is(given) && !shares(z) && !shares(o) && !shares(a);
  const nb::object out = in_place ? given : nb::object(numpy.attr("empty")(z.attr("shape"), z.attr("dtype")));
  const double unseen = operation == Operation::log_weights ? -std::numeric_limits<double>::infinity() : 0;
  const auto apply_as = [&]<class T>(T nothing) {
    const maps::AnyMap<T> own = any_map<T>(parameters->prototype());
    if (parameters->empty()) validate(own);  // also where no row reaches it
    masks.counts_keys = counts_keys(own);
    for_each_row<T>(row_function<T>(own, parameters, operation, !kept.is_none(), parameter), z, o, a, out, masks,
                    nothing);
  };
  if (is_float32(z)) {
    apply_as(static_cast<float>(unseen));
  } else {
    apply_as(unseen);
  }
  if (given.is_none() || in_place) return {out};
  numpy.attr("copyto")(given, out);
  return {given};
}

}  // namespace

void bind_rows(nb::module_& arrays) {
  using namespace nb::literals;
  Room room(arrays, "scoring");
  nb::module_& m = room.module();
  m.def(
      "weights",
      [](nb::handle map, const Axis& scores, scoring::Visibility visibility, const nb::object& out, bool finite_masks,
         bool zero_masked_rows) {
        return apply(map, Operation::weights, scores.values, nb::none(), {visibility, finite_masks, zero_masked_rows},
                     out);
      },
      "map"_a, "scores"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0, "out"_a = nb::none(),
      "finite_masks"_a = true, "zero_masked_rows"_a = false, room.docs("weights"));
  m.def(
      "log_weights",
      [](nb::handle map, const Axis& scores, scoring::Visibility visibility, const nb::object& out, bool finite_masks,
         bool zero_masked_rows) {
        return apply(map, Operation::log_weights, scores.values, nb::none(),
                     {visibility, finite_masks, zero_masked_rows}, out);
      },
      "map"_a, "scores"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0, "out"_a = nb::none(),
      "finite_masks"_a = true, "zero_masked_rows"_a = false, room.docs("log_weights"));
  m.def(
      "jvp",
      [](nb::handle map, const Axis& scores, const Axis& direction, scoring::Visibility visibility,
         const nb::object& out, bool finite_masks, bool zero_masked_rows) {
        return apply(map, Operation::jvp, scores.values, direction.values, {visibility, finite_masks, zero_masked_rows},
                     out);
      },
      "map"_a, "scores"_a, "direction"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0,
      "out"_a = nb::none(), "finite_masks"_a = true, "zero_masked_rows"_a = false, room.docs("jvp"));
  m.def(
      "vjp",
      [](nb::handle map, const Axis& scores, const Axis& cotangent, scoring::Visibility visibility,
         const nb::object& out, bool finite_masks, bool zero_masked_rows, const nb::object& weights) {
        return apply(map, Operation::vjp, scores.values, cotangent.values, {visibility, finite_masks, zero_masked_rows},
                     out, "", weights);
      },
      "map"_a, "scores"_a, "cotangent"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0,
      "out"_a = nb::none(), "finite_masks"_a = true, "zero_masked_rows"_a = false, "weights"_a = nb::none(),
      room.docs("vjp"));
  m.def(
      "derivative",
      [](nb::handle map, const std::string& parameter, const Axis& scores, scoring::Visibility visibility,
         const nb::object& out, bool finite_masks, bool zero_masked_rows) {
        return apply(map, Operation::derivative, scores.values, nb::none(),
                     {visibility, finite_masks, zero_masked_rows}, out, parameter);
      },
      "map"_a, "parameter"_a, "scores"_a, "visibility"_a.sig("incontext.scoring.Visibility.all") = 0,
      "out"_a = nb::none(), "finite_masks"_a = true, "zero_masked_rows"_a = false, room.docs("derivative"));
}

}  // namespace incontext::python
