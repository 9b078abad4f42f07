#pragma once

#include <string>

#include "arguments.hpp"
#include "incontext/simulate/engine/device_types.hpp"
#include "records.hpp"

namespace incontext::python {

/// A device by its name or as a choice.
inline simulate::Device device_of(nb::handle device) {
  if (nb::isinstance<nb::str>(device)) return simulate::device_named(nb::cast<std::string>(device));
  const nb::object devices = python_class("simulate.Device");
  if (is_choice(device, devices))
    return nb::cast<simulate::Device>(devices.attr("of")("simulate::Options: device", device));
  throw nb::type_error(
      detail::refusal("simulate::Options", "device", " is not a device", device, "a name, such as openmp").c_str());
}

}  // namespace incontext::python
