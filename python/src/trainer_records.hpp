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

/// A trainer or a flow with its loss in Python, which the garbage collector must see: the loss may hold the trainer.
template <class Base>
struct WithLoss : Base {
  std::shared_ptr<nb::object> own_loss = std::make_shared<nb::object>();

  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<WithLoss>(self)->own_loss->ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    nb::inst_ptr<WithLoss>(self)->own_loss->reset();
    return 0;
  }
  static inline PyType_Slot slots[] = {
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};
};

}  // namespace incontext::python
