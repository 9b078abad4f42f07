#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core.hpp"
#include "incontext/scoring/softmax.hpp"
#include "incontext/scoring/ssa.hpp"
#include "incontext/scoring/ssmax.hpp"

/// The maps that are softmax after an elementwise map, for the laws and errors that hold for all of them: the library's
/// three and a user's own, written in Python.
namespace incontext::python {

/// A user's phi and its derivatives, each a Python function of one number.
class CallablePhi {
 public:
  explicit CallablePhi(nb::handle owner) : owner_(owner) {
    const nb::gil_scoped_acquire lock;
    decreasing_ = nb::cast<bool>(owner.attr("decreasing"));
  }
  bool in_domain() const { return true; }
  bool decreasing() const { return decreasing_; }
  double value(double z) const { return call("_value", z); }
  double difference(double z, double w) const { return value(z) - value(w); }
  double slope(double z) const { return call("_slope", z); }
  double curvature(double z) const { return call("_curvature", z); }

 private:
  double call(const char* name, double z) const {
    const nb::gil_scoped_acquire lock;
    return nb::cast<double>(owner_.attr(name)(z));
  }
  nb::handle owner_;
  bool decreasing_ = false;
};

/// The map of scoring.Elementwise: an object of the interpreter that the caller's arguments keep alive.
struct CallableMap {
  using value_type = double;
  nb::handle owner;
  CallablePhi elementwise(std::ptrdiff_t) const { return CallablePhi(owner); }
};
inline void validate(const CallableMap&) {}

/// The parameter `map` of a closed form. Its numbers are the kind and three parameters; a user's own map is known by its
/// address, which a double holds exactly.
inline Parameter softmax_map(const char* name = "map") {
  return {name, std::nullopt, nullptr, {"scoring.Softmax", "scoring.SSMax", "scoring.SSA", "scoring.Elementwise"}, 3};
}

/// Calls `function` with the map that four numbers stand for.
template <class Function>
auto with_softmax_map(double kind, double a, double b, double c, const Function& function) {
  if (kind == 0) return function(scoring::Softmax<double>{a});
  if (kind == 1) return function(scoring::SSMax<double>{a, b});
  if (kind == 2) return function(scoring::SSA<double>{a, b, c});
  return function(CallableMap{nb::handle(reinterpret_cast<PyObject*>(static_cast<std::uintptr_t>(a)))});
}

}  // namespace incontext::python
