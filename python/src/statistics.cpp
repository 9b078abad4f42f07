#include "incontext/statistics.hpp"

#include <nanobind/stl/pair.h>

#include "arguments.hpp"
#include "incontext/core/interval.hpp"
#include "records.hpp"
#include "rooms.hpp"

namespace incontext::python {

namespace {

/// A theory: a number, a number with an error, or a quadrature.
statistics::Theory theory_of(nb::handle theory) {
  if (nb::hasattr(theory, "error_estimate")) {
    return {real_field(theory, "value"), real_field(theory, "error_estimate")};
  }
  const double error = nb::hasattr(theory, "error") ? real_field(theory, "error") : 0.0;
  return {real_number("statistics::agree", "theory", theory), error};
}

}  // namespace

void bind_statistics(nb::module_& core) {
  Room room(core, "statistics");
  nb::module_& m = room.module();
  using namespace nb::literals;
  m.def(
      "agree",
      [](nb::handle theory, const statistics::Estimate& estimate) {
        return statistics::agree(theory_of(theory), estimate);
      },
      "theory"_a, "estimate"_a, room.docs("agree"));
  m.def(
      "_agreement_resolution",
      [](const statistics::Agreement& agreement, double bound) { return agreement.resolution(bound); }, "agreement"_a,
      "bound"_a, "Agreement.resolution.");
  m.def(
      "_agreement_verdict",
      [](const statistics::Agreement& agreement, double bound) { return agreement.verdict(bound); }, "agreement"_a,
      "bound"_a, "Agreement.verdict.");
  m.def("confidence_interval", &statistics::confidence_interval, "estimate"_a, "level"_a,
        room.docs("confidence_interval"));
  m.def("p_value", &statistics::p_value, "agreement"_a, room.docs("p_value"));
  m.def("family_wise_bound", &statistics::family_wise_bound, "members"_a, "level"_a, room.docs("family_wise_bound"));
  m.def("holm_rejections", &statistics::holm_rejections, "p_values"_a, "level"_a, room.docs("holm_rejections"));
  m.def("verdicts", &statistics::verdicts, "family"_a, "level"_a, room.docs("verdicts"));
  m.def(
      "compare",
      [](nb::handle theory, const statistics::Estimate& estimate, std::optional<std::int64_t> trials,
         statistics::Relation relation) { return statistics::compare(theory_of(theory), estimate, trials, relation); },
      "theory"_a, "estimate"_a, "trials"_a = nb::none(), "relation"_a = "equals", room.docs("compare"));
  m.def("compare_within", &statistics::compare_within, "value"_a, "tolerance"_a, "estimate"_a,
        room.docs("compare_within"));
  m.def(
      "untested",
      [](nb::handle theory, const statistics::Estimate& estimate, const std::string& reason) {
        return statistics::untested(theory_of(theory), estimate, reason);
      },
      "theory"_a, "estimate"_a, "reason"_a, room.docs("untested"));
  m.def("family_bound", &statistics::family_bound, "family"_a, "level"_a, room.docs("family_bound"));
  m.def(
      "judge",
      [](std::vector<statistics::Comparison> family, double level) {
        const statistics::FamilyVerdict whole = statistics::judge(family, level);
        return std::pair(whole, std::move(family));
      },
      "family"_a, "level"_a, room.docs("judge"));
  m.def("relation_excess", &statistics::relation_excess, "relation"_a, "computed"_a, "theory"_a,
        room.docs("relation_excess"));
  m.def("relation_holds", &statistics::relation_holds, "relation"_a, "computed"_a, "theory"_a,
        room.docs("relation_holds"));
  m.def("try_control", &statistics::try_control, "claimed"_a, "exact"_a, "estimate"_a, "trials_to_tell"_a = 2,
        room.docs("try_control"));
  m.def(
      "estimate_of",
      [](const std::vector<double>& values) {
        return statistics::Estimate(statistics::moments_of(values.data(), static_cast<std::int64_t>(values.size())));
      },
      "values"_a, "The estimate that independent values give: their mean and its standard error.");
}

}  // namespace incontext::python
