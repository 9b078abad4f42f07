#include "incontext/statistics.hpp"

#include "arguments.hpp"
#include "records.hpp"
#include "rooms.hpp"
#include "statistics_records.hpp"

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
      "agreement_resolution",
      [](const statistics::Agreement& agreement, double bound) { return agreement.resolution(bound); }, "agreement"_a,
      "bound"_a, "Agreement.resolution.");
  m.def(
      "agreement_verdict",
      [](const statistics::Agreement& agreement, double bound) { return agreement.verdict(bound); }, "agreement"_a,
      "bound"_a, "Agreement.verdict.");
  m.def("confidence_interval", &statistics::confidence_interval, "estimate"_a, "level"_a,
        room.docs("confidence_interval"));
  m.def("p_value", &statistics::p_value, "agreement"_a, room.docs("p_value"));
  m.def("family_wise_bound", &statistics::family_wise_bound, "members"_a, "level"_a, room.docs("family_wise_bound"));
  m.def("holm_rejections", &statistics::holm_rejections, "p_values"_a, "level"_a, room.docs("holm_rejections"));
  m.def("verdicts", &statistics::verdicts, "family"_a, "level"_a, room.docs("verdicts"));
  m.def(
      "estimate_of",
      [](const std::vector<double>& values) {
        return statistics::Estimate(statistics::moments_of(values.data(), static_cast<std::int64_t>(values.size())));
      },
      "values"_a, "The estimate that independent values give: their mean and its standard error.");
}

}  // namespace incontext::python
