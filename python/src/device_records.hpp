#pragma once

#include <string>

#include "incontext/simulate/types/device.hpp"
#include "records.hpp"

INCONTEXT_CHOICE(incontext::simulate::Device, "simulate", "Device")

namespace incontext::python {

/// A device by its name or as a choice.
inline simulate::Device device_of(nb::handle device) {
  return nb::isinstance<nb::str>(device) ? simulate::device_named(nb::cast<std::string>(device))
                                         : nb::cast<simulate::Device>(device);
}

}  // namespace incontext::python
