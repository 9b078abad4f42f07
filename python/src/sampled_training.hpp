#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core.hpp"
#include "incontext/statistics/estimate.hpp"
#include "incontext/training/trainer.hpp"
#include "interrupts.hpp"
#include "records.hpp"
#include "trainer_records.hpp"

/// What every kind of training on drawn batches gives to Python.
namespace incontext::python {

using Parameters = std::span<const double>;

/// A layer, its map and its batches, whose types are known only when they are made.
struct Sampled {
  std::vector<double> initial;
  training::GradientFunction gradient;
  std::function<std::vector<statistics::Estimate>(Parameters, std::int64_t)> evaluate = {};
  std::function<nb::object(Parameters)> layer = {};  ///< what parameters stand for
  std::vector<bool> decays = {};                     ///< on which parameters weight decay acts; empty: on all
};

/// Runs without the interpreter's lock; Ctrl-C is KeyboardInterrupt.
template <class Function>
auto interruptible(const Function& function) {
  const SharedInterruptGuard guard;
  auto result = [&] {
    const nb::gil_scoped_release unlocked;
    return function();
  }();
  if (simulate::InterruptGuard::requested()) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  return result;
}

}  // namespace incontext::python
