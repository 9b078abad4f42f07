#pragma once

#include <memory>
#include <span>
#include <vector>

#include "incontext/training/trainer.hpp"
#include "records.hpp"

/// Parameters and gradients as arrays.
namespace incontext::python {

using Numbers = Eigen::VectorXd;

inline std::vector<double> plain(const Numbers& numbers) { return {numbers.begin(), numbers.end()}; }

inline Numbers array(std::span<const double> numbers) {
  return Eigen::Map<const Numbers>(numbers.data(), static_cast<Eigen::Index>(numbers.size()));
}

/// A trainer or a flow with what it was made of in Python, its loss or its training. The garbage collector must see it:
/// a loss may hold the trainer.
template <class Base>
struct WithSource : Base {
  std::shared_ptr<nb::object> source = std::make_shared<nb::object>();

  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<WithSource>(self)->source->ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    nb::inst_ptr<WithSource>(self)->source->reset();
    return 0;
  }
  static inline PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};
};

}  // namespace incontext::python
