#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core.hpp"
#include "incontext/maps/any_map.hpp"

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

/// The parameter `map` of a closed form. Its numbers are the kind, which is the map's place among those with a name that
/// are softmax after an elementwise map, and three parameters. A user's own map comes last; it is known by its address,
/// which a double holds exactly.
inline Parameter softmax_map(const char* name = "map") {
  Parameter parameter{name, std::nullopt, nullptr, {}, 3};
  maps::for_each_named_map<double>([&]<class Map>(const maps::NamedMap<Map>& entry) {
    if constexpr (scoring::SoftmaxLike<Map>) {
      static_assert(sizeof(Map) <= 3 * sizeof(double), "with_softmax_map takes three numbers");
      parameter.records.push_back("scoring." + std::string(entry.type));
    }
  });
  parameter.records.push_back("scoring.Elementwise");
  return parameter;
}

/// Calls `function` with the map that four numbers stand for.
template <class Function>
auto with_softmax_map(double kind, double a, double b, double c, const Function& function) {
  std::optional<maps::AnyMap<double>> found;
  double place = 0;
  maps::for_each_named_map<double>([&]<class Map>(const maps::NamedMap<Map>& entry) {
    if constexpr (scoring::SoftmaxLike<Map>) {
      if (place++ == kind) found = entry.map;
    }
  });
  if (!found) return function(CallableMap{nb::handle(reinterpret_cast<PyObject*>(static_cast<std::uintptr_t>(a)))});
  const double numbers[]{a, b, c};
  const double* next = numbers;
  maps::for_each_parameter(*found, [&](auto, double& number) { number = *next++; });
  return maps::visit("with_softmax_map", *found,
                     [&]<scoring::SoftmaxLike Map>(const Map& map) { return function(map); });
}

}  // namespace incontext::python
