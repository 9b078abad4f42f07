#pragma once

#include "incontext/core/host_device.hpp"

/// Names of the parameters of scoring maps. `derivative(map, parameter::Temperature{}, z, out)` is the derivative of
/// the weights by that parameter; `Temperature::of(map)` is the parameter, `Temperature::name` its name in maps by name.
namespace incontext::scoring::parameter {

/// tau, in units of the scores.
///
/// Runs on   host and device
struct Temperature {
  static constexpr const char* name = "temperature";
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.temperature;
  }
};

/// s of Scalable-Softmax, the factor of log n.
///
/// Runs on   host and device
struct Scale {
  static constexpr const char* name = "scale";
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.scale;
  }
};

/// b of Scalable-Softmax, added to s log n.
///
/// Runs on   host and device
struct Bias {
  static constexpr const char* name = "bias";
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.bias;
  }
};

/// n of Scalable-Softmax, the number of visible keys taken as a real number. It is counted from the row, so it has no
/// `of`.
///
/// Runs on   host and device
struct VisibleCount {};

/// b of SSA, the factor of |z|.
///
/// Runs on   host and device
struct Base {
  static constexpr const char* name = "base";
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.base;
  }
};

/// k of SSA (n in the paper), the power.
///
/// Runs on   host and device
struct Exponent {
  static constexpr const char* name = "exponent";
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.exponent;
  }
};

/// alpha of alpha-entmax.
///
/// Runs on   host and device
struct Alpha {
  static constexpr const char* name = "alpha";
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.alpha;
  }
};

/// h of the Gaussian kernel, in units of the keys.
///
/// Runs on   host and device
struct Bandwidth {
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.bandwidth;
  }
};

/// The constant added to the scaled dot product in a polynomial kernel.
///
/// Runs on   host and device
struct Offset {
  template <class Map>
  INCONTEXT_HD static constexpr auto& of(Map& map) {
    return map.offset;
  }
};

}  // namespace incontext::scoring::parameter
