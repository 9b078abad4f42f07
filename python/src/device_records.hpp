#pragma once

#include <string>

#include "arguments.hpp"
#include "incontext/simulate/engine/device_types.hpp"
#include "records.hpp"

namespace incontext::python {

/// A device by its name or as a choice.
inline simulate::Device device_of(nb::handle device) {
  if (nb::isinstance<nb::str>(device)) return simulate::device_named(nb::cast<std::string>(device));
  if (is_choice(device, python_class("simulate.Device"))) return nb::cast<simulate::Device>(device);
  throw nb::type_error(
      detail::refusal("simulate::Options", "device", " is not a device", device, "a name, such as openmp").c_str());
}

}  // namespace incontext::python
