#include <nanobind/nanobind.h>

#include "core.hpp"
#include "rooms.hpp"

NB_MODULE(_arrays, own) {
  using namespace incontext::python;
  nb::set_leak_warnings(false);  // as in module.cpp
  own.doc() = "One edition of what goes over the rows of arrays.";
  nb::module_::import_("incontext._core");  // which translates exceptions
  bind_rows(own);
  bind_attention(own);
}
